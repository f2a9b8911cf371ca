//! Finds the ranks of many fingerprints in the first table of each segment. A rank leads to the ids of
//! a fingerprint, and to whether it is deleted.
//!
//! A join yields fingerprints without their ranks. A few fingerprints are looked up one by one; for
//! many, the whole table is read. In a store of many small segments, looking up each fingerprint in
//! each segment would take longer.

use crate::base::error::Result;
use crate::base::section::{Rank, TableIndex};
use crate::search::snapshot::{OpenSegment, SegmentHit, Snapshot};
use fpstore_base::Fingerprint;

/// Nanoseconds to look up a value of a table.
const NANOS_PER_LOOKUP: u64 = 100;
/// Nanoseconds to read the next value of a table.
const NANOS_PER_READ: u64 = 5;

/// The ranks of some fingerprints in the segments of a snapshot, sorted by fingerprint and segment.
pub(in crate::join) struct Places(Vec<SegmentHit>);

impl Places {
    /// Looks up the fingerprints in the segments at these positions of the snapshot.
    pub(in crate::join) fn look_up(
        mut fingerprints: Vec<Fingerprint>,
        snapshot: &Snapshot,
        segments: impl IntoIterator<Item = usize>,
    ) -> Result<Self> {
        fingerprints.sort_unstable();
        fingerprints.dedup();
        let mut ranks = RankSearch { fingerprints: &fingerprints, order: None };
        let mut places = Vec::with_capacity(fingerprints.len());
        let (distance, table) = (0, TableIndex(0));
        for segment in segments {
            ranks.for_each_rank(&snapshot.segments()[segment], |at, rank| {
                let fingerprint = fingerprints[at];
                places.push(SegmentHit { distance, fingerprint, segment, table, rank });
            })?;
        }
        places.sort_unstable_by_key(SegmentHit::key);
        Ok(Places(places))
    }

    /// The places of a fingerprint, as matches at distance 0. Empty if no segment contains it.
    pub(in crate::join) fn of(&self, fingerprint: Fingerprint) -> &[SegmentHit] {
        let from = &self.0[self.0.partition_point(|place| place.fingerprint < fingerprint)..];
        let count = from.iter().take_while(|place| place.fingerprint == fingerprint).count();
        &from[..count]
    }
}

/// Finds the ranks of some fingerprints in one segment after the other.
struct RankSearch<'a> {
    fingerprints: &'a [Fingerprint],
    /// The mask of the last table read in a pass, and the sorted permuted fingerprints with their
    /// positions. Reused for the next segment, whose first table usually has the same mask.
    order: Option<(u64, Vec<(u64, usize)>)>,
}

impl RankSearch<'_> {
    /// Calls `each` with the position and the rank of each fingerprint that the segment contains
    /// and that is not deleted in it, in any order.
    fn for_each_rank(
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
