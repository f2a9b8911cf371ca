//! Very many documents that are compared and not similar.

use std::fmt;

/// Documents that are compared, most of which are not similar.
///
/// Each document is compared with the leaders that may be similar until it is similar to one. If few
/// are similar, nearly all become leaders, and the comparisons grow with the square of the number of
/// documents.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Unlike {
    /// The number of documents.
    pub document_count: u64,
    /// The number of their pairs that are compared and not similar, estimated from a sample.
    pub pair_count: u64,
}

impl fmt::Display for Unlike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unlike { document_count, pair_count } = self;
        write!(
            f,
            "many of {document_count} documents share much of their text without being similar, so \
             about {pair_count} pairs are compared"
        )
    }
}
