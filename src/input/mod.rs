//! Fingerprint files: reading fingerprints and ids in several formats.
//!
//! An input is read in chunks of whole records. [`read_records`] parses one chunk after the other
//! on the calling thread; the builder and the writer parse them on all threads.
//!
//! A new format is a `Layout`, a variant of [`InputFormat`] and an entry in the list in `format`,
//! and the option in `cli/inputs`.

mod batches;
mod binary;
mod chunk;
mod estimate;
mod format;
mod lines;
mod read;

use crate::error::InputPlace;
use fpstore_base::{Fingerprint, IdRef};

pub(crate) use batches::read_batches;
pub use estimate::{InputEstimate, estimate_input};
pub use format::{InputFormat, InputOptions};
pub use fpstore_base::source::open as open_input;
pub use read::{read_all_records, read_records};

/// A record of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// The fingerprint.
    pub fingerprint: Fingerprint,
    /// The id, if the record has one.
    pub id: Option<IdRef<'a>>,
}

/// A bad record that was skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkippedRecord {
    /// Its place in the input.
    pub place: InputPlace,
    /// What is wrong with it.
    pub reason: String,
}

/// How much was read of an input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InputSummary {
    /// Bytes read, after decompression.
    pub byte_len: u64,
    /// Good records.
    pub record_count: u64,
    /// Bad records that were skipped.
    pub skipped_count: u64,
    /// The first ten bad records.
    pub skipped: Vec<SkippedRecord>,
}
