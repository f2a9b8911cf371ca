//! Ranges of a table: the fingerprints of a store whose permuted values in this table are between
//! two bounds, read from all segments through their prefix indexes.
//!
//! A share of a join reads one range of each table of the plan, instead of all fingerprints. The
//! bounds are chosen so that the ranges of all shares have similar numbers of fingerprints, and so
//! that all fingerprints that agree on a block of leading bits are in the same range. All processes
//! that share a join compute the same bounds, which depend only on the store.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, HashSet};
use std::path::PathBuf;

use crate::base::error::Result;
use crate::base::section::{BlockIndex, Rank};
use crate::base::side_by_side::Part;
use crate::bytes::permutation::{Permutation, Permuted};
use crate::search::snapshot::{LiveIds, OpenSegment, distinct_count};
use crate::segment::WholeTable;
use crate::store::Store;
use fpstore_base::Fingerprint;

/// Only this many leading bits of a block are used to choose bounds.
const CUT_BITS_MAX: u32 = 32;
/// Reading a deleted fingerprint by its rank costs as much as this many look-ups in the first
/// table.
const LOOKUPS_PER_DELETION: u64 = 8;

/// The tables with this mask and whole values: one table in each non-empty segment.
#[derive(Clone, Debug)]
pub(in crate::join) struct TableOfStore {
    store: Store,
    pub(in crate::join) mask: u64,
}

/// The fingerprints whose permuted values in a table are in a range.
#[derive(Clone, Debug)]
pub(in crate::join) struct TableRange {
    table: TableOfStore,
    /// The first permuted value and the last one, inclusive; `None` for an empty range.
    bounds: Option<(u64, u64)>,
    /// An upper bound of the number of values in the range.
    pub(in crate::join) count_max: u64,
    /// Whether a fingerprint may be read more than once, from several segments.
    pub(in crate::join) repeats: bool,
}

impl TableOfStore {
    /// The tables with this mask in the current snapshot of a store. The error is the file of a
    /// non-empty segment without such a table.
    pub(in crate::join) fn new(store: &Store, mask: u64) -> Result<Self, PathBuf> {
        let snapshot = store.snapshot();
        let mut filled = snapshot.segments().iter().filter(|open| !open.is_empty());
        match filled.find(|open| open.segment.whole_table(mask).is_none()) {
            Some(open) => Err(open.segment.path().into()),
            None => Ok(TableOfStore { store: store.pinned(), mask }),
        }
    }

    /// All tables that exist in every non-empty segment, in the order of the first non-empty
    /// segment; for an empty store, the tables of its first segment.
    pub(in crate::join) fn all(store: &Store) -> Vec<Self> {
        let store = store.pinned();
        let snapshot = store.snapshot();
        let segments = snapshot.segments();
        let first = segments.iter().find(|open| !open.is_empty()).or(segments.first());
        let masks = first.into_iter().flat_map(|open| open.segment.header().whole_masks());
        masks.filter_map(|mask| TableOfStore::new(&store, mask).ok()).collect()
    }

    /// Whether deleted values can be recognized without look-ups: in each segment, nothing is
    /// deleted, or the table is the first one, to whose ranks deletions refer.
    pub(in crate::join) fn knows_deleted(&self) -> bool {
        let snapshot = self.store.snapshot();
        snapshot.segments().iter().all(|open| {
            let first = open.segment.first_table();
            open.deleted.is_none() || first.is_some_and(|table| table.mask() == self.mask)
        })
    }

    /// Whether a fingerprint may be read more than once, from several segments.
    pub(in crate::join) fn may_repeat(&self) -> bool {
        let snapshot = self.store.snapshot();
        snapshot.segments().iter().filter(|open| !open.is_empty()).count() > 1
    }

    /// Advises the system that the tables will be read sequentially, or by single pages.
    pub(in crate::join) fn advise(&self, is_sequential: bool) {
        let advised = self.for_each_table(self.store.snapshot().segments(), |_, table| {
            if is_sequential {
                table.advise_sequential()
            } else {
                table.advise_random()
            }
            Ok(())
        });
        debug_assert!(advised.is_ok(), "advice does not fail");
    }

