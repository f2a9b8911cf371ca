//! Sorting records: fingerprints with ids, of which more may come than fit into memory.

use crate::error::Result;
use crate::id::IdRef;
use crate::sort::Resources;
use crate::sort::merge::{Arena, EntryId, Source, merge};
use crate::sort::partition;
use crate::sort::run::RunWriter;
use crate::sort::values::{Keeper, Levels, SortedValues, write_source};

/// Records in the order in which they came, columns by the kind of id.
///
/// Numbers come before texts: from the first text on, ids that are numbers are kept as
/// texts, too, so that the order of the ids of one key is never lost.
#[derive(Debug, Default)]
pub(crate) struct RecordBatch {
    bare: Vec<u64>,
    numbers: Vec<(u64, u64)>,
    texts: Vec<(u64, u64)>,
    arena: Arena,
    largest_number: u64,
}

/// The ids of sorted records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdColumn {
    None,
    /// Numbers, and the largest of them.
    Numbers(u64),
    /// Texts, some of which may come as the numbers that they spell.
    Texts,
}

impl RecordBatch {
    pub(crate) fn push_bare(&mut self, key: u64) {
        self.bare.push(key);
    }

    /// Takes a record with an id that can be stored.
    pub(crate) fn push(&mut self, key: u64, id: IdRef<'_>) {
        match id {
            IdRef::U64(number) if self.texts.is_empty() => {
                self.largest_number = self.largest_number.max(number);
                self.numbers.push((key, number));
            }
            IdRef::U64(number) => self.push_text(key, &number.to_string()),
            IdRef::Text(text) => self.push_text(key, text),
        }
    }

    fn push_text(&mut self, key: u64, text: &str) {
        let place = self.arena.push(text.as_bytes());
        self.texts.push((key, place));
    }

    /// Takes all records of another batch, its numbers as texts if texts came before.
    fn append(&mut self, other: &RecordBatch, after_texts: bool) {
        self.bare.extend_from_slice(&other.bare);
        if !after_texts {
            self.numbers.extend_from_slice(&other.numbers);
            self.largest_number = self.largest_number.max(other.largest_number);
        } else {
            for &(key, number) in &other.numbers {
                self.push_text(key, &number.to_string());
            }
        }
        let base = self.arena.append(&other.arena);
        self.texts.extend(other.texts.iter().map(|&(key, place)| (key, base + place)));
    }

    /// The keys of all records.
    pub(crate) fn keys(&self) -> impl Iterator<Item = u64> {
        let with_ids = self.numbers.iter().chain(&self.texts).map(|entry| entry.0);
        self.bare.iter().copied().chain(with_ids)
    }

    pub(crate) fn count(&self) -> u64 {
        (self.bare.len() + self.numbers.len() + self.texts.len()) as u64
    }

    fn memory_len(&self) -> u64 {
        let entries = 8 * self.bare.len() + 16 * (self.numbers.len() + self.texts.len());
        (entries + self.arena.len()) as u64
    }

    /// Bytes of memory while the batch is sorted: entries are scattered to a second place, and
    /// a large part of equal leading bits takes half of that again.
    fn sorting_len(&self) -> u64 {
        let pairs = self.numbers.len() + self.texts.len();
        self.memory_len() + (8 * self.bare.len()).max(24 * pairs) as u64
    }

    fn sort(&mut self, spare: &mut Spare, threads: usize) {
        partition::sort(&mut self.numbers, &mut spare.pairs, threads);
        partition::sort(&mut self.texts, &mut spare.pairs, threads);
        partition::sort(&mut self.bare, &mut spare.keys, threads);
        self.bare.dedup();
    }

    /// Forgets all records, but not the memory they took.
    fn clear(&mut self) {
        self.bare.clear();
        self.numbers.clear();
        self.texts.clear();
        self.arena.clear();
        self.largest_number = 0;
    }

    /// The sources in the order in which their ids came.
    fn sources(&self) -> [Source<'_>; 3] {
        [
            Source::Keys(&self.bare),
            Source::Numbers(&self.numbers),
            Source::Texts(&self.texts, &self.arena),
        ]
    }
}

/// Memory to sort in, kept from run to run: what is given back and asked for again leaves holes.
#[derive(Debug, Default)]
struct Spare {
    pairs: Vec<(u64, u64)>,
    keys: Vec<u64>,
}

/// Sorts records by key; the ids of one key stay in the order in which they came.
#[derive(Debug)]
pub(crate) struct RecordSorter {
    resources: Resources,
    batch: RecordBatch,
    spare: Spare,
    bare: Levels,
    numbers: Levels,
    texts: Levels,
    largest_number: u64,
    any_text: bool,
    any_id: bool,
    count: u64,
}

