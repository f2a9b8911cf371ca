//! Scanning: one table decoded from first to last, every value compared.

use crate::bits::permutation::Permuted;
use crate::error::Result;
use crate::search::probe::{Place, Sink};
use crate::search::searcher::Collector;
use crate::section::Rank;
use crate::segment::{Mapped, Table};

/// Finds everything within `collector.k` of its needle in one table.
pub(crate) fn scan(segment: &Mapped, table: &Table, collector: &mut Collector) -> Result<()> {
    segment.expect_pass(table);
    let scanned = compare_all(segment, table, collector);
    segment.expect_probes(table);
    scanned
}

fn compare_all(segment: &Mapped, table: &Table, collector: &mut Collector) -> Result<()> {
    let needle = table.permutation.apply(collector.needle).0;
    let mut values = segment.values(table);
    while let Some((first, run)) = values.next_run()? {
        for (rank, &value) in (first.0..).zip(run) {
            let distance = (value ^ needle).count_ones();
            if distance <= collector.k {
                let fingerprint = table.permutation.invert(Permuted(value));
                let place = Place { table: table.index, rank: Rank(rank) };
                collector.push(0, distance, fingerprint, place);
            }
        }
        collector.work.scanned += run.len() as u64;
        if collector.exhausted() {
            break;
        }
    }
    collector.work.pages_checked += values.pages_checked;
    Ok(())
}
