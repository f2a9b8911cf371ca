//! Writing the segment: the distinct values permuted, sorted and encoded table by table, then
//! the ids in the order of the first table.

use super::SegmentFile;
use super::report::Clock;
use super::shape;
use crate::bits::permutation::Permutation;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::format::header::TableDescriptor;
use crate::format::id_records::{IdLayout, id_len_for};
use crate::id::IdKind;
use crate::recipe::Recipe;
use crate::scheme::Scheme;
use crate::segment::write::{SegmentSpec, SegmentWriter};
use crate::sort::{IdColumn, RecordSorter, Resources, SortedRecords, SortedValues, ValueSorter};
use crate::watch::{Phase, Watch};

/// What the segment is made from.
pub(super) struct Contents<'a> {
    pub(super) recipe: &'a Recipe,
    pub(super) scheme: &'a Scheme,
    pub(super) resources: &'a Resources,
    pub(super) records: &'a SortedRecords,
    /// The distinct fingerprints in natural order.
    pub(super) distinct: &'a SortedValues,
}

type Writer<'a> = SegmentWriter<&'a mut SegmentFile>;

impl Contents<'_> {
    /// Writes the whole segment.
    pub(super) fn write(
        &self,
        file: &mut SegmentFile,
        clock: &mut Clock,
        watch: &Watch,
    ) -> Result<()> {
        let scheme = self.scheme;
        let path = file.path().to_path_buf();
        let spec = SegmentSpec {
            fingerprint_count: self.distinct.count,
            table_count: scheme.masks().len(),
            tuned_k: scheme.tuned_k(),
            ids: self.id_layout(),
            recipe: self.recipe.clone(),
            scratch: self.resources.folder.clone(),
        };
        let mut writer = SegmentWriter::new(file, &path, spec)?;
        let sorted = scheme.masks().iter().filter(|&&mask| !Permutation::new(mask).is_identity());
        let passes = (scheme.masks().len() + sorted.count()) as u64;
        let steps = self.distinct.count * passes;
        self.tables(&mut writer, &watch.next(Phase::Tables, Some(steps)))?;
        clock.ended(Phase::Tables);
        if self.records.ids != IdColumn::None {
            self.ids(&mut writer, &watch.next(Phase::Ids, Some(self.records.count)))?;
            clock.ended(Phase::Ids);
        }
        writer.finish()
    }

    fn id_layout(&self) -> IdLayout {
        match self.records.ids {
            IdColumn::None => IdLayout { kind: IdKind::None, id_len: 0 },
            IdColumn::Numbers(largest) => {
                IdLayout { kind: IdKind::U64, id_len: id_len_for(largest) }
            }
            IdColumn::Texts => IdLayout { kind: IdKind::Text, id_len: 0 },
        }
    }

    /// Writes all tables; while one is encoded the next is sorted.
    fn tables(&self, writer: &mut Writer<'_>, watch: &Watch) -> Result<()> {
        let masks = self.scheme.masks();
        let mut prepared = masks.first().map(|&mask| self.prepare(mask, 0, watch)).transpose()?;
        for (number, &mask) in masks.iter().enumerate() {
            let own = prepared.take().flatten();
            let values = own.as_ref().unwrap_or(self.distinct);
            let held = own.as_ref().map_or(0, SortedValues::memory_len);
            let next = masks.get(number + 1).copied();
            let prepare = || next.map(|mask| self.prepare(mask, held, watch)).transpose();
            if self.resources.threads == 1 {
                encode(writer, mask, values, watch)?;
                prepared = prepare()?;
                continue;
            }
            prepared = std::thread::scope(|scope| {
                let preparing = scope.spawn(prepare);
                let encoded = encode(writer, mask, values, watch);
                let prepared = preparing.join().expect("sorting does not panic");
                encoded.and(prepared)
            })?;
        }
        Ok(())
    }

    /// The values of a table in its order, or none where that is the natural one.
    fn prepare(&self, mask: u64, held: u64, watch: &Watch) -> Result<Option<SortedValues>> {
        let permutation = Permutation::new(mask);
        if permutation.is_identity() {
            return Ok(None);
        }
        let held = held + self.records.memory_len() + self.distinct.memory_len();
        let mut sorter = ValueSorter::new(self.resources.beside(held));
        self.distinct.pass(|values| {
            let permuted = values.iter().map(|&v| permutation.apply(Fingerprint::new(v)).0);
            sorter.push_all(permuted)?;
            watch.tick(values.len() as u64)
        })?;
        sorter.finish().map(Some)
    }

    /// Writes the ids of each fingerprint, in the order of the first table.
    fn ids(&self, writer: &mut Writer<'_>, watch: &Watch) -> Result<()> {
        let first = Permutation::new(self.scheme.masks().first().copied().unwrap_or(0));
        if first.is_identity() {
            return lists(writer, self.records, watch);
        }
        let held = self.records.memory_len() + self.distinct.memory_len();
        let texts_only = self.records.ids == IdColumn::Texts;
        let mut sorter = RecordSorter::new(self.resources.beside(held), texts_only);
        self.records.pass(|key, id| {
            let key = first.apply(Fingerprint::new(key)).0;
            match id.get() {
                Some(id) => sorter.push(key, id),
                None => sorter.push_bare(key),
            }
        })?;
        lists(writer, &sorter.finish()?, watch)
    }
}

fn encode(writer: &mut Writer<'_>, mask: u64, values: &SortedValues, watch: &Watch) -> Result<()> {
    let (tail_bits, block_bits) = shape::choose(values.count, &values.gaps_of_bits);
    let descriptor = TableDescriptor { mask, tail_bits, block_bits };
    writer.table(descriptor, |take| {
        values.pass(|values| {
            take(values)?;
            watch.tick(values.len() as u64)
        })
    })
}

/// Writes one list of ids for each key of the records.
fn lists(writer: &mut Writer<'_>, records: &SortedRecords, watch: &Watch) -> Result<()> {
    writer.ids(|sections| {
        let mut open = None;
        records.pass(|key, id| {
            if open.is_some_and(|open| open != key) {
                sections.close()?;
            }
            open = Some(key);
            id.get().map_or(Ok(()), |id| sections.push(id))?;
            watch.tick(1)
        })?;
        if open.is_some() { sections.close() } else { Ok(()) }
    })
}
