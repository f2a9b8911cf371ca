//! Contamination of corpora with benchmarks: finds benchmark items in a corpus, and copies the
//! corpus without them.
//!
//! An item is in a document if a single passage of the document contains enough of the item's
//! shingles (runs of words). This is containment, not similarity: a question of 20 words is found
//! in a page of 20 000. A [`ContaminationCheck`] contains the settings and does the work: it keeps
//! the shingles of the items in memory (`items`, `index`), reads the corpus once on all threads
//! (`scan`, `passage`), and copies it without the documents that contain items (`write`).
//!
//! # Examples
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use fpstore_corpus::contamination::ContaminationCheck;
//! use fpstore_documents::DocumentOptions;
//! # let folder = tempfile::tempdir()?;
//! # let (items, corpus) = (folder.path().join("bench.jsonl"), folder.path().join("all.jsonl"));
//! # let clean = folder.path().join("clean.jsonl");
//!
//! let question = "Which of the two rivers that meet in Mainz is the longer one, and by how much?";
//! std::fs::write(&items, format!("{{\"text\":\"{question}\"}}\n"))?;
//! let lines = format!("{{\"id\":1,\"text\":\"A quiz. {question} (9)\"}}\n{{\"id\":2,\"text\":\"no\"}}\n");
//! std::fs::write(&corpus, &lines)?;
//!
//! let items_are = DocumentOptions::default().line_ids(true);
//! let check = ContaminationCheck::new([items], items_are, [corpus], DocumentOptions::default());
//! let check = ContaminationCheck { output: Some(clean.clone()), ..check };
//! let account = check.run(|found| {
//!     assert_eq!((found.row.item.to_string(), found.row.id.to_string()), ("1".into(), "1".into()));
//!     assert_eq!(found.row.contained, 1.0);
//!     assert_eq!(found.passage, question.trim_end_matches('?'));
//!     Ok::<(), fpstore_corpus::Error>(())
//! })?;
//! assert_eq!((account.found_item_count, account.document_count), (1, 2));
//! assert_eq!(std::fs::read_to_string(&clean)?, lines.lines().nth(1).unwrap().to_string() + "\n");
//! # Ok(()) }
//! ```

mod index;
mod items;
mod page;
mod passage;
mod rules;
mod scan;
mod settings;
#[cfg(test)]
mod tests;
mod work;
mod write;

pub use rules::{SHORT_WORDS, ShingleRule, ShingleRules};
pub use settings::ContaminationCheck;
pub use work::{Contamination, ContaminationRow, FoundItem};
