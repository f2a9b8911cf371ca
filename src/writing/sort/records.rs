//! External sorting of records: fingerprints with ids.
//!
//! Records are collected in a batch of bounded memory; full batches are sorted and written as runs,
//! separately for records without ids, with numbers and with texts. Output: the records by
//! ascending fingerprint, records with equal fingerprints in input order.

use crate::base::error::Result;
use crate::writing::sort::SortResources;
use crate::writing::sort::batch::{RecordBatch, Scratch};
use crate::writing::sort::levels::Levels;
use crate::writing::sort::merge::{EntryId, MergeInput, merge};
use crate::writing::sort::parts::{RecordParts, with_sketches};
use crate::writing::sort::ranges::RunRanges;
use crate::writing::sort::values::{SortedValues, SortedWriter};
use fpstore_base::IdRef;

/// The kind of the ids of sorted records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdColumn {
    None,
    /// Numbers. The field is the largest number.
    Numbers(u64),
    /// Texts, and possibly numbers that came before the first text.
    Texts,
}

/// Sorts records by key. The ids of one key keep their input order.
#[derive(Debug)]
pub(crate) struct RecordSorter {
    resources: SortResources,
    batch: RecordBatch,
    scratch: Scratch,
    /// The runs of records without ids, with numbers and with texts.
    runs: [Levels; 3],
    largest_number: u64,
    any_text: bool,
    any_id: bool,
    count: u64,
    /// The length of the sketch of each id in bytes. If not 0, each id is stored with its sketch as
    /// one text.
    sketch_len: u32,
}

impl RecordSorter {
    /// A sorter of records whose ids have sketches of `sketch_len` bytes.
    pub(crate) fn with_sketches(
        resources: SortResources,
        texts_only: bool,
        sketch_len: u32,
    ) -> Self {
        RecordSorter { sketch_len, ..RecordSorter::new(resources, texts_only) }
    }

    /// A sorter of records without sketches. With `texts_only`, it stores numbers as texts.
    pub(crate) fn new(resources: SortResources, texts_only: bool) -> Self {
        RecordSorter {
            sketch_len: 0,
            resources,
            batch: RecordBatch::default(),
            scratch: Scratch::default(),
            runs: <[Levels; 3]>::default(),
            largest_number: 0,
            any_text: texts_only,
            any_id: false,
            count: 0,
        }
    }

    pub(crate) fn push_bare(&mut self, key: u64) -> Result<()> {
        self.batch.push_bare(key);
        self.after(1)
    }

    /// Takes a record with a valid id.
    pub(crate) fn push(&mut self, key: u64, id: IdRef<'_>) -> Result<()> {
        match id {
            IdRef::U64(number) if self.any_text => self.batch.push_text(key, &number.to_string()),
            id => self.batch.push(key, id),
        }
        self.after(1)
    }

    /// Takes a record with a valid id and its sketch. In a sorter without sketches, `sketch` is
    /// empty.
    pub(crate) fn push_sketched(&mut self, key: u64, id: IdRef<'_>, sketch: &[u8]) -> Result<()> {
        debug_assert_eq!(sketch.len(), self.sketch_len as usize);
        if sketch.is_empty() {
            return self.push(key, id);
        }
        self.batch.push_sketched(key, id, sketch);
        self.after(1)
    }

    /// Takes all records of a batch. Their sketches must have the length set for this sorter.
    pub(crate) fn push_batch(&mut self, batch: &RecordBatch) -> Result<()> {
        // If the records of both batches do not fit in memory, write those of this sorter to a run.
        if self.batch.sorting_len() + batch.sorting_len() > self.resources.memory {
            self.spill()?;
        }
        self.batch.append(batch, self.any_text);
        self.after(batch.count())
    }

    fn after(&mut self, count: u64) -> Result<()> {
        self.count += count;
        self.any_text |= self.batch.any_text;
        if self.batch.sorting_len() > self.resources.memory { self.spill() } else { Ok(()) }
    }

    /// The number of records taken so far.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Writes the records in memory to runs.
    fn spill(&mut self) -> Result<()> {
        self.note_ids();
        self.batch.sort(&mut self.scratch, self.resources.threads);
        for (input, runs) in self.batch.whole().inputs().into_iter().zip(&mut self.runs) {
            runs.write(input, &self.resources)?;
        }
        self.batch.clear();
        Ok(())
    }

