//! A hit in one segment.

use crate::base::section::{Rank, TableIndex};
use fpstore_base::Fingerprint;

/// A stored fingerprint within the distance of a query, and where one segment has it.
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
    /// The order of answers; a fingerprint that several segments have stays together.
    pub(crate) fn key(&self) -> (u32, Fingerprint, usize) {
        (self.distance, self.fingerprint, self.segment)
    }
}
