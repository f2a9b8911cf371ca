//! Scans: decode a table from first to last and compare every value with the needle.
//!
//! A scan is used if probes would cost more: for a large k, or a small table. Its time is
//! proportional to the number of values and independent of k.

use std::cell::Cell;

use crate::base::error::Result;
use crate::base::section::Rank;
use crate::bytes::permutation::Permuted;
use crate::search::kernel::{Kernel, Task, Vector};
use crate::search::probe::collector::{Collector, TableHit};
use crate::segment::{Segment, TableReader, WholeTable};
use fpstore_base::Fingerprint;

/// Number of values compared at once.
const LINE_LEN: usize = 8;

/// The table at a position, or the first table if that table does not store whole values.
pub(crate) fn whole_table(segment: &Segment, number: usize) -> Option<WholeTable<'_>> {
    segment.table(number).and_then(TableReader::whole).or_else(|| segment.first_table())
}

/// Finds the fingerprints within `collector.k()` of the needle in one table; query number 0.
pub(crate) fn scan(
    kernel: Kernel,
    table: WholeTable<'_>,
    needle: Fingerprint,
    collector: &mut impl Collector,
) -> Result<()> {
    let pages_checked = Cell::new(0);
    table.advise_sequential();
    let done = compare_all(kernel, table.counting(&pages_checked), needle, collector);
    table.advise_random();
    collector.stats().pages_checked += pages_checked.get();
    done
}

fn compare_all(
    kernel: Kernel,
    table: WholeTable<'_>,
    needle: Fingerprint,
    collector: &mut impl Collector,
) -> Result<()> {
    let needle = table.permutation.apply(needle).0;
    let mut values = table.values();
    while let Some((first, run)) = values.next_run()? {
        // Read for each run: `k` shrinks during a search with a limit on matches.
        let k = collector.k();
        let mut from = 0;
        while let Some(at) = kernel.run(FirstNear { values: &run[from..], needle, k }) {
            let (value, rank) = (run[from + at], Rank(first.0 + (from + at) as u64));
            let distance = (value ^ needle).count_ones();
            let fingerprint = table.permutation.invert(Permuted(value));
            collector.push(0, TableHit { distance, fingerprint, table: table.index, rank });
            from += at + 1;
        }
        collector.stats().scanned += run.len() as u64;
        if collector.is_exhausted() {
            break;
        }
    }
    Ok(())
}

/// The position of the first value within `k` bits of the needle.
struct FirstNear<'a> {
    values: &'a [u64],
    needle: u64,
    k: u32,
}

impl Task for FirstNear<'_> {
    type Output = Option<usize>;

    #[inline(always)]
    fn run<V: Vector>(self, vector: V) -> Option<usize> {
        let FirstNear { values, needle, k } = self;
        let is_near = |value: &u64| (value ^ needle).count_ones() <= k;
        if !V::COMPARES_WORDS {
            return values.iter().position(is_near);
        }
        let (lines, rest) = values.as_chunks::<LINE_LEN>();
        for (number, line) in lines.iter().enumerate() {
            let near = vector.near_words(line, needle, k);
            if near != 0 {
                return Some(number * LINE_LEN + near.trailing_zeros() as usize);
            }
        }
        let at = rest.iter().position(is_near)?;
        Some(values.len() - rest.len() + at)
    }
}
