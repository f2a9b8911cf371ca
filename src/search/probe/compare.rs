//! Candidates become matches by their tails.

use super::{Pass, Place, Sink};
use crate::bits::permutation::Permuted;
use crate::error::Result;
use crate::format::near_heads::NearHead;
use crate::format::near_values::AT_ONCE;
use crate::search::entry::Entry;
use crate::section::Rank;
use crate::segment::Table;

impl<S: Sink> Pass<'_, S> {
    /// Fetches the tails of the candidates and keeps the matches.
    pub(super) fn compare_candidates(&mut self) -> Result<()> {
        if self.segment.is_cold() {
            self.announce_tails();
        }
        // Taken so that matches can be handed over meanwhile; the memory comes back.
        let (candidates, groups) =
            (std::mem::take(&mut self.near.heads), std::mem::take(self.groups));
        let mut start = 0;
        let compared = groups.iter().try_for_each(|group| {
            let found = candidates.get(start..group.end).unwrap_or_default();
            start = group.end;
            found.chunks(AT_ONCE).try_for_each(|some| self.compare_some(group.entry, some))
        });
        (self.near.heads, *self.groups) = (candidates, groups);
        self.near.heads.clear();
        self.groups.clear();
        compared
    }

    /// Keeps the matches among some candidates of one entry.
    fn compare_some(&mut self, number: u32, candidates: &[NearHead]) -> Result<()> {
        if self.sink.exhausted() {
            return Ok(());
        }
        let (entry, table) = self.entry(number);
        let (k, tails) = (self.sink.k(), self.segment.tails(table));
        let work = self.sink.work();
        work.candidates += candidates.len() as u64;
        // Where there are many, they lie side by side.
        let ranks = candidates.iter().map(|near| near.rank);
        let (first, last) = ranks
            .fold((Rank(u64::MAX), Rank(0)), |(first, last), at| (first.min(at), last.max(at)));
        let apart = || candidates.iter().all(|near| tails.are_near(near.rank, near.rank));
        if !tails.are_near(first, last) && !apart() {
            for near in candidates {
                self.segment.tail(table, near.rank, &mut work.pages_checked)?;
            }
        }
        let mut found = [0; AT_ONCE];
        let count =
            self.kernel.find_values(tails.packed(), candidates, entry.permuted, k, &mut found);
        for &at in found.iter().take(count) {
            if let Some(&NearHead { rank, head }) = candidates.get(usize::from(at)) {
                let tail = self.segment.tail(table, rank, &mut 0)?;
                self.take_match(entry, table, table.value(head, tail), rank);
            }
        }
        Ok(())
    }

    /// Hands over a value that is near enough, if this table is the one that reports it.
    fn take_match(&mut self, entry: &Entry, table: &Table, value: Permuted, rank: Rank) {
        let fingerprint = table.permutation.invert(value);
        let diff = fingerprint.value() ^ entry.needle.value();
        if self.reporting_table(diff) == Some(entry.table) {
            let place = Place { table: table.index, rank };
            self.sink.push(entry.query, diff.count_ones(), fingerprint, place);
        }
    }

    /// The position of the first table that covers what differs from the needle so.
    fn reporting_table(&self, diff: u64) -> Option<usize> {
        self.tables.iter().zip(self.radii).position(|(table, radius)| {
            radius.is_some_and(|radius| (diff & table.descriptor.mask).count_ones() <= radius)
        })
    }
}
