//! All stored fingerprints in order, merged over the segments.
//!
//! [`Store::for_each`] serves exports, joins, clusters and `verify`. Joins that need no order and
//! no ids use `Store::for_each_run_of`, which decodes one segment without a merge.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use crate::base::error::{Error, Result};
use crate::base::section::{BlockIndex, Rank};
use crate::base::side_by_side::Part;
use crate::bytes::permutation::Permuted;
use crate::search::Hit;
use crate::search::snapshot::{OpenSegment, SegmentHit};
use crate::segment::WholeTable;
use crate::store::Store;
use fpstore_base::Fingerprint;

/// Fingerprints that one pass selects from a table that is sorted in another order. At most twice
/// as many are in memory: 256 MiB.
const SELECTED_MAX: usize = 1 << 23;

impl Store {
    /// Calls `each` with every stored fingerprint once, ascending, with the ids that all segments
    /// have for it. The distance of each [`Hit`] is 0.
    ///
    /// A segment whose first table is not in fingerprint order is sorted on the way, in several
    /// passes over that table, with 256 MiB of memory.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if the store is damaged, and any error that `each` returns. `each` is not
    /// called after an error.
    ///
    /// # Examples
    ///
    #[cfg_attr(feature = "write", doc = "```")]
    #[cfg_attr(not(feature = "write"), doc = "```ignore")]
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let mut builder = fpstore::Builder::new(folder.path().join("news.fps"))?;
    /// # builder.push(7.into(), "a.html")?;
    /// # let store = builder.finish()?;
    /// store.for_each(|entry| {
    ///     println!("{} has {} ids", entry.fingerprint(), entry.ids().count());
    ///     Ok::<(), fpstore::Error>(())
    /// })?;
    /// # Ok(()) }
    /// ```
    pub fn for_each<E: From<Error>>(
        &self,
        mut each: impl FnMut(Hit<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let snapshot = self.snapshot();
        let filled = snapshot.segments().iter().enumerate().filter(|(_, open)| !open.is_empty());
        let mut sources = Vec::new();
        // The next fingerprint of each source; the least of all is on top, ties by segment.
        let mut next = BinaryHeap::new();
        for (segment, mut source) in
            filled.filter_map(|(segment, open)| Some((segment, Ordered::new(open)?)))
        {
            if let Some((fingerprint, rank)) = source.next()? {
                next.push(Reverse((fingerprint, sources.len(), rank)));
                sources.push((segment, source));
            }
        }
        let mut places: Vec<SegmentHit> = Vec::new();
        while let Some(&Reverse((least, ..))) = next.peek() {
            places.clear();
            while let Some(mut top) = next.peek_mut()
                && top.0.0 == least
            {
                let Reverse((fingerprint, number, rank)) = *top;
                let (segment, source) = &mut sources[number];
                let (segment, table) = (*segment, source.table.index);
                places.push(SegmentHit { distance: 0, fingerprint, segment, table, rank });
                match source.next()? {
                    Some((fingerprint, rank)) => *top = Reverse((fingerprint, number, rank)),
                    None => drop(PeekMut::pop(top)),
                }
            }
            each(Hit::new(&snapshot, &places))?;
        }
        Ok(())
    }
}

impl Store {
    /// Calls `each` with every stored fingerprint of a piece of the segment at a position, many at a
    /// time, always in the same order: that of its first table.
    pub(crate) fn for_each_run_of(
        &self,
        segment: usize,
        piece: Part,
        each: &mut dyn FnMut(&[u64]) -> Result<()>,
    ) -> Result<()> {
        let snapshot = self.snapshot();
        let Some(open) = snapshot.segments().get(segment) else { return Ok(()) };
        if open.is_empty() {
            return Ok(());
        }
        let Some(table) = open.segment.first_table() else { return Ok(()) };
        table.advise_sequential();
        let blocks = piece.of(0..table.descriptor.block_count());
        if blocks.is_empty() {
            return Ok(());
        }
        let mut values = table.values_of(BlockIndex(blocks.start)..BlockIndex(blocks.end))?;
        let mut natural = Vec::new();
        while let Some((first, run)) = values.next_run()? {
            let ranks = first.0..first.0 + run.len() as u64;
            let deleted =
                open.deleted.as_ref().map_or([].as_slice(), |of| of.fingerprints_in(ranks.clone()));
            if table.permutation.is_identity() && deleted.is_empty() {
                each(run)?;
                continue;
            }
            natural.clear();
            let mut deleted = deleted.iter().copied().peekable();
            let live = ranks.zip(run).filter(|(rank, _)| deleted.next_if_eq(rank).is_none());
            natural.extend(live.map(|(_, &v)| table.permutation.invert(Permuted(v)).value()));
            each(&natural)?;
        }
        table.advise_random();
        Ok(())
    }
}

type Values<'a> = Box<dyn Iterator<Item = Result<(Rank, Permuted)>> + 'a>;

/// The fingerprints of one segment, ascending, with their ranks in the first table.
struct Ordered<'a> {
    open: &'a OpenSegment,
    table: WholeTable<'a>,
    /// The values of the table, if it is in fingerprint order.
    stored: Option<Values<'a>>,
    /// Else the next values, sorted descending so that the smallest one can be popped.
    selected: Vec<(Fingerprint, Rank)>,
    /// All values below this one were selected before; `None` once all were.
    from: Option<u64>,
}

