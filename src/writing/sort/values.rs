//! Sorting distinct values, and storing sorted values for repeated passes.
//!
//! Values are sorted and deduplicated in memory if they fit, else in runs on disk. Output: the
//! ascending distinct values, and the number of gaps of each bit length, to choose the layout of a
//! table.

use crate::base::error::Result;
use crate::base::side_by_side::on_threads;
use crate::writing::sort::block::{BLOCK_COUNT, RunBlock};
use crate::writing::sort::levels::Levels;
use crate::writing::sort::merge::MergeInput;
use crate::writing::sort::parts::RecordParts;
use crate::writing::sort::ranges::RunRanges;
use crate::writing::sort::run::{RunWriter, SortedRun};
use crate::writing::sort::{SortResources, partition};

/// The number of bytes that a pass over a run reads at a time.
const READ_LEN: usize = 1 << 20;

/// Distinct values in ascending order, with statistics of their gaps.
#[derive(Debug)]
pub(crate) struct SortedValues {
    storage: Storage,
    pub(crate) count: u64,
    /// For each number of significant bits from 0 to 64: how many gaps between neighbouring values
    /// have that number of bits. The first value counts as a gap from 0.
    pub(crate) gaps_of_bits: [u64; 65],
}

#[derive(Debug)]
enum Storage {
    Memory(Vec<u64>),
    Disk(SortedRun),
}

impl SortedValues {
    /// The values of a vector, which must be sorted and distinct.
    pub(crate) fn in_memory(values: Vec<u64>) -> Self {
        let mut gaps = GapCounter::default();
        gaps.add(&values);
        SortedValues {
            count: values.len() as u64,
            storage: Storage::Memory(values),
            gaps_of_bits: gaps.of_bits,
        }
    }

    /// All values, or `None` if they are on disk.
    pub(crate) fn whole(&self) -> Option<&[u64]> {
        match &self.storage {
            Storage::Memory(values) => Some(values),
            Storage::Disk(_) => None,
        }
    }

    /// The memory of the values in bytes.
    pub(crate) fn memory_len(&self) -> u64 {
        8 * self.whole().map_or(0, <[u64]>::len) as u64
    }

    /// Calls `each` with the values in ascending chunks.
    pub(crate) fn pass<E: From<crate::base::error::Error>>(
        &self,
        mut each: impl FnMut(&[u64]) -> Result<(), E>,
    ) -> Result<(), E> {
        match &self.storage {
            Storage::Memory(values) => values.chunks(PASS_COUNT).try_for_each(each),
            Storage::Disk(run) => {
                let mut reader = run.reader(READ_LEN);
                let mut block = RunBlock::default();
                while reader.next_block(&mut block)? {
                    each(&block.keys)?;
                }
                Ok(())
            }
        }
    }
}

/// The number of values that a thread maps at a time.
const MAPPED_COUNT: usize = 1 << 16;
/// The number of values per call in a pass over values in memory.
const PASS_COUNT: usize = 4096;

/// Counts gaps by their significant bits.
#[derive(Debug)]
struct GapCounter {
    of_bits: [u64; 65],
    before: u64,
}

impl Default for GapCounter {
    fn default() -> Self {
        GapCounter { of_bits: [0; 65], before: 0 }
    }
}

impl GapCounter {
    fn add(&mut self, values: &[u64]) {
        let (Some(&first), Some(&last)) = (values.first(), values.last()) else { return };
        let bits_of = |gap: u64| 64 - gap.leading_zeros() as usize;
        self.of_bits[bits_of(first - self.before)] += 1;
        self.before = last;
        // Most gaps have as many bits as the preceding gap. Using several counters in turn avoids a
        // dependency between consecutive additions.
        let mut counts = [[0; 65]; 4];
        for (at, pair) in values.array_windows().enumerate() {
            let [before, value]: [u64; 2] = *pair;
            counts[at % 4][bits_of(value - before)] += 1;
        }
        for counts in counts {
            self.of_bits.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
    }
}

/// Takes distinct values in ascending order and stores them in memory or in a run.
#[derive(Debug, Default)]
pub(super) struct SortedWriter {
    memory: Vec<u64>,
    /// The run, and its last block; `None` if the values are stored in memory.
    run: Option<(RunWriter, RunBlock)>,
    gaps: GapCounter,
    count: u64,
}

impl SortedWriter {
    pub(super) fn on_disk(resources: &SortResources) -> Result<Self> {
        let run = Some((RunWriter::create(resources)?, RunBlock::default()));
        Ok(SortedWriter { run, ..SortedWriter::default() })
    }

