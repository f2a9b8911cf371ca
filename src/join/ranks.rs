//! The ranks of many fingerprints in the first table of a segment, where their ids and deletions
//! are.
//!
//! A batch that was answered by a join knows the fingerprints, not where they lie. A few are looked
//! up one by one. Many are found in a pass over the table: in a store of very many segments, each
//! holds only a few of them, and looking all up in each would cost segments times fingerprints.

use crate::error::Result;
use crate::section::Rank;
use crate::snapshot::OpenSegment;
use fpstore_base::Fingerprint;

/// Nanoseconds to look up a value of a table.
const NANOS_PER_LOOKUP: u64 = 100;
/// Nanoseconds to read the next value of a table.
const NANOS_PER_READ: u64 = 5;

/// Calls `each` with the position in `wanted` and the rank of each fingerprint that the segment
/// has and that is not deleted, in any order.
pub(super) fn for_each_rank(
    open: &OpenSegment,
    wanted: &[Fingerprint],
    mut each: impl FnMut(usize, Rank),
) -> Result<()> {
    let Some(table) = open.segment.first_table() else { return Ok(()) };
    let mut each = |position, rank| {
        if !open.is_deleted(rank) {
            each(position, rank);
        }
    };
    let count = open.segment.header().fingerprint_count;
    if (wanted.len() as u64).saturating_mul(NANOS_PER_LOOKUP) < count.saturating_mul(NANOS_PER_READ)
    {
        for (position, &fingerprint) in wanted.iter().enumerate() {
            if let Some(rank) = table.find(table.permutation.apply(fingerprint))? {
                each(position, rank);
            }
        }
        return Ok(());
    }
    let permuted = wanted.iter().map(|&fingerprint| table.permutation.apply(fingerprint).0);
    let mut order: Vec<(u64, usize)> = permuted.zip(0..).collect();
    if !order.is_sorted() {
        order.sort_unstable();
    }
    let mut left = order.as_slice();
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
