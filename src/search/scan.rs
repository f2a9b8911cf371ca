//! Scanning: one table decoded from first to last, every value compared.

use std::cell::Cell;

use crate::base::error::Result;
use crate::base::section::Rank;
use crate::bytes::permutation::Permuted;
use crate::search::probe::{Collector, TableHit};
use crate::segment::{Segment, TableReader, WholeTable};
use fpstore_base::Fingerprint;

/// The table at a position, or the first one if that does not hold its values.
pub(crate) fn whole_table(segment: &Segment, number: usize) -> Option<WholeTable<'_>> {
    segment.table(number).and_then(TableReader::whole).or_else(|| segment.first_table())
}

/// Finds the fingerprints within `collector.k()` of the needle in one table, as query 0.
pub(crate) fn scan(
    table: WholeTable<'_>,
    needle: Fingerprint,
    collector: &mut impl Collector,
) -> Result<()> {
    let pages_checked = Cell::new(0);
    table.advise_sequential();
    let done = compare_all(table.counting(&pages_checked), needle, collector);
    table.advise_random();
    collector.stats().pages_checked += pages_checked.get();
    done
}

fn compare_all(
    table: WholeTable<'_>,
    needle: Fingerprint,
    collector: &mut impl Collector,
) -> Result<()> {
    let needle = table.permutation.apply(needle).0;
    let mut values = table.values();
    while let Some((first, run)) = values.next_run()? {
        // It shrinks where only the nearest are wanted.
        let k = collector.k();
        for (rank, &value) in (first.0..).map(Rank).zip(run) {
            let distance = (value ^ needle).count_ones();
            if distance <= k {
                let fingerprint = table.permutation.invert(Permuted(value));
                collector.push(0, TableHit { distance, fingerprint, table: table.index, rank });
            }
        }
        collector.stats().scanned += run.len() as u64;
        if collector.is_exhausted() {
            break;
        }
    }
    Ok(())
}
