//! All stored fingerprints in ascending order, merged over the segments.
//!
//! [`Store::for_each`] is used by exports, joins, clusters and `verify`. Joins that need neither
//! order nor ids use `Store::for_each_run_of`, which decodes one segment without a merge.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::RangeInclusive;

use crate::base::error::{Error, Result};
use crate::base::section::{BlockIndex, Rank};
use crate::base::side_by_side::Part;
use crate::bytes::permutation::Permuted;
#[cfg(feature = "write")]
use crate::plan::Sampler;
use crate::search::Hit;
use crate::search::snapshot::{OpenSegment, SegmentHit};
use crate::segment::WholeTable;
use crate::store::Store;
use fpstore_base::Fingerprint;

/// The number of fingerprints that one pass selects from a table that is not in fingerprint order.
/// At most twice as many fingerprints are in memory: 256 MiB.
const SELECTED_MAX: usize = 1 << 23;
/// The number of ranges per thread: several, so that all threads end at about the same time.
const RANGES_FOR_A_THREAD: usize = 16;
/// The minimum number of fingerprints of a range.
const RANGE_MIN: u64 = if cfg!(test) { 16 } else { 1 << 12 };

impl Store {
    /// Calls `each` once for every stored fingerprint, ascending, with the ids from all segments.
    /// The distance of each [`Hit`] is 0.
    ///
    /// A segment whose first table is not in fingerprint order is sorted during the call, in
    /// several passes over that table, with 256 MiB of memory.
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
        each: impl FnMut(Hit<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.for_each_within(0..=u64::MAX, 1, each)
    }

    /// Like [`Store::for_each`], but only for a range of fingerprints. It is called on `threads`
    /// threads at the same time, which share the memory for sorting segments.
    pub(crate) fn for_each_within<E: From<Error>>(
        &self,
        range: RangeInclusive<u64>,
        threads: usize,
        mut each: impl FnMut(Hit<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let snapshot = self.snapshot();
        let filled = snapshot.segments().iter().enumerate().filter(|(_, open)| !open.is_empty());
        let selected_max = SELECTED_MAX / threads.max(1);
        let mut sources = Vec::new();
        // The next fingerprint of each source; the smallest is on top, equal ones in the order of
        // the sources.
        let mut next = BinaryHeap::new();
        for (segment, open) in filled {
            let Some(mut source) = Ordered::new(open, &range, selected_max)? else { continue };
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

    /// Ascending ranges that together cover all fingerprints, for `threads` threads. The ranges
    /// contain about the same number of fingerprints if the fingerprints are evenly distributed.
    /// There is a single range if there are few fingerprints, or if a segment would have to be
    /// sorted again for each range.
    pub(crate) fn ranges_for(&self, threads: usize) -> Vec<RangeInclusive<u64>> {
        let snapshot = self.snapshot();
        let filled = || snapshot.segments().iter().filter(|open| !open.is_empty());
        let tables: Vec<_> = filled().filter_map(|open| open.segment.first_table()).collect();
        let live_count: u64 = filled().map(|open| open.live_count()).sum();
        let most = (threads * RANGES_FOR_A_THREAD) as u64;
        let count = (live_count / RANGE_MIN).min(if threads < 2 { 1 } else { most });
        let largest = tables.iter().max_by_key(|table| table.descriptor.block_bits);
        let Some(largest) =
            largest.filter(|_| tables.iter().all(|it| it.permutation.is_identity()))
        else {
            return vec![0..=u64::MAX];
        };
        let blocks = 0..largest.descriptor.block_count();
        let starts =
            Part::all(count as usize).into_iter().map(|part| part.of(blocks.clone()).start);
        let first_of =
            |block| largest.first_head(BlockIndex(block)) << largest.descriptor.tail_bits;
        ranges_from(starts.map(first_of))
    }

    /// Like [`Store::ranges_for`], but if segments must be sorted, there is one range per thread,
    /// and each thread scans all segments, in parallel with the other threads.
    pub(crate) fn ranges_side_by_side(&self, threads: usize) -> Vec<RangeInclusive<u64>> {
        let ranges = self.ranges_for(threads);
        let live_count: u64 = self.snapshot().segments().iter().map(|open| open.live_count()).sum();
        if ranges.len() > 1 || threads < 2 || live_count < 2 * RANGE_MIN {
            return ranges;
        }
        let all = 0..self.width().max().value();
        ranges_from(Part::all(threads).into_iter().map(|part| part.of(all.clone()).start))
    }
}

/// The ranges that start at these ascending fingerprints; the last range ends at the largest value.
fn ranges_from(starts: impl Iterator<Item = u64>) -> Vec<RangeInclusive<u64>> {
    let mut starts: Vec<u64> = starts.collect();
    starts.dedup();
    let ends = starts[1..].iter().map(|start| start - 1).chain([u64::MAX]);
    starts.iter().zip(ends).map(|(&start, end)| start..=end).collect()
}

impl Store {
    /// Calls `each` with runs of the live fingerprints in `piece` of a segment, in the order of the
    /// first table. `segment` is the position of the segment in the snapshot.
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
            if table.permutation.is_identity() && open.deleted_in(ranks).is_empty() {
                each(run)?;
                continue;
            }
            natural.clear();
            open.push_live(&table.permutation, first, run, &mut natural);
            each(&natural)?;
        }
        table.advise_random();
        Ok(())
    }
}

type Values<'a> = Box<dyn Iterator<Item = Result<(Rank, Permuted)>> + 'a>;

#[cfg(feature = "write")]
impl crate::plan::Sample {
    /// A sample of the fingerprints of a store. Reads one whole table of each segment.
    ///
    /// # Errors
    ///
    /// * [`Error::Corrupt`] if the store is damaged.
    /// * [`Error::InvalidPlan`] if the store has fewer than
    ///   16 distinct fingerprints.
    pub fn of_store(store: &Store) -> Result<Self> {
        let mut sampler = Sampler::new(Sampler::CAPACITY);
        store.for_each(|entry| {
            sampler.push(entry.fingerprint());
            Ok::<(), Error>(())
        })?;
        sampler.finish()
    }
}

/// The fingerprints of a range in one segment, ascending, with their ranks in the first table.
struct Ordered<'a> {
    open: &'a OpenSegment,
    table: WholeTable<'a>,
    /// The values of the table, if it is in fingerprint order.
    stored: Option<Values<'a>>,
    /// If the table is not in fingerprint order: the next fingerprints, sorted descending so that
    /// the smallest can be popped.
    selected: Vec<(Fingerprint, Rank)>,
    /// The start of the range, moved forward by each pass; `None` after the last pass.
    from: Option<u64>,
    /// The last fingerprint of the range.
    last: u64,
    /// The number of fingerprints that one pass selects.
    selected_max: usize,
}