    pub(super) fn push_all(&mut self, mut values: &[u64]) -> Result<()> {
        self.count += values.len() as u64;
        let Some((writer, block)) = &mut self.run else {
            self.memory.extend_from_slice(values);
            return Ok(());
        };
        while !values.is_empty() {
            let (taken, rest) = values.split_at(values.len().min(BLOCK_COUNT - block.keys.len()));
            block.keys.extend_from_slice(taken);
            values = rest;
            if block.is_full() {
                self.gaps.add(&block.keys);
                writer.push(block)?;
                block.clear();
            }
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<SortedValues> {
        let Some((mut writer, block)) = self.run else {
            return Ok(SortedValues::in_memory(self.memory));
        };
        self.gaps.add(&block.keys);
        if !block.keys.is_empty() {
            writer.push(&block)?;
        }
        let storage = Storage::Disk(writer.finish()?);
        Ok(SortedValues { storage, count: self.count, gaps_of_bits: self.gaps.of_bits })
    }
}

/// Sorts distinct values that are pushed in any order.
#[derive(Debug)]
pub(crate) struct ValueSorter {
    resources: SortResources,
    values: Vec<u64>,
    scratch: Vec<u64>,
    runs: Levels,
    /// The maximum number of values in memory. Beyond it, the values in memory are written to a
    /// run.
    count_max: usize,
}

impl ValueSorter {
    pub(crate) fn new(resources: SortResources) -> Self {
        // Eight bytes per value, and eight bytes of scratch memory to sort it.
        let count_max = usize::try_from(resources.memory / 16).unwrap_or(usize::MAX).max(1);
        ValueSorter {
            resources,
            values: Vec::new(),
            scratch: Vec::new(),
            runs: Levels::default(),
            count_max,
        }
    }

    /// Takes values. If memory is full, first writes the values in memory to a run.
    pub(crate) fn push_all(&mut self, values: impl ExactSizeIterator<Item = u64>) -> Result<()> {
        if self.values.len() + values.len() > self.count_max {
            self.spill()?;
        }
        self.values.extend(values);
        Ok(())
    }

    /// Maps all values on threads and takes the results. Returns `false`, and takes no value, if
    /// they do not fit in memory.
    pub(crate) fn push_mapped(&mut self, values: &[u64], map: impl Fn(u64) -> u64 + Sync) -> bool {
        let before = self.values.len();
        if before + values.len() > self.count_max {
            return false;
        }
        let threads = self.resources.threads;
        if before > 0 || threads < 2 {
            self.values.extend(values.iter().map(|&value| map(value)));
            return true;
        }
        self.values = vec![0; values.len()];
        let jobs = self.values.chunks_mut(MAPPED_COUNT).zip(values.chunks(MAPPED_COUNT));
        on_threads(threads, jobs, |(to, from)| {
            to.iter_mut().zip(from).for_each(|(to, &from)| *to = map(from));
        });
        true
    }

    fn spill(&mut self) -> Result<()> {
        partition::sort(&mut self.values, &mut self.scratch, self.resources.threads);
        self.runs.write(MergeInput::Keys(&self.values), &self.resources)?;
        self.values.clear();
        Ok(())
    }

    /// Sorts the values and returns them.
    pub(crate) fn finish(mut self) -> Result<SortedValues> {
        if self.runs.is_empty() {
            partition::sort(&mut self.values, &mut self.scratch, self.resources.threads);
            return Ok(SortedValues::in_memory(self.values));
        }
        self.spill()?;
        (self.values, self.scratch) = (Vec::new(), Vec::new());
        let mut sorted = SortedWriter::on_disk(&self.resources)?;
        let runs = RunRanges::new(self.runs.runs().collect(), &self.resources);
        RecordParts::in_runs(runs, false)
            .in_order(|part| part.keys(), |(values, _)| sorted.push_all(&values))?;
        sorted.finish()
    }
}
