//! Reads documents from files of many formats, and computes their fingerprints on all cores.
//!
//! ```
//! use fpstore_documents::{Admission, DocumentOptions, Error, hash_documents};
//! use fpstore_text::{TextHasher, TextRecipe};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("pages.jsonl");
//! # std::fs::write(&path, "{\"id\":7,\"text\":\"The quick brown fox\"}\n")?;
//!
//! let hasher = TextHasher::new(&TextRecipe::default())?;
//! let mut found = Vec::new();
//! hash_documents(&[path], &hasher, &DocumentOptions::default(), |document| {
//!     found.push((document.id.to_string(), document.fingerprint));
//!     Ok::<_, Error>(Admission::Taken)
//! })?;
//! assert_eq!(found, [("7".to_string(), hasher.clone().fingerprint("the quick brown fox"))]);
//! # Ok(()) }
//! ```
//!
//! [`hash_documents`] and [`count_document_frequencies`] (`pipeline`) iterate over the inputs,
//! `reading` splits them into raw documents (`raw`) on one thread, `task` decodes and hashes these
//! on the other threads, and the caller receives the results in order. The formats are in `records`
//! (many documents in a file), `whole_file` (a file is a document), `json`, `parquet` and `warc`.
//! `charset` finds the encoding of a page, `page_text` extracts its text, `field_guess` tries the
//! usual names of fields, and `ready` reads fingerprints in place of texts. The reading thread does
//! as little as possible: it finds the end of a document and leaves the rest to the workers.
//! [`DocumentFile::copy_records`] copies a file without some of its documents.
//!
//! Inputs may be hostile. `capped` limits the length of a document, `page_tree` limits the tree of
//! a page, and `guard` converts panics of external parsers to errors. The crate does not depend on
//! stores.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | none | JSON Lines, CSV, TSV, plain text, HTML, web archives, in any encoding, compressed or not |
//! | `parquet` | documents in Parquet, and many dependencies |

#![deny(unsafe_code)]
#![warn(missing_docs)]

mod archive;
mod capped;
mod charset;
mod copy;
mod decode;
mod delimited;
mod disguise;
mod error;
mod field_guess;
mod files;
mod folders;
mod formats;
mod guard;
mod in_memory;
mod inputs;
mod json;
mod json_array;
mod json_text;
mod markup;
mod options;
mod page_text;
mod page_tree;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "parquet")]
mod parquet_check;
#[cfg(feature = "parquet")]
mod parquet_file;
#[cfg(feature = "parquet")]
mod parquet_path;
mod paths;
mod pipeline;
mod raw;
mod reading;
mod ready;
mod records;
mod repeated_ids;
mod summary;
mod task;
mod warc;
mod whole_file;

pub use copy::{Decided, NewField, NewFieldKind, RecordDecisions, RecordFate};
pub use decode::TextEncoding;
pub use error::{Error, LikelyFields, Result};
pub use files::{DocumentFile, DocumentFiles, DocumentPlace};
pub use folders::{FileChoice, PassedOver};
pub use formats::{DocumentFormat, HtmlPart, TextFormat};
pub use fpstore_base::watch::{Observer, Phase, Progress, Step};
pub use fpstore_base::{Choice, IoError};
pub use in_memory::text_of_bytes;
pub use options::{BadRecords, DocumentOptions};
pub use pipeline::{
    Admission, Document, count_document_frequencies, hash_documents, read_features,
    read_fingerprints, read_texts,
};
pub use reading::PlaceFilter;
pub use ready::ReadyForm;
pub use repeated_ids::{IdNotes, RepeatedIds};
pub use summary::DocumentSummary;
