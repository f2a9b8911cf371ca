//! Finds the ranks of many fingerprints in the first table of a segment. A rank leads to the ids of
//! a fingerprint, and to whether it is deleted.
//!
//! A join yields fingerprints without their ranks. A few fingerprints are looked up one by one; for
//! many, the whole table is read. In a store of many small segments, looking up each fingerprint in
//! each segment would take longer.

use crate::base::error::Result;
use crate::base::section::Rank;
use crate::search::snapshot::OpenSegment;
use fpstore_base::Fingerprint;

/// Nanoseconds to look up a value of a table.
const NANOS_PER_LOOKUP: u64 = 100;
/// Nanoseconds to read the next value of a table.
const NANOS_PER_READ: u64 = 5;

/// Finds the ranks of some fingerprints in one segment after the other.
pub(in crate::join) struct RankSearch<'a> {
    fingerprints: &'a [Fingerprint],
    /// The mask of the last table read in a pass, and the sorted permuted fingerprints with their
    /// positions. Reused for the next segment, whose first table usually has the same mask.
    order: Option<(u64, Vec<(u64, usize)>)>,
}

impl<'a> RankSearch<'a> {
    pub(in crate::join) fn new(fingerprints: &'a [Fingerprint]) -> Self {
        RankSearch { fingerprints, order: None }
    }

    /// Calls `each` with the position and the rank of each fingerprint that the segment contains
    /// and that is not deleted in it, in any order.
    pub(in crate::join) fn for_each_rank(
        &mut self,
        open: &OpenSegment,
        mut each: impl FnMut(usize, Rank),
    ) -> Result<()> {
        let Some(table) = open.segment.first_table() else { return Ok(()) };
        let mut each = |position, rank| {
            if !open.is_deleted(rank) {
                each(position, rank);
            }
        };
        let permuted = |&fingerprint: &Fingerprint| table.permutation.apply(fingerprint);
        let wanted = self.fingerprints;
        let looking_up = (wanted.len() as u64).saturating_mul(NANOS_PER_LOOKUP);
        let count = open.segment.header().fingerprint_count;
        if looking_up < count.saturating_mul(NANOS_PER_READ) {
            for (position, fingerprint) in wanted.iter().enumerate() {
                if let Some(rank) = table.find(permuted(fingerprint))? {
                    each(position, rank);
                }
            }
            return Ok(());
        }
        let mask = table.mask();
        if self.order.as_ref().is_none_or(|order| order.0 != mask) {
            let values = wanted.iter().map(|fingerprint| permuted(fingerprint).0);
            let mut order: Vec<(u64, usize)> = values.zip(0..).collect();
            order.sort_unstable();
            self.order = Some((mask, order));
        }
        let mut left = self.order.as_ref().map_or([].as_slice(), |order| &order.1);
        let mut values = table.values();
        while let Some((first, run)) = values.next_run()? {
            for (rank, &value) in (first.0..).zip(run) {
                while let Some((&(next, position), after)) = left.split_first()
                    && next <= value
                {
                    if next == value {
                        each(position, Rank(rank));
                    }
                    left = after;
                }
            }
            if left.is_empty() {
                break;
            }
        }
        Ok(())
    }
}