    fn note_ids(&mut self) {
        self.any_id |= !(self.batch.numbers.is_empty() && self.batch.texts.is_empty());
        self.largest_number = self.largest_number.max(self.batch.largest_number);
    }

    /// Sorts all records. If the memory is too small for the records together with the work after
    /// the sort, all records are written to temporary files.
    pub(crate) fn finish(mut self) -> Result<SortedRecords> {
        self.note_ids();
        let spilled = !self.runs.iter().all(Levels::is_empty);
        // The work after the sort needs 32 bytes per record: the distinct keys, a table, and the
        // next table while it is sorted.
        let needed = self.batch.memory_len() + 32 * self.count;
        if spilled || needed > self.resources.memory {
            self.spill()?;
            self.batch = RecordBatch::default();
        } else {
            self.batch.sort(&mut self.scratch, self.resources.threads);
        }
        let ids = if !self.any_id {
            IdColumn::None
        } else if self.any_text {
            IdColumn::Texts
        } else {
            IdColumn::Numbers(self.largest_number)
        };
        Ok(SortedRecords {
            resources: self.resources,
            batch: self.batch,
            runs: self.runs,
            ids,
            count: self.count,
            sketch_len: self.sketch_len,
        })
    }
}

/// Records sorted by key.
#[derive(Debug)]
pub(crate) struct SortedRecords {
    resources: SortResources,
    batch: RecordBatch,
    /// The runs of records without ids, with numbers and with texts.
    runs: [Levels; 3],
    pub(crate) ids: IdColumn,
    pub(crate) count: u64,
    pub(crate) sketch_len: u32,
}

impl SortedRecords {
    /// Calls `each` with each record by ascending key; records of one key in input order, except
    /// that records without an id come first. Repeated records without an id may be omitted.
    pub(crate) fn pass(&self, each: impl FnMut(u64, EntryId<'_>) -> Result<()>) -> Result<()> {
        merge(self.inputs(), each)
    }

    /// All records, split into parts. Each key is in one part only.
    pub(crate) fn parts(&self) -> RecordParts<'_> {
        let is_sketched = self.sketch_len > 0;
        if self.file_len() == 0 {
            let threads = self.resources.threads;
            return RecordParts::in_memory(self.batch.whole(), threads, is_sketched);
        }
        let runs = self.runs.iter().flat_map(Levels::runs).collect();
        RecordParts::in_runs(RunRanges::new(runs, &self.resources), is_sketched)
    }

    /// The inputs of a merge of all records: either the runs or the records in memory, never both.
    fn inputs(&self) -> Vec<MergeInput<'_>> {
        if self.file_len() == 0 {
            return self.batch.whole().inputs().into();
        }
        let all = self.runs.iter().flat_map(Levels::runs).count();
        self.runs.iter().flat_map(|levels| levels.inputs(&self.resources, all)).collect()
    }

    /// Like [`SortedRecords::pass`], but calls `each` with the id and the sketch of each record.
    pub(crate) fn pass_sketched(
        &self,
        each: impl FnMut(u64, Option<(IdRef<'_>, &[u8])>) -> Result<()>,
    ) -> Result<()> {
        self.pass(with_sketches(self.sketch_len > 0, each))
    }

    /// The distinct keys. Calls `tick` with the number of records of each part after reading it. If
    /// no record has an id, the records are freed, or their memory is reused for the keys.
    pub(crate) fn distinct(
        &mut self,
        mut tick: impl FnMut(u64) -> Result<()>,
    ) -> Result<SortedValues> {
        let on_disk = self.file_len() > 0;
        if self.ids == IdColumn::None && !on_disk {
            return Ok(SortedValues::in_memory(std::mem::take(&mut self.batch.bare)));
        }
        let mut distinct =
            if on_disk { SortedWriter::on_disk(&self.resources)? } else { SortedWriter::default() };
        self.parts().in_order(
            |part| part.keys(),
            |(keys, record_count)| {
                distinct.push_all(&keys)?;
                tick(record_count)
            },
        )?;
        if self.ids == IdColumn::None {
            (self.runs, self.batch) = (<[Levels; 3]>::default(), RecordBatch::default());
        }
        distinct.finish()
    }

    /// The memory of the records in bytes.
    pub(crate) fn memory_len(&self) -> u64 {
        self.batch.memory_len()
    }

    /// The length of the temporary files in bytes.
    pub(crate) fn file_len(&self) -> u64 {
        self.runs.iter().map(Levels::file_len).sum()
    }
}
