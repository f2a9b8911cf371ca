//! The segment build: turns sorted records into one segment file, and reports on it.
//!
//! The distinct values are permuted, sorted and encoded table by table; the ids follow in the order
//! of the first table. The same records give the same bytes, whatever the memory and threads.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::base::error::{Error, Result};
use crate::bytes::permutation::Permutation;
use crate::format::descriptor::{TableDescriptor, TableMask};
use crate::format::id_records::{IdLayout, id_len_for};
use crate::plan::cut::Cut;
use crate::scheme::Scheme;
use crate::segment::write::{SegmentSpec, SegmentWriter};
use crate::writing::builder::segment_ids::write_lists;
use crate::writing::directory::{SegmentFile, UncommittedSegment};
use crate::writing::sort::{
    IdColumn, RecordSorter, SortResources, SortedRecords, SortedValues, ValueSorter,
};
use fpstore_base::watch::{Phase, Watch};
use fpstore_base::{Fingerprint, IdKind, Recipe};

/// Sorted records and the scheme of their future tables.
#[derive(Debug)]
pub(crate) struct SegmentBuild {
    pub(super) resources: SortResources,
    /// The number of records, repeated fingerprints included.
    pub(super) record_count: u64,
    pub(super) records: SortedRecords,
    /// The distinct fingerprints in ascending order, not permuted.
    pub(super) distinct: SortedValues,
    pub(super) scheme: Scheme,
    pub(super) watch: Watch,
    pub(super) timer: PhaseTimer,
}

type Writer<'a> = SegmentWriter<&'a mut SegmentFile>;

impl SegmentBuild {
    /// Writes the whole segment to `file`, makes it durable, and gives it a label.
    pub(crate) fn write(
        &mut self,
        mut file: SegmentFile,
        recipe: &Recipe,
        label: &str,
    ) -> Result<UncommittedSegment> {
        let directory = file.directory().to_path_buf();
        let masks = self.scheme.masks();
        let spec = SegmentSpec {
            fingerprint_count: self.distinct.count,
            table_count: masks.len(),
            tuned_k: self.scheme.tuned_k(),
            ids: self.id_layout(),
            recipe: recipe.clone(),
            scratch: self.resources.folder.clone(),
            threads: self.resources.threads,
        };
        let mut writer = SegmentWriter::new(&mut file, &directory, spec)?;
        let sorted = masks.iter().filter(|&&mask| !Permutation::new(mask).is_identity());
        let passes = (masks.len() + sorted.count()) as u64;
        let total = self.distinct.count * passes;
        self.tables(&mut writer, &self.watch.next(Phase::Tables, Some(total)))?;
        self.timer.end(Phase::Tables);
        if self.records.ids != IdColumn::None {
            self.ids(&mut writer, &self.watch.next(Phase::Ids, Some(self.records.count)))?;
            self.timer.end(Phase::Ids);
        }
        writer.finish()?;
        self.watch.next(Phase::Publish, None).report()?;
        file.finish(label)
    }

    /// Ends the last phase, the publication, and returns the report.
    pub(crate) fn into_report(mut self) -> BuildReport {
        self.timer.end(Phase::Publish);
        BuildReport {
            record_count: self.record_count,
            fingerprint_count: self.distinct.count,
            temporary_len: self.resources.folder.most_held(),
            phases: self.timer.phases,
            left: Vec::new(),
        }
    }

    fn id_layout(&self) -> IdLayout {
        let sketch_len = self.records.sketch_len;
        match self.records.ids {
            IdColumn::None => IdLayout { sketch_len, ..IdLayout::NONE },
            IdColumn::Numbers(largest) => {
                IdLayout { kind: IdKind::U64, id_len: id_len_for(largest), sketch_len }
            }
            IdColumn::Texts => IdLayout { kind: IdKind::Text, id_len: 0, sketch_len },
        }
    }

    /// Writes all tables; while one table is encoded, the next one is sorted.
    fn tables(&self, writer: &mut Writer<'_>, watch: &Watch) -> Result<()> {
        let masks = self.scheme.masks();
        let mut prepared = masks.first().map(|&mask| self.prepare(mask, 0, watch)).transpose()?;
        for (number, &mask) in masks.iter().enumerate() {
            let own = prepared.take().flatten();
            let values = own.as_ref().unwrap_or(&self.distinct);
            let held = own.as_ref().map_or(0, SortedValues::memory_len);
            let bits = if number == 0 { 0 } else { self.scheme.syndrome_bits() };
            let next = masks.get(number + 1).copied();
            let prepare = || next.map(|mask| self.prepare(mask, held, watch)).transpose();
            if self.resources.threads == 1 {
                encode(writer, mask, bits, values, watch)?;
                prepared = prepare()?;
                continue;
            }
            prepared = std::thread::scope(|scope| {
                // If the system refuses a second thread, this thread sorts after encoding.
                let preparing = std::thread::Builder::new().spawn_scoped(scope, prepare).ok();
                encode(writer, mask, bits, values, watch)?;
                match preparing {
                    Some(preparing) => preparing.join().expect("sorting does not panic"),
                    None => prepare(),
                }
            })?;
        }
        Ok(())
    }

