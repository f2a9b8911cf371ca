//! Records of an input, and the summary of what was read.

use crate::base::error::InputPlace;
use fpstore_base::{Fingerprint, IdRef};

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
    /// Which columns were taken for the fingerprint and the id, in words, if that was guessed: `took
    /// column 2 (phash) for the fingerprint and column 1 (file) for the id`.
    pub guess: Option<String>,
}
