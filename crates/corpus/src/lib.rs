//! Removes near-duplicates from corpora, and adds documents to stores.
//!
//! | to get | use |
//! |---|---|
//! | documents in a [`Builder`](fpstore::Builder) or a [`Writer`](fpstore::Writer) | [`DocumentSource::ingest`] |
//! | files of documents without near-duplicates, byte for byte | [`Cleaner::run`] |
//! | such files step by step, with a list of the removed documents | [`Cleaner::begin`] |
//! | documents that are not in files | [`DocumentTable`] |
//!
//! A [`DocumentSource`] converts documents to fingerprints. A [`Cleaner`] contains the settings of
//! a cleaning; [`Cleaning`] and [`Cleaned`] are its steps, and an [`Account`] is its result. The
//! program, the Python package and other callers share these types. The crate prints nothing and
//! never changes an input.
//!
//! # Examples
//!
//! A clean corpus, and a list of the removed documents:
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use fpstore_corpus::{Cleaner, DocumentSource, KeepRule};
//! use fpstore_documents::DocumentOptions;
//! use fpstore_text::{TextHasher, TextRecipe};
//! # let folder = tempfile::tempdir()?;
//! # let (file, clean) = (folder.path().join("all.jsonl"), folder.path().join("clean/"));
//! # let lines = ["{\"id\":\"a\",\"text\":\"one two three\"}\n", "{\"id\":\"b\",\"text\":\"one two three\"}\n"];
//! # std::fs::write(&file, lines.concat())?;
//!
//! let hasher = TextHasher::new(&TextRecipe::default())?;
//! let source = DocumentSource::of_texts(hasher, DocumentOptions::default());
//! let cleaner = Cleaner {
//!     keep: KeepRule::Last.into(),
//!     output: Some(clean.clone()),
//!     ..Cleaner::new(source, [file])
//! };
//! let cleaned = cleaner.begin()?.expect("there is no store").run()?;
//! cleaned.for_each_removed(|removed| {
//!     assert_eq!(removed.id, Some("a".into()));
//!     assert_eq!(removed.other_id, Some("b".into()));
//!     Ok::<(), fpstore_corpus::Error>(())
//! })?;
//! assert_eq!(cleaned.finish()?.kept_count, 1);
//! # assert_eq!(std::fs::read_to_string(clean.join("all.jsonl"))?, lines[1]);
//! # Ok(()) }
//! ```

mod account;
mod address;
mod bar;
mod cleaned;
mod cleaning;
mod clusters;
mod compressed;
pub mod contamination;
mod copied;
mod decide;
mod distance;
mod dropped;
mod error;
mod event;
mod exact;
mod features;
mod fields;
mod hash;
mod job;
mod judged;
mod judgement;
mod keep;
mod keep_rules;
mod loss;
mod manifest;
mod near_rule;
mod number;
pub mod options;
mod other_fields;
mod output_name;
mod overview;
mod page;
mod passage_fate;
mod passages;
mod ranking;
mod reasons;
mod room;
mod sample;
mod sampled;
mod settings;
mod sketches;
mod source;
mod spool;
mod steps {
    fpstore_base::counted_steps!();
}
mod survey;
mod table;
mod targets;
#[cfg(test)]
mod tests;
mod texts;
mod work;
mod write;

pub use account::Account;
pub use address::canonical_address;
pub use cleaned::{Addition, Cleaned, DecidedDocument};
pub use cleaning::Cleaning;
pub use error::{Error, Result};
pub use event::{Event, Listener};
pub use fpstore_disk::NewFile;
pub use judgement::Judgement;
pub use keep::KeepRule;
pub use keep_rules::KeepRules;
pub use loss::{Loss, LossLimit, LossOf, LossRow};
pub use manifest::Manifest;
pub use near_rule::USUAL_SIMILARITY;
pub use overview::{LargeCluster, Overview};
pub use passage_fate::PassageFate;
pub use reasons::{ReasonCounts, Reasons};
pub use settings::Cleaner;
pub use source::DocumentSource;
pub use table::DocumentTable;
pub use texts::{candidate_k, confirm_documents};
