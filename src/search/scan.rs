//! Scanning: one table decoded from first to last, every value compared.

use crate::bits::permutation::Permuted;
use crate::error::Result;
use crate::search::searcher::Collector;
use crate::section::Rank;
use crate::segment::{Segment, Table};

/// Finds everything within `collector.k` of its needle in one table.
pub(crate) fn scan<D: AsRef<[u8]>>(
    segment: &Segment<D>,
    table: &Table,
    collector: &mut Collector,
) -> Result<()> {
    let needle = table.permutation.apply(collector.needle).0;
    let mut values = segment.values(table);
    while let Some((first, run)) = values.next_run()? {
        for (rank, &value) in (first.0..).zip(run) {
            if (value ^ needle).count_ones() <= collector.k {
                let fingerprint = table.permutation.invert(Permuted(value));
                collector.push(fingerprint, table.index, Rank(rank));
            }
        }
        collector.work.scanned += run.len() as u64;
        if collector.exhausted() {
            break;
        }
    }
    Ok(())
}
