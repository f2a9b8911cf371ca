//! A hit of a query in a segment of a snapshot.

use fpstore_base::Fingerprint;

use crate::base::section::{Rank, TableIndex};

/// A stored fingerprint within the distance of a query, and its position in one segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentHit {
    pub(crate) distance: u32,
    pub(crate) fingerprint: Fingerprint,
    /// The position of its segment in the snapshot.
    pub(crate) segment: usize,
    pub(crate) table: TableIndex,
    pub(crate) rank: Rank,
}

impl SegmentHit {
    /// The order of answers; the hits of a fingerprint in several segments are adjacent.
    pub(crate) fn key(&self) -> (u32, Fingerprint, usize) {
        (self.distance, self.fingerprint, self.segment)
    }
}
