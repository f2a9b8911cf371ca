//! Scanning: one table decoded from first to last, every value compared.

use crate::error::Result;
use crate::search::searcher::Collector;
use crate::segment::{Segment, Table};

/// Finds everything within `collector.k` of its needle in one table.
pub(crate) fn scan<D: AsRef<[u8]>>(
    segment: &Segment<D>,
    table: &Table,
    collector: &mut Collector,
) -> Result<()> {
    let needle = table.permutation.apply(collector.needle);
    for step in segment.values(table) {
        let (rank, value) = step?;
        collector.work.scanned += 1;
        if (value.0 ^ needle.0).count_ones() <= collector.k {
            collector.push(table.permutation.invert(value), table.index, rank);
        }
        if collector.exhausted() {
            break;
        }
    }
    Ok(())
}