    /// Calls `each` with each non-empty segment and its table.
    fn for_each_table<'a>(
        &self,
        segments: &'a [OpenSegment],
        mut each: impl FnMut(&'a OpenSegment, WholeTable<'a>) -> Result<()>,
    ) -> Result<()> {
        let mut filled = segments.iter().filter(|open| !open.is_empty());
        filled.try_for_each(|open| {
            let table = open.segment.whole_table(self.mask);
            each(open, table.expect("no segment of the store lacks the table"))
        })
    }

    /// The sum of the results of `of` for the tables of all segments.
    fn sum(&self, mut of: impl FnMut(WholeTable<'_>) -> Result<u64>) -> Result<u64> {
        let mut sum = 0;
        self.for_each_table(self.store.snapshot().segments(), |_, table| {
            sum += of(table)?;
            Ok(())
        })?;
        Ok(sum)
    }

    /// The number of values, in all segments, that are in blocks before the block of the permuted
    /// value `value`.
    fn rank_before(&self, value: u64) -> Result<u64> {
        self.sum(|table| table.rank_before(Permuted(value)))
    }

    fn count(&self) -> u64 {
        let snapshot = self.store.snapshot();
        snapshot.segments().iter().map(|open| open.segment.header().fingerprint_count).sum()
    }

    /// Range number `number` of `count` ranges, with bounds at which the first `bits` bits change.
    pub(in crate::join) fn range(self, bits: u32, number: u64, count: u64) -> Result<TableRange> {
        let bits = bits.clamp(1, CUT_BITS_MAX);
        let start = self.cut(bits, number, count, 0)?;
        let end = self.cut(bits, number + 1, count, start)?;
        let shift = 64 - bits;
        let bounds =
            (start < end).then(|| (start << shift, ((end - 1) << shift) | !(u64::MAX << shift)));
        self.within(bounds)
    }

    /// The range of the values whose first `bits` bits (1 to 63) are `prefix`.
    pub(in crate::join) fn with_prefix(self, bits: u32, prefix: u64) -> Result<TableRange> {
        let first = prefix << (64 - bits);
        self.within(Some((first, first | u64::MAX >> bits)))
    }

    /// The range between two permuted values, inclusive; `None` for an empty range.
    fn within(self, bounds: Option<(u64, u64)>) -> Result<TableRange> {
        let count_max = match bounds {
            None => 0,
            Some((first, last)) => {
                self.sum(|table| table.rank_after(Permuted(last)))? - self.rank_before(first)?
            }
        };
        let repeats = self.may_repeat();
        Ok(TableRange { table: self, bounds, count_max, repeats })
    }

    /// The start of range number `number` of `count`: the smallest prefix of `bits` bits, at least
    /// `least`, before which there are `number / count` of all stored values.
    fn cut(&self, bits: u32, number: u64, count: u64, least: u64) -> Result<u64> {
        let all = 1_u64 << bits;
        if number >= count {
            return Ok(all);
        }
        let before =
            (u128::from(self.count()) * u128::from(number)).div_ceil(u128::from(count)) as u64;
        // In most data the ranges have similar lengths, so the search starts with half of the mean
        // length as its step.
        let (mut low, mut high) = (least, least);
        let mut step = (all / count / 2).max(1);
        while high < all && self.rank_before(high << (64 - bits))? < before {
            low = high + 1;
            high = all.min(high.saturating_add(step));
            step *= 2;
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if self.rank_before(middle << (64 - bits))? >= before {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Ok(low)
    }
}

impl TableRange {
    /// Calls `each` with the fingerprints of a part of the range that are not deleted, many at a
    /// time, segment after segment, always in the same order.
    pub(in crate::join) fn read(
        &self,
        part: Part,
        each: &mut dyn FnMut(&[u64]) -> Result<()>,
    ) -> Result<()> {
        let snapshot = self.table.store.snapshot();
        let mut natural = Vec::new();
        self.table.for_each_table(snapshot.segments(), |open, table| {
            let live = LiveFilter::new(open, table, self.count_max)?;
            self.for_each_run(table, part, |first, run| {
                natural.clear();
                let Some(live) = &live else {
                    open.push_live(&table.permutation, first, run, &mut natural);
                    return each(&natural);
                };
                for &value in run {
                    let fingerprint = table.permutation.invert(Permuted(value));
                    if live.accepts(fingerprint)? {
                        natural.push(fingerprint.value());
                    }
                }
                each(&natural)
            })
        })
    }

    /// Calls `each` once with each fingerprint of the range that is not deleted, and with the
    /// number of its distinct ids in all segments.
    pub(in crate::join) fn for_each_id_count(
        &self,
        each: &mut dyn FnMut(Fingerprint, u64) -> Result<()>,
    ) -> Result<()> {
        let Some((start, end)) = self.bounds else { return Ok(()) };
        let snapshot = self.table.store.snapshot();
        let mut sources = Vec::new();
        // The next value of each segment in the order of the table, the least value on top.
        let mut next = BinaryHeap::new();
        self.table.for_each_table(snapshot.segments(), |open, table| {
            let from_start =
                |of: &Result<(Rank, Permuted)>| of.as_ref().map_or(true, |v| v.1.0 >= start);
            let mut values = table.values_near(Permuted(start))?;
            if let Some((rank, value)) = values.find(from_start).transpose()? {
                next.push(Reverse((value.0, sources.len(), rank)));
                sources.push((open, table, values));
            }
            Ok(())
        })?;
        let permutation = Permutation::new(self.table.mask);
        let (mut live, mut live_ids) = (None, Vec::new());
        while let Some(mut top) = next.peek_mut() {
            let Reverse((value, number, rank)) = *top;
            if value > end {
                break;
            }
            let fingerprint = permutation.invert(Permuted(value));
            let (open, table, values) = &mut sources[number];
            match values.next().transpose()? {
                Some((rank, value)) => *top = Reverse((value.0, number, rank)),
                None => drop(PeekMut::pop(top)),
            }
            let Some(mut ids) = ids_of(open, *table, fingerprint, rank)? else { continue };
            if live != Some(fingerprint)
                && let Some(before) = live.replace(fingerprint)
            {
                each(before, distinct_count(&mut live_ids))?;
            }
            while let Some(id) = ids.next().map_err(|fault| open.id_fault(fault))? {
                live_ids.push(id);
            }
        }
        live.map_or(Ok(()), |fingerprint| each(fingerprint, distinct_count(&mut live_ids)))
    }

    /// Calls `each` with runs of the values of a part of the range in the table of one segment,
    /// each with the rank of its first value.
    fn for_each_run(
        &self,
        table: WholeTable<'_>,
        part: Part,
        mut each: impl FnMut(Rank, &[u64]) -> Result<()>,
    ) -> Result<()> {
        let Some((start, end)) = self.bounds else { return Ok(()) };
        let (first, last) = (table.block_of(Permuted(start)), table.block_of(Permuted(end)));
        let blocks = part.of(first.0..last.0 + 1);
        if blocks.is_empty() {
            return Ok(());
        }
        let mut values = table.values_of(BlockIndex(blocks.start)..BlockIndex(blocks.end))?;
        while let Some((Rank(first), run)) = values.next_run()? {
            let below = run.partition_point(|&value| value < start);
            let within = run.partition_point(|&value| value <= end);
            if let Some(run) = run.get(below..within)
                && !run.is_empty()
            {
                each(Rank(first + below as u64), run)?;
            }
            if within < run.len() {
                break;
            }
        }
        Ok(())
    }
}

/// Recognizes deleted values in a table that is not the first of its segment. As deletions refer to
/// ranks in the first table, the ranks in this table cannot be used.
enum LiveFilter<'a> {
    /// The deleted values.
    Deleted(HashSet<u64>),
    /// Looks up each value in the first table, because there are very many deletions.
    LookUp(&'a OpenSegment, WholeTable<'a>),
}

impl<'a> LiveFilter<'a> {
    /// The filter for about `count` values of a table; `None` if nothing is deleted, or if the
    /// table is the first one.
    fn new(open: &'a OpenSegment, table: WholeTable<'a>, count: u64) -> Result<Option<Self>> {
        let (Some(deleted), Some(first)) = (&open.deleted, open.segment.first_table()) else {
            return Ok(None);
        };
        if table.index == first.index {
            return Ok(None);
        }
        if deleted.fingerprint_count().saturating_mul(LOOKUPS_PER_DELETION) > count {
            return Ok(Some(LiveFilter::LookUp(open, first)));
        }
        let value = |&rank: &u64| Ok(first.permutation.invert(first.value_at(Rank(rank))?).value());
        let values = deleted.fingerprints().iter().map(value).collect::<Result<_>>()?;
        Ok(Some(LiveFilter::Deleted(values)))
    }

    fn accepts(&self, fingerprint: Fingerprint) -> Result<bool> {
        match self {
            LiveFilter::Deleted(deleted) => Ok(!deleted.contains(&fingerprint.value())),
            LiveFilter::LookUp(open, first) => {
                let rank = first.find(first.permutation.apply(fingerprint))?;
                Ok(rank.is_some_and(|rank| !open.is_deleted(rank)))
            }
        }
    }
}

/// The ids of the fingerprint at this rank of a table, without deleted ids; `None` if the
/// fingerprint is deleted.
fn ids_of<'a>(
    open: &'a OpenSegment,
    table: WholeTable<'_>,
    fingerprint: Fingerprint,
    rank: Rank,
) -> Result<Option<LiveIds<'a>>> {
    let rank = match open.segment.first_table() {
        Some(first) if first.index != table.index => {
            first.find(first.permutation.apply(fingerprint))?
        }
        _ => Some(rank),
    };
    rank.filter(|&rank| !open.is_deleted(rank)).map(|rank| open.ids_at(rank)).transpose()
}
