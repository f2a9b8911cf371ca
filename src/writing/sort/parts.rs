//! Sorted records, split into parts that threads read independently. Each key is in one part only.

use crate::base::error::Result;
use crate::base::in_order::in_order;
use crate::writing::sort::memory_part::MemoryPart;
use crate::writing::sort::merge::{EntryId, merge};
use crate::writing::sort::ranges::{KeyRange, RunRanges};
use fpstore_base::IdRef;

/// All records, in memory or in runs, split into parts.
pub(crate) struct RecordParts<'a> {
    source: Source<'a>,
    threads: usize,
    /// Whether each text consists of an id and its sketch.
    is_sketched: bool,
}

enum Source<'a> {
    Memory(MemoryPart<'a>),
    Runs(RunRanges<'a>),
}

/// All records of a range of keys.
pub(crate) struct RecordPart<'a> {
    part: Part<'a>,
    is_sketched: bool,
}

enum Part<'a> {
    Memory(MemoryPart<'a>),
    Runs(&'a RunRanges<'a>, KeyRange),
}

impl<'a> RecordParts<'a> {
    pub(super) fn in_memory(whole: MemoryPart<'a>, threads: usize, is_sketched: bool) -> Self {
        RecordParts { source: Source::Memory(whole), threads, is_sketched }
    }

    pub(super) fn in_runs(runs: RunRanges<'a>, is_sketched: bool) -> Self {
        RecordParts { threads: runs.threads, source: Source::Runs(runs), is_sketched }
    }

    /// Calls `work` with every part, on threads, and `each` with the results, in the order of the
    /// keys. At most four parts per thread are in memory.
    pub(crate) fn in_order<'p, R: Send>(
        &'p self,
        work: impl Fn(RecordPart<'p>) -> Result<R> + Sync,
        each: impl FnMut(R) -> Result<()>,
    ) -> Result<()> {
        let source = |give: &mut dyn FnMut(RecordPart<'p>) -> Result<()>| {
            let mut give = |part| give(RecordPart { part, is_sketched: self.is_sketched });
            match &self.source {
                Source::Memory(whole) => {
                    whole.split().try_for_each(|part| give(Part::Memory(part)))
                }
                Source::Runs(runs) => {
                    runs.ranges().into_iter().try_for_each(|range| give(Part::Runs(runs, range)))
                }
            }
        };
        in_order(self.threads, || &work, source, each)
    }
}

