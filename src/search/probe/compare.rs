//! Candidates become matches by their tails.

use super::{Candidate, Pass};
use crate::error::Result;

impl<D: AsRef<[u8]>> Pass<'_, D> {
    /// Fetches the tails of the candidates and keeps the matches.
    pub(super) fn compare_candidates(&mut self) -> Result<()> {
        for at in 0..self.candidates.len() {
            if self.collector.exhausted() {
                break;
            }
            let Candidate { entry: number, rank, head } = self.candidates[at];
            let (entry, table) = self.entry(number);
            let collector = &mut *self.collector;
            collector.work.candidates += 1;
            let tail = self.segment.tail(table, rank, &mut collector.work.pages_checked)?;
            let value = table.value(head, tail);
            if (value.0 ^ entry.needle.0).count_ones() > collector.k {
                continue;
            }
            let fingerprint = table.permutation.invert(value);
            let diff = fingerprint.value() ^ collector.needle.value();
            let earlier = &self.entries[..number as usize];
            let reported = earlier.iter().any(|e| (diff & e.mask).count_ones() <= e.radius);
            let in_reach = (diff & entry.mask).count_ones() <= entry.radius;
            if in_reach && !reported {
                collector.push(fingerprint, table.index, rank);
            }
        }
        self.candidates.clear();
        Ok(())
    }
}