impl<'a> Ordered<'a> {
    /// `None` for a segment without tables, which no reader accepts.
    fn new(open: &'a OpenSegment) -> Option<Self> {
        let table = open.segment.first_table()?;
        let values = || Box::new(table.values()) as Values<'a>;
        let stored = table.permutation.is_identity().then(values);
        Some(Ordered { open, table, stored, selected: Vec::new(), from: Some(0) })
    }

    fn next(&mut self) -> Result<Option<(Fingerprint, Rank)>> {
        if let Some(stored) = &mut self.stored {
            while let Some((rank, value)) = stored.next().transpose()? {
                if !self.open.is_deleted(rank) {
                    return Ok(Some((self.table.permutation.invert(value), rank)));
                }
            }
            return Ok(None);
        }
        if self.selected.is_empty()
            && let Some(from) = self.from
        {
            self.select(from, SELECTED_MAX)?;
        }
        Ok(self.selected.pop())
    }

    /// Selects the `most` smallest fingerprints that are at least `from`, in one pass.
    fn select(&mut self, from: u64, most: usize) -> Result<()> {
        let mut more = false;
        for step in self.table.values() {
            let (rank, value) = step?;
            let fingerprint = self.table.permutation.invert(value);
            if fingerprint.value() >= from && !self.open.is_deleted(rank) {
                self.selected.push((fingerprint, rank));
                if self.selected.len() == 2 * most {
                    self.selected.select_nth_unstable(most);
                    self.selected.truncate(most);
                    more = true;
                }
            }
        }
        self.selected.sort_unstable_by(|a, b| b.cmp(a));
        if self.selected.len() > most {
            let surplus = self.selected.len() - most;
            self.selected.drain(..surplus);
            more = true;
        }
        let last = self.selected.first().map(|(fingerprint, _)| fingerprint.value());
        self.from = last.filter(|_| more).and_then(|last| last.checked_add(1));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BuildOptions, Builder, Scheme};

    #[test]
    fn many_small_passes_give_the_same_order_as_one() {
        let folder = tempfile::tempdir().unwrap();
        let options = BuildOptions::default().scheme(Scheme::named("14", 3).unwrap());
        let mut builder = Builder::with_options(folder.path().join("store.fps"), options).unwrap();
        let values = (1..1000_u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut expected: Vec<u64> = values.chain([0, u64::MAX]).collect();
        expected.iter().for_each(|&value| builder.push_bare(value.into()).unwrap());
        expected.sort_unstable();
        let store = builder.finish().unwrap();
        let snapshot = store.snapshot();
        let segment = &snapshot.segments()[0];
        for most in [1, 2, 10, 1000, 1001, 1002] {
            let mut ordered = Ordered::new(segment).unwrap();
            let mut found = Vec::new();
            while let Some(from) = ordered.from {
                ordered.select(from, most).unwrap();
                assert!(ordered.selected.len() <= most);
                while let Some((fingerprint, _)) = ordered.selected.pop() {
                    found.push(fingerprint.value());
                }
            }
            assert_eq!(found, expected, "{most} a pass");
        }
    }
}