impl RecordPart<'_> {
    /// Whether a single key has more records than a normal part, so that the part has hardly any
    /// other keys.
    pub(crate) fn is_long(&self) -> bool {
        match &self.part {
            Part::Memory(part) => part.is_long(),
            Part::Runs(runs, range) => runs.is_long(range),
        }
    }

    /// The distinct keys, ascending, and the number of records.
    pub(super) fn keys(&self) -> Result<(Vec<u64>, u64)> {
        match &self.part {
            Part::Memory(part) => Ok((part.keys(), part.count() as u64)),
            Part::Runs(runs, range) => runs.keys(range),
        }
    }

    /// Like [`SortedRecords::pass_sketched`](super::SortedRecords::pass_sketched), for this part
    /// only.
    pub(crate) fn pass_sketched(
        &self,
        each: impl FnMut(u64, Option<(IdRef<'_>, &[u8])>) -> Result<()>,
    ) -> Result<()> {
        let inputs = match &self.part {
            Part::Memory(part) => part.inputs().into(),
            Part::Runs(runs, range) => runs.inputs(range),
        };
        merge(inputs, with_sketches(self.is_sketched, each))
    }
}

/// A callback of [`merge`] that calls `each` with the key, id and sketch of each entry.
pub(super) fn with_sketches(
    is_sketched: bool,
    mut each: impl FnMut(u64, Option<(IdRef<'_>, &[u8])>) -> Result<()>,
) -> impl FnMut(u64, EntryId<'_>) -> Result<()> {
    move |key, id| match is_sketched {
        true => each(key, id.get_sketched()),
        false => each(key, id.get().map(|id| (id, &[][..]))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::budget::MEMORY_MIN;
    use crate::writing::sort::{RecordBatch, RecordSorter, SortResources};
    use fpstore_disk::ScratchFolder;
    use proptest::prelude::*;

    type Entries = Vec<(u64, Option<String>)>;

    fn note(entries: &mut Entries, key: u64, id: Option<(IdRef<'_>, &[u8])>) {
        entries.push((key, id.map(|(id, _)| id.to_string())));
    }

    /// The ids of one key keep their order, whichever batches contain numbers and texts.
    #[test]
    fn numbers_of_a_batch_after_texts_stay_behind_them() {
        let ids = [IdRef::Text("b"), IdRef::U64(7), IdRef::Text("a"), IdRef::U64(3)];
        for len in 1..=ids.len() {
            let folder = tempfile::tempdir().unwrap();
            let folder = ScratchFolder::new(folder.path().into());
            let resources = SortResources { memory: 1 << 20, threads: 1, folder };
            let mut sorter = RecordSorter::new(resources, false);
            for some in ids.chunks(len) {
                let mut batch = RecordBatch::default();
                some.iter().for_each(|id| batch.push(9, *id));
                sorter.push_batch(&batch).unwrap();
            }
            let mut found = Vec::new();
            let each = |_, id: Option<(IdRef<'_>, &[u8])>| {
                found.extend(id.map(|(id, _)| id.to_string()));
                Ok(())
            };
            sorter.finish().unwrap().pass_sketched(each).unwrap();
            assert_eq!(found, ["b", "7", "a", "3"], "batches of {len}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn parts_together_are_the_records_in_order(
            keys in prop::collection::vec(
                prop_oneof![0..20_u64, any::<u64>(), Just(7), Just(u64::MAX)],
                0..6000,
            ),
            memory in prop_oneof![Just(MEMORY_MIN), Just(1 << 30)],
            threads in 1..4_usize,
            texts: bool,
        ) {
            let folder = tempfile::tempdir().unwrap();
            let folder = ScratchFolder::new(folder.path().into());
            let mut sorter = RecordSorter::new(SortResources { memory, threads, folder }, texts);
            for (number, &key) in (0_u64..).zip(&keys) {
                match number % 5 {
                    0 => sorter.push_bare(key).unwrap(),
                    1 if texts => sorter.push(key, IdRef::Text(&format!("text {number}"))).unwrap(),
                    _ => sorter.push(key, IdRef::U64(number)).unwrap(),
                }
            }
            let records = sorter.finish().unwrap();
            prop_assert!(records.file_len() > 0 || memory > MEMORY_MIN || keys.len() < 2000);
            let mut expected = Vec::new();
            records
                .pass_sketched(|key, id| {
                    note(&mut expected, key, id);
                    Ok(())
                })
                .unwrap();
            let (mut found, mut distinct, mut part_count) = (Vec::new(), Vec::new(), 0);
            let work = |part: RecordPart<'_>| {
                let mut entries = Vec::new();
                part.pass_sketched(|key, id| {
                    note(&mut entries, key, id);
                    Ok(())
                })?;
                let (keys, count) = part.keys()?;
                assert_eq!(count, entries.len() as u64);
                Ok((entries, keys))
            };
            let parts = records.parts();
            parts
                .in_order(work, |(entries, keys)| {
                    found.extend(entries);
                    distinct.extend(keys);
                    part_count += 1;
                    Ok(())
                })
                .unwrap();
            prop_assert!(found == expected);
            let mut keys = keys;
            keys.sort_unstable();
            keys.dedup();
            prop_assert!(distinct == keys);
            prop_assert!(part_count > 3 || keys.len() < 3000, "{} parts", part_count);
        }
    }
}
