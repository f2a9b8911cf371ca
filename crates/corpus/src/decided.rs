//! What became of a document.

use fpstore::rows::RemovedRow;
use fpstore_base::Fingerprint;

/// What became of a document that has a fingerprint.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct DecidedDocument<'a> {
    /// The number of its file among all files.
    pub file: u32,
    /// The number of its line, row or record in the file, as the place of a bad one would have; 0 if the
    /// file is one document.
    pub record: u64,
    /// The fingerprint of the document.
    pub fingerprint: Fingerprint,
    /// Why it is removed or annotated, if it is.
    pub removed: Option<RemovedRow<'a>>,
    /// The number of the record of the new document because of which it is.
    pub other_record: Option<u64>,
}