impl RecordSorter {
    /// A sorter; with `texts_only` numbers are kept as the texts that spell them.
    pub(crate) fn new(resources: Resources, texts_only: bool) -> Self {
        RecordSorter {
            resources,
            batch: RecordBatch::default(),
            spare: Spare::default(),
            bare: Levels::default(),
            numbers: Levels::default(),
            texts: Levels::default(),
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

    /// Takes a record with an id that can be stored.
    pub(crate) fn push(&mut self, key: u64, id: IdRef<'_>) -> Result<()> {
        match id {
            IdRef::U64(number) if self.any_text => self.batch.push_text(key, &number.to_string()),
            id => self.batch.push(key, id),
        }
        self.after(1)
    }

    /// Takes all records of a batch.
    pub(crate) fn push_batch(&mut self, batch: &RecordBatch) -> Result<()> {
        // What is there goes to a run first if both do not fit.
        if self.batch.sorting_len() + batch.sorting_len() > self.resources.memory {
            self.spill()?;
        }
        self.batch.append(batch, self.any_text);
        self.after(batch.count())
    }

    fn after(&mut self, count: u64) -> Result<()> {
        self.count += count;
        self.any_text |= !self.batch.texts.is_empty();
        if self.batch.sorting_len() > self.resources.memory { self.spill() } else { Ok(()) }
    }

    /// Records taken so far.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Writes what is in memory to runs.
    fn spill(&mut self) -> Result<()> {
        self.note_ids();
        self.batch.sort(&mut self.spare, self.resources.threads);
        let [bare, numbers, texts] = self.batch.sources();
        for (source, runs, any) in [
            (bare, &mut self.bare, !self.batch.bare.is_empty()),
            (numbers, &mut self.numbers, !self.batch.numbers.is_empty()),
            (texts, &mut self.texts, !self.batch.texts.is_empty()),
        ] {
            if any {
                let mut writer = RunWriter::create(&self.resources)?;
                write_source(source, &mut writer)?;
                runs.push(writer.finish()?, &self.resources)?;
            }
        }
        self.batch.clear();
        Ok(())
    }

    fn note_ids(&mut self) {
        self.any_id |= !(self.batch.numbers.is_empty() && self.batch.texts.is_empty());
        self.largest_number = self.largest_number.max(self.batch.largest_number);
    }

    /// Sorts what has come. If the rest of the work on it would not fit into memory beside the
    /// records, they all go to temporary files.
    pub(crate) fn finish(mut self) -> Result<SortedRecords> {
        self.note_ids();
        let spilled = !(self.bare.is_empty() && self.numbers.is_empty() && self.texts.is_empty());
        // The distinct keys, a table, and the next being sorted: 32 bytes for each record.
        let needed = self.batch.memory_len() + 32 * self.count;
        if spilled || needed > self.resources.memory {
            self.spill()?;
            self.batch = RecordBatch::default();
        } else {
            self.batch.sort(&mut self.spare, self.resources.threads);
        }
        let ids = match () {
            () if !self.any_id => IdColumn::None,
            () if self.any_text => IdColumn::Texts,
            () => IdColumn::Numbers(self.largest_number),
        };
        Ok(SortedRecords {
            resources: self.resources,
            batch: self.batch,
            bare: self.bare,
            numbers: self.numbers,
            texts: self.texts,
            ids,
            count: self.count,
        })
    }
}

/// Records sorted by key.
#[derive(Debug)]
pub(crate) struct SortedRecords {
    resources: Resources,
    batch: RecordBatch,
    bare: Levels,
    numbers: Levels,
    texts: Levels,
    pub(crate) ids: IdColumn,
    pub(crate) count: u64,
}

impl SortedRecords {
    /// Hands all records to `each` by ascending key, those of one key in the order they came in,
    /// except that bare ones come first. Bare ones may be fewer than came.
    pub(crate) fn pass(&self, each: impl FnMut(u64, EntryId<'_>) -> Result<()>) -> Result<()> {
        let all = self.bare.count() + self.numbers.count() + self.texts.count();
        let [bare, numbers, texts] = self.batch.sources();
        let mut sources = self.bare.sources(&self.resources, all);
        sources.push(bare);
        sources.extend(self.numbers.sources(&self.resources, all));
        sources.push(numbers);
        sources.extend(self.texts.sources(&self.resources, all));
        sources.push(texts);
        merge(sources, each)
    }

    /// The distinct keys. Without ids the records are no longer needed then, so they become
    /// the keys where they lie.
    pub(crate) fn distinct(
        &mut self,
        mut tick: impl FnMut(u64) -> Result<()>,
    ) -> Result<SortedValues> {
        let on_disk = self.file_len() > 0;
        if self.ids == IdColumn::None && !on_disk {
            return Ok(SortedValues::in_memory(std::mem::take(&mut self.batch.bare)));
        }
        let mut keeper = match on_disk {
            true => Keeper::on_disk(&self.resources)?,
            false => Keeper::in_memory(),
        };
        let mut before = None;
        self.pass(|key, _| {
            if before != Some(key) {
                before = Some(key);
                keeper.push(key)?;
            }
            tick(1)
        })?;
        if self.ids == IdColumn::None {
            (self.bare, self.batch) = (Levels::default(), RecordBatch::default());
        }
        keeper.finish()
    }

    /// Bytes of memory held.
    pub(crate) fn memory_len(&self) -> u64 {
        self.batch.memory_len()
    }

    /// Bytes of temporary files held.
    pub(crate) fn file_len(&self) -> u64 {
        self.bare.file_len() + self.numbers.file_len() + self.texts.file_len()
    }
}