impl<'a> Ordered<'a> {
    /// Returns `None` for a segment without tables, which no reader accepts.
    fn new(
        open: &'a OpenSegment,
        range: &RangeInclusive<u64>,
        selected_max: usize,
    ) -> Result<Option<Self>> {
        let Some(table) = open.segment.first_table() else { return Ok(None) };
        let (from, last) = (*range.start(), *range.end());
        let stored = match table.permutation.is_identity() {
            true if from == 0 => Some(Box::new(table.values()) as Values<'a>),
            true => Some(Box::new(table.values_near(Permuted(from))?) as Values<'a>),
            false => None,
        };
        let from = Some(from);
        Ok(Some(Ordered { open, table, stored, selected: Vec::new(), from, last, selected_max }))
    }

    fn next(&mut self) -> Result<Option<(Fingerprint, Rank)>> {
        if let Some(stored) = &mut self.stored {
            // The first decoded block may begin before the range: skip those values.
            let from = self.from.unwrap_or(0);
            while let Some((rank, Permuted(value))) = stored.next().transpose()? {
                if value > self.last {
                    return Ok(None);
                }
                if value >= from && !self.open.is_deleted(rank) {
                    return Ok(Some((Fingerprint::new(value), rank)));
                }
            }
            return Ok(None);
        }
        if self.selected.is_empty()
            && let Some(from) = self.from
        {
            self.select(from, self.selected_max)?;
        }
        Ok(self.selected.pop())
    }

    /// Selects the `most` smallest fingerprints from `from` on, in one pass over the table.
    fn select(&mut self, from: u64, most: usize) -> Result<()> {
        let mut more = false;
        for step in self.table.values() {
            let (rank, value) = step?;
            let fingerprint = self.table.permutation.invert(value);
            let is_within = (from..=self.last).contains(&fingerprint.value());
            if is_within && !self.open.is_deleted(rank) {
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
    use crate::{BuildOptions, Builder, IdRef, Scheme};

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
            let mut ordered = Ordered::new(segment, &(0..=u64::MAX), 10).unwrap().unwrap();
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
    /// The concatenated ranges contain the fingerprints and ids of the store.
    #[test]
    fn ranges_have_each_fingerprint_once_and_in_order() {
        use crate::writer::Writer;

        let folder = tempfile::tempdir().unwrap();
        for scheme in ["1", "2", "14"] {
            let path = folder.path().join(scheme);
            let mut options = BuildOptions::default().scheme(Scheme::named(scheme, 3).unwrap());
            let mut expected = Vec::new();
            for segment in 0..3_u64 {
                let mut builder = match segment {
                    0 => Builder::with_options(&path, options.clone()).unwrap(),
                    _ => Builder::append(&path, options.clone()).unwrap(),
                };
                options = BuildOptions::default();
                for id in 0..600 {
                    // Some values are in two segments, and some occur twice in one segment.
                    let value = (id / 2 * 2 + 200 * segment).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                    let value = if id < 2 { u64::MAX * id } else { value };
                    builder.push(value.into(), 1000 * segment + id).unwrap();
                    expected.push((value, 1000 * segment + id));
                }
                builder.finish().unwrap();
            }
            let mut writer = Writer::open(&path).unwrap();
            writer.delete_ids((0..3000_u64).step_by(7).map(IdRef::U64)).unwrap();
            expected.retain(|(_, id)| id % 7 != 0);
            expected.sort_unstable();
            let store = writer.store().clone();
            for threads in [0, 1, 2, 5] {
                let ranges = store.ranges_for(threads);
                assert_eq!(ranges.len() > 1, threads > 1 && scheme != "14", "{scheme} {threads}");
                let beside = store.ranges_side_by_side(threads);
                assert_eq!(beside.len() > 1, threads > 1, "{scheme} {threads}");
                for (ranges, threads) in [(ranges, 1), (beside, threads)] {
                    let mut found = Vec::new();
                    for range in ranges {
                        store
                            .for_each_within(range, threads, |hit| {
                                let mut ids = Vec::new();
                                for id in hit.ids() {
                                    let IdRef::U64(id) = id? else { panic!("a number") };
                                    ids.push((hit.fingerprint().value(), id));
                                }
                                ids.sort_unstable();
                                found.extend(ids);
                                Ok::<(), Error>(())
                            })
                            .unwrap();
                    }
                    assert_eq!(found, expected, "{scheme} {threads}");
                }
            }
        }
    }
}
