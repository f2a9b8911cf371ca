//! Candidates become matches by their tails.

use super::{Candidate, Pass, Place, Sink};
use crate::error::Result;

impl<S: Sink> Pass<'_, S> {
    /// Fetches the tails of the candidates and keeps the matches.
    pub(super) fn compare_candidates(&mut self) -> Result<()> {
        if self.segment.is_cold() {
            self.announce_tails();
        }
        let k = self.sink.k();
        for at in 0..self.candidates.len() {
            if self.sink.exhausted() {
                break;
            }
            let Candidate { entry: number, rank, head } = self.candidates[at];
            let (entry, table) = self.entry(number);
            let work = self.sink.work();
            work.candidates += 1;
            let tail = self.segment.tail(table, rank, &mut work.pages_checked)?;
            let value = table.value(head, tail);
            let distance = (value.0 ^ entry.permuted.0).count_ones();
            if distance > k {
                continue;
            }
            let fingerprint = table.permutation.invert(value);
            let diff = fingerprint.value() ^ entry.needle.value();
            if self.reporting_table(diff) == Some(entry.table) {
                let place = Place { table: table.index, rank };
                self.sink.push(entry.query, distance, fingerprint, place);
            }
        }
        self.candidates.clear();
        Ok(())
    }

    /// The position of the first table that covers what differs from the needle so.
    fn reporting_table(&self, diff: u64) -> Option<usize> {
        self.tables.iter().zip(self.radii).position(|(table, radius)| {
            radius.is_some_and(|radius| (diff & table.descriptor.mask).count_ones() <= radius)
        })
    }
}
