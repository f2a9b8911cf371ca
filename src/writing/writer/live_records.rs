//! Reading the live records of a segment to write them again. If the first table of the segment is
//! damaged, the values come from another table.

use std::ops::Range;

use crate::base::error::{Error, Fault, Result};
use crate::base::in_order::in_order;
use crate::base::section::{BlockIndex, Rank, TableIndex};
use crate::base::side_by_side::Part;
use crate::bytes::permutation::Permuted;
use crate::search::snapshot::OpenSegment;
use crate::segment::{Records, TableReader, WholeTable};
use crate::writing::builder::RecordBuffer;
use crate::writing::sort::{SortResources, SortedValues, ValueSorter};
use crate::writing::writer::live_part::{LivePart, PART_COUNT, for_each_live};
use fpstore_base::watch::{Throttle, Watch};

/// Pushes the live records of a segment to `buffer`; threads read them in parts.
///
/// Ids and deletions follow the order of the first table. If that table is damaged, the values of
/// another table with whole values are sorted in the order of the first table, and reading
/// continues at the rank of the damage. Without such a table, returns the damage as an error.
pub(super) fn push_live_records(
    open: &OpenSegment,
    buffer: &mut RecordBuffer,
    resources: &SortResources,
    watch: &Watch,
    throttle: Option<&Throttle>,
) -> Result<()> {
    let Some(table) = open.segment.first_table() else { return Ok(()) };
    let sketch_len = buffer.sketch_len();
    let mut push = Push {
        open,
        table,
        records: open.segment.records(),
        buffer,
        resources,
        watch,
        throttle,
        value_len: open.entry.file_len as f64 / open.entry.fingerprint_count.max(1) as f64,
        rank: 0,
        last: 0,
        is_done: false,
    };
    let blocks = 0..table.descriptor.block_count();
    table.advise_sequential();
    let pushed = if resources.threads < 2 {
        push.blocks(BlockIndex(0)..BlockIndex(blocks.end))
    } else {
        let worker = || {
            |blocks: Range<BlockIndex>| {
                // An unreadable part is read again by `blocks`, which handles damage.
                let part = LivePart::read(open, blocks.clone(), sketch_len);
                Ok((blocks, part.ok().flatten()))
            }
        };
        let source = |give: &mut dyn FnMut(Range<BlockIndex>) -> Result<()>| {
            let count = open.entry.fingerprint_count.div_ceil(PART_COUNT).min(blocks.end);
            let parts = Part::all(count as usize).into_iter().map(|part| part.of(blocks.clone()));
            parts.map(|part| BlockIndex(part.start)..BlockIndex(part.end)).try_for_each(give)
        };
        in_order(resources.threads, worker, source, |(blocks, part)| match part {
            Some(part) if part.ranks.start == push.rank => push.part(&part),
            _ => push.blocks(blocks),
        })
    };
    table.advise_random();
    pushed
}

struct Push<'a> {
    open: &'a OpenSegment,
    table: WholeTable<'a>,
    records: Records<'a>,
    buffer: &'a mut RecordBuffer,
    resources: &'a SortResources,
    watch: &'a Watch,
    throttle: Option<&'a Throttle>,
    /// The average length of the segment file per value, in bytes.
    value_len: f64,
    /// The rank of the next value, and the preceding value.
    rank: u64,
    last: u64,
    /// Whether all remaining records came from another table, so that nothing is left to push.
    is_done: bool,
}

impl Push<'_> {
    /// Pushes the records of some blocks; if they are damaged, all remaining records, from another
    /// table.
    fn blocks(&mut self, blocks: Range<BlockIndex>) -> Result<()> {
        if self.is_done {
            return Ok(());
        }
        let read = self.first_table(blocks);
        match read {
            Err(damage @ Error::Corrupt { section, .. })
                if section.table() == Some(TableIndex(0)) =>
            {
                self.is_done = true;
                self.another_table(damage)
            }
            read => read,
        }
    }

    fn first_table(&mut self, blocks: Range<BlockIndex>) -> Result<()> {
        let mut values = self.table.values_of(blocks)?;
        while let Some((rank, run)) = values.next_run()? {
            if rank.0 != self.rank {
                let detail = format!("there is a gap between blocks, at value {}", self.rank);
                return Err(self.table.corrupt(&self.table.heads, 0, Fault::rule(15, detail)));
            }
            self.values(run)?;
        }
        Ok(())
    }

    /// Pushes the records of a part.
    fn part(&mut self, part: &LivePart) -> Result<()> {
        if self.is_done {
            return Ok(());
        }
        let last = part.last.unwrap_or(self.last);
        self.after(part.ranks.end - part.ranks.start, last)?;
        self.buffer.push_stored_batch(&part.records)
    }

    /// Pushes the records of `run`, the next values of the table.
    fn values(&mut self, run: &[u64]) -> Result<()> {
        let first = Rank(self.rank);
        let last = run.last().copied().unwrap_or(self.last);
        self.after(run.len() as u64, last)?;
        for_each_live(self.open, self.table, (first, run), &mut self.records, |fingerprint, id| {
            match id {
                Some((id, sketch)) => self.buffer.push_stored(fingerprint, id, sketch),
                None => self.buffer.push_bare(fingerprint),
            }
        })
    }

    /// Counts `count` more values as read; the last of them is `last`.
    fn after(&mut self, count: u64, last: u64) -> Result<()> {
        if let Some(throttle) = self.throttle {
            throttle.spend((count as f64 * self.value_len) as u64);
        }
        let ranks = self.rank..self.rank + count;
        (self.rank, self.last) = (ranks.end, last);
        let deleted = self.open.deleted_in(ranks).len() as u64;
        Ok(self.watch.tick(count - deleted)?)
    }

    /// Pushes the remaining records from the first other table whose values are readable.
    fn another_table(&mut self, damage: Error) -> Result<()> {
        let segment = &self.open.segment;
        for other in segment.tables().skip(1).filter_map(TableReader::whole) {
            match self.in_order_of_first(other) {
                Ok(values) => return self.rest_of(&values),
                Err(Error::Corrupt { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Err(damage)
    }

    /// The values of another table in the order of the first table.
    fn in_order_of_first(&self, other: WholeTable<'_>) -> Result<SortedValues> {
        let mut sorter = ValueSorter::new(self.resources.clone());
        let mut values = other.values();
        while let Some((_, run)) = values.next_run()? {
            let fingerprints = run.iter().map(|&value| other.permutation.invert(Permuted(value)));
            sorter.push_all(fingerprints.map(|it| self.table.permutation.apply(it).0))?;
            self.watch.tick(0)?;
        }
        sorter.finish()
    }

    /// Pushes the records of `values`, except the values before the next rank.
    fn rest_of(&mut self, values: &SortedValues) -> Result<()> {
        let (done, last, mut at) = (self.rank, self.last, 0_u64);
        let count = self.open.segment.header().fingerprint_count;
        let mut is_same = values.count == count;
        values.pass(|values| {
            let known = usize::try_from(done.saturating_sub(at)).unwrap_or(usize::MAX);
            let (known, rest) = values.split_at(known.min(values.len()));
            at += values.len() as u64;
            // The last value before the damage must be the same in both tables.
            if at - rest.len() as u64 == done && !known.is_empty() {
                is_same &= known.last() == Some(&last);
            }
            if is_same { self.values(rest) } else { Ok(()) }
        })?;
        if is_same && self.rank == count {
            return Ok(());
        }
        let place = &self.table.heads;
        let detail = "the tables hold different values";
        Err(self.open.segment.corrupt(place, 0, Fault::rule(20, detail)))
    }
}
