//! The readable records of a damaged segment, from any of its pages.
//!
//! Each table contains all fingerprints in its own order, and ids follow the order of the first
//! table. So a value on a damaged page of one table is read from another table. Its rank in the
//! first table, which locates its ids, is known if the other tables contain all values that are
//! unreadable between two values of the first table.

use crate::base::error::{Error, Result};
use crate::base::section::Rank;
use crate::bytes::permutation::Permuted;
use crate::search::snapshot::OpenSegment;
use crate::segment::{TableReader, WholeTable};
use crate::writing::builder::RecordBuffer;
use crate::writing::sort::{SortResources, SortedValues, ValueSorter};
use fpstore_base::Id;

/// The result of reading a damaged segment in a repair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Salvaged {
    /// The number of the segment.
    pub number: u64,
    /// The number of fingerprints in the new segment that replaces the damaged one.
    pub kept: u64,
    /// The number of fingerprints that are on no sound page, or that cannot be kept without their
    /// ids.
    pub lost: u64,
    /// The number of kept fingerprints whose ids are lost.
    pub without_ids: u64,
}

/// Pushes all readable live records of a segment.
pub(super) fn push_readable(
    open: &OpenSegment,
    buffer: &mut RecordBuffer,
    resources: &SortResources,
) -> Result<Salvaged> {
    let segment = &open.segment;
    let mut salvage = Salvage {
        open,
        buffer,
        has_ids: segment.id_places().is_some(),
        done: Salvaged { number: open.entry.number, ..Salvaged::default() },
        next_rank: 0,
        between: Vec::new(),
    };
    let count = segment.header().fingerprint_count;
    let Some(first) = segment.first_table() else {
        salvage.done.lost = count;
        return Ok(salvage.done);
    };
    let others = values_of_others(open, first, resources)?;
    let mut distinct = 0;
    each_distinct(&others, |_| {
        distinct += 1;
        Ok(())
    })?;
    if distinct == count {
        // The other tables contain all values, so all ranks are known, even if the first table is
        // unreadable.
        let mut rank = 0;
        each_distinct(&others, |value| {
            rank += 1;
            salvage.push(first, value, Some(Rank(rank - 1)))
        })?;
        return Ok(salvage.done);
    }
    salvage.merge(first, &others)?;
    Ok(salvage.done)
}

/// The values of the other tables, in the order of the first table.
fn values_of_others(
    open: &OpenSegment,
    first: WholeTable<'_>,
    resources: &SortResources,
) -> Result<SortedValues> {
    let mut sorter = ValueSorter::new(resources.clone());
    for other in open.segment.tables().skip(1).filter_map(TableReader::whole) {
        other.for_each_readable(|_, run| {
            let fingerprints = run.iter().map(|&value| other.permutation.invert(Permuted(value)));
            sorter.push_all(fingerprints.map(|it| first.permutation.apply(it).0))
        })?;
    }
    sorter.finish()
}

/// Calls `each` with each value once.
fn each_distinct(values: &SortedValues, mut each: impl FnMut(u64) -> Result<()>) -> Result<()> {
    let mut before = None;
    values.pass(|values| {
        for &value in values {
            if before.replace(value) != Some(value) {
                each(value)?;
            }
        }
        Ok(())
    })
}

/// An id and its sketch.
type StoredId = (Id, Box<[u8]>);

struct Salvage<'a> {
    open: &'a OpenSegment,
    buffer: &'a mut RecordBuffer,
    has_ids: bool,
    done: Salvaged,
    /// The rank after the last value read from the first table.
    next_rank: u64,
    /// The values of the other tables after the last value read from the first table.
    between: Vec<u64>,
}

impl Salvage<'_> {
    /// Pushes the values of the first table, and the values that are readable only in other tables.
    fn merge(&mut self, first: WholeTable<'_>, others: &SortedValues) -> Result<()> {
        let mut own: Vec<(u64, u64)> = Vec::new();
        first.for_each_readable(|rank, run| {
            own.extend((rank.0..).zip(run.iter().copied()));
            Ok(())
        })?;
        let mut own = own.into_iter().peekable();
        each_distinct(others, |value| {
            while let Some((rank, at)) = own.next_if(|&(_, at)| at < value) {
                self.take(first, rank, at)?;
            }
            if own.peek().is_none_or(|&(_, at)| at != value) {
                self.between.push(value);
            }
            Ok(())
        })?;
        for (rank, value) in own {
            self.take(first, rank, value)?;
        }
        self.close(first, self.open.segment.header().fingerprint_count)
    }

    /// Pushes a value of the first table, after the smaller values of other tables.
    fn take(&mut self, first: WholeTable<'_>, rank: u64, value: u64) -> Result<()> {
        self.close(first, rank)?;
        self.next_rank = rank + 1;
        self.push(first, value, Some(Rank(rank)))
    }

    /// Pushes the values of other tables with ranks before `rank`.
    fn close(&mut self, first: WholeTable<'_>, rank: u64) -> Result<()> {
        let missing = rank.saturating_sub(self.next_rank);
        let between = std::mem::take(&mut self.between);
        let found = between.len() as u64;
        self.done.lost += missing.saturating_sub(found);
        for (at, value) in (0..).zip(between) {
            let rank = (found == missing).then_some(Rank(self.next_rank + at));
            self.push(first, value, rank)?;
        }
        Ok(())
    }

    /// Pushes a value, with its ids if `rank` is known and its ids are readable.
    fn push(&mut self, first: WholeTable<'_>, value: u64, rank: Option<Rank>) -> Result<()> {
        let fingerprint = first.permutation.invert(Permuted(value));
        let ids = match rank {
            Some(rank) if self.open.is_deleted(rank) => return Ok(()),
            Some(rank) => self.ids(rank)?,
            // Deleted records must not reappear.
            None if self.open.deleted.is_some() => {
                self.done.lost += 1;
                return Ok(());
            }
            None => None,
        };
        match ids {
            Some(ids) if ids.is_empty() => self.buffer.push_bare(fingerprint)?,
            Some(ids) => {
                for (id, sketch) in ids {
                    self.buffer.push_stored(fingerprint, id.as_ref(), &sketch)?;
                }
            }
            // In a store with sketches, a record without its sketch cannot be kept.
            None if self.open.segment.header().sketch_len > 0 => {
                self.done.lost += 1;
                return Ok(());
            }
            None => {
                self.done.without_ids += u64::from(self.has_ids);
                self.buffer.push_bare(fingerprint)?;
            }
        }
        self.done.kept += 1;
        Ok(())
    }

    /// The live ids of a rank, with their sketches; `None` if they cannot be read.
    fn ids(&self, rank: Rank) -> Result<Option<Vec<StoredId>>> {
        let record = match self.open.segment.record(rank) {
            Err(Error::Corrupt { .. }) => return Ok(None),
            record => record?,
        };
        let (mut live, mut ids) = (self.open.live_ids(rank, record), Vec::new());
        loop {
            match live.next() {
                Ok(Some(id)) => ids.push((id.to_id(), live.sketch().into())),
                Ok(None) => return Ok(Some(ids)),
                Err(_) => return Ok(None),
            }
        }
    }
}
