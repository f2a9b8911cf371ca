//! The live records of a segment, to be written again; where its first table is damaged, by the values
//! of another one.

use crate::base::error::{Error, Fault, Result};
use crate::base::section::{Rank, TableIndex};
use crate::bytes::permutation::Permuted;
use crate::search::snapshot::OpenSegment;
use crate::segment::{Records, TableReader, WholeTable};
use crate::writing::builder::RecordBuffer;
use crate::writing::sort::{SortResources, SortedValues, ValueSorter};
use crate::writing::writer::wanted_ids::id_fault;
use fpstore_base::watch::{Throttle, Watch};

/// Pushes the live records of a segment.
///
/// Ids and deletions follow the order of the first table. Where that is damaged, the values of
/// another table that holds them whole are sorted in its order, and the walk goes on at the rank at
/// which it stopped. Without such a table the damage is the error.
pub(super) fn push_live_records(
    open: &OpenSegment,
    buffer: &mut RecordBuffer,
    resources: &SortResources,
    watch: &Watch,
    throttle: Option<&Throttle>,
) -> Result<()> {
    let Some(table) = open.segment.first_table() else { return Ok(()) };
    let (records, value_len) = (open.segment.records(), value_len(open));
    let mut push =
        Push { open, table, records, buffer, watch, throttle, value_len, rank: 0, last: 0 };
    table.advise_sequential();
    let pushed = push.first_table();
    table.advise_random();
    match pushed {
        Err(damage @ Error::Corrupt { section, .. }) if section.table() == Some(TableIndex(0)) => {
            push.another_table(resources, damage)
        }
        pushed => pushed,
    }
}

/// Bytes of the file for each value.
fn value_len(open: &OpenSegment) -> f64 {
    open.entry.file_len as f64 / open.entry.fingerprint_count.max(1) as f64
}

struct Push<'a> {
    open: &'a OpenSegment,
    table: WholeTable<'a>,
    records: Records<'a>,
    buffer: &'a mut RecordBuffer,
    watch: &'a Watch,
    throttle: Option<&'a Throttle>,
    value_len: f64,
    /// The rank of the next value, and the value before it.
    rank: u64,
    last: u64,
}

impl Push<'_> {
    fn first_table(&mut self) -> Result<()> {
        let mut values = self.table.values();
        while let Some((_, run)) = values.next_run()? {
            self.values(run)?;
        }
        Ok(())
    }

    /// Pushes the records of the next values.
    fn values(&mut self, run: &[u64]) -> Result<()> {
        if let Some(throttle) = self.throttle {
            throttle.spend((run.len() as f64 * self.value_len) as u64);
        }
        for &value in run {
            let (rank, record) = (Rank(self.rank), self.records.next()?);
            (self.rank, self.last) = (self.rank + 1, value);
            if self.open.is_deleted(rank) {
                continue;
            }
            let fingerprint = self.table.permutation.invert(Permuted(value));
            let mut bare = true;
            if let Some((_, record)) = record {
                let mut ids = self.open.live_ids(rank, record);
                while let Some(id) = ids.next().map_err(|fault| id_fault(self.open, fault))? {
                    bare = false;
                    self.buffer.push_stored(fingerprint, id, ids.sketch())?;
                }
            }
            if bare {
                self.buffer.push_bare(fingerprint)?;
            }
            self.watch.tick(1)?;
        }
        Ok(())
    }

    /// Pushes the records that are left, by the first other table whose values can be read.
    fn another_table(&mut self, resources: &SortResources, damage: Error) -> Result<()> {
        let segment = &self.open.segment;
        for other in segment.tables().skip(1).filter_map(TableReader::whole) {
            match self.in_order_of_first(other, resources) {
                Ok(values) => return self.rest_of(&values),
                Err(Error::Corrupt { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Err(damage)
    }

    /// The values of another table in the order of the first one.
    fn in_order_of_first(
        &self,
        other: WholeTable<'_>,
        resources: &SortResources,
    ) -> Result<SortedValues> {
        let mut sorter = ValueSorter::new(resources.clone());
        let mut values = other.values();
        while let Some((_, run)) = values.next_run()? {
            let fingerprints = run.iter().map(|&value| other.permutation.invert(Permuted(value)));
            sorter.push_all(fingerprints.map(|it| self.table.permutation.apply(it).0))?;
            self.watch.tick(0)?;
        }
        sorter.finish()
    }

    /// Pushes the records from the next rank on.
    fn rest_of(&mut self, values: &SortedValues) -> Result<()> {
        let (done, last, mut at) = (self.rank, self.last, 0_u64);
        let count = self.open.segment.header().fingerprint_count;
        let mut is_same = values.count == count;
        values.pass(|values| {
            let known = usize::try_from(done.saturating_sub(at)).unwrap_or(usize::MAX);
            let (known, rest) = values.split_at(known.min(values.len()));
            at += values.len() as u64;
            // The values before the damage are those of both tables.
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