    /// The sorted values of the table of `mask`, or `None` if the mask does not permute the values.
    /// `held` is the memory in bytes in use by another table.
    fn prepare(&self, mask: u64, held: u64, watch: &Watch) -> Result<Option<SortedValues>> {
        let permutation = Permutation::new(mask);
        if permutation.is_identity() {
            return Ok(None);
        }
        let held = held + self.records.memory_len() + self.distinct.memory_len();
        let mut sorter = ValueSorter::new(self.resources.beside(held));
        let apply = |value: u64| permutation.apply(Fingerprint::new(value)).0;
        if self.distinct.whole().is_some_and(|values| sorter.push_mapped(values, apply)) {
            watch.tick(self.distinct.count)?;
        } else {
            self.distinct.pass(|values| {
                sorter.push_all(values.iter().map(|&value| apply(value)))?;
                Ok::<(), Error>(watch.tick(values.len() as u64)?)
            })?;
        }
        sorter.finish().map(Some)
    }

    /// Writes the ids of each fingerprint, in the order of the first table.
    fn ids(&self, writer: &mut Writer<'_>, watch: &Watch) -> Result<()> {
        let first = Permutation::new(self.scheme.masks().first().copied().unwrap_or(0));
        if first.is_identity() {
            return write_lists(writer, &self.records, self.id_layout(), &self.resources, watch);
        }
        let held = self.records.memory_len() + self.distinct.memory_len();
        let texts_only = self.records.ids == IdColumn::Texts;
        let resources = self.resources.beside(held);
        let sketch_len = self.records.sketch_len;
        let mut sorter = RecordSorter::with_sketches(resources, texts_only, sketch_len);
        self.records.pass_sketched(|key, id| {
            let key = first.apply(Fingerprint::new(key)).0;
            match id {
                Some((id, sketch)) => sorter.push_sketched(key, id, sketch),
                None => sorter.push_bare(key),
            }
        })?;
        write_lists(writer, &sorter.finish()?, self.id_layout(), &self.resources, watch)
    }
}

/// Writes the table of `mask` from its sorted values, with syndromes of `bits` bits if they save
/// space.
fn encode(
    writer: &mut Writer<'_>,
    mask: u64,
    bits: u32,
    values: &SortedValues,
    watch: &Watch,
) -> Result<()> {
    let Cut { tail_bits, block_bits, codec } = Cut::of_gaps(values.count, &values.gaps_of_bits);
    let mask = TableMask(mask);
    let table = TableDescriptor { mask, codec, tail_bits, block_bits, syndrome_bits: 0 };
    writer.table(table.with_syndromes(bits), |take| {
        values.pass(|values| {
            take(values)?;
            Ok(watch.tick(values.len() as u64)?)
        })
    })
}

/// The counts and times of a build.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct BuildReport {
    /// The number of records taken.
    pub record_count: u64,
    /// The number of distinct fingerprints.
    pub fingerprint_count: u64,
    /// The largest total length of temporary files at one time, in bytes.
    pub temporary_len: u64,
    /// The phases and their durations. Reading lasts from the first record to the last.
    pub phases: Vec<(Phase, Duration)>,
    /// Directories next to a new store that look like leftovers of an ended build. They are kept,
    /// because their owner or their files do not prove that a build made them.
    pub left: Vec<PathBuf>,
}

/// Measures consecutive phases.
#[derive(Debug, Default)]
pub(super) struct PhaseTimer {
    since: Option<Instant>,
    pub(super) phases: Vec<(Phase, Duration)>,
}

impl PhaseTimer {
    /// Starts the first phase, unless it has started.
    pub(super) fn start(&mut self) {
        self.since.get_or_insert_with(Instant::now);
    }

    /// Ends `phase` and starts the next one.
    pub(super) fn end(&mut self, phase: Phase) {
        let now = Instant::now();
        let since = self.since.replace(now).unwrap_or(now);
        self.phases.push((phase, now - since));
    }
}
