//! Sorting distinct values, and keeping the sorted ones for passes over them.

use crate::error::Result;
use crate::id::IdRef;
use crate::sort::Resources;
use crate::sort::block::Block;
use crate::sort::merge::{Source, merge};
use crate::sort::partition;
use crate::sort::run::{Run, RunWriter};

/// Runs of one level that are merged into one of the next.
const FAN_IN: usize = if cfg!(test) { 4 } else { 64 };
/// Bytes that a pass over one run reads at a time.
const READ_LEN: usize = 1 << 20;
/// Memory that each of many runs gets while they are merged.
const MERGE_READ_LEN_MAX: usize = 1 << 19;
const MERGE_READ_LEN_MIN: usize = 1 << 14;

/// Distinct values in ascending order, with what is worth knowing of them.
#[derive(Debug)]
pub(crate) struct SortedValues {
    place: Place,
    pub(crate) count: u64,
    /// How many gaps between neighbours have 0 to 64 significant bits; the first counts from 0.
    pub(crate) gaps_of_bits: [u64; 65],
}

#[derive(Debug)]
enum Place {
    Memory(Vec<u64>),
    Disk(Run),
}

impl SortedValues {
    /// Values that are sorted and distinct already.
    pub(crate) fn in_memory(values: Vec<u64>) -> Self {
        let mut gaps = Gaps::default();
        gaps.add(&values);
        SortedValues {
            count: values.len() as u64,
            place: Place::Memory(values),
            gaps_of_bits: gaps.of_bits,
        }
    }

    /// Bytes of memory held.
    pub(crate) fn memory_len(&self) -> u64 {
        match &self.place {
            Place::Memory(values) => 8 * values.len() as u64,
            Place::Disk(_) => 0,
        }
    }

    /// Hands the values to `each`, ascending, some at a time.
    pub(crate) fn pass<E: From<crate::error::Error>>(
        &self,
        mut each: impl FnMut(&[u64]) -> Result<(), E>,
    ) -> Result<(), E> {
        match &self.place {
            Place::Memory(values) => values.chunks(PASS_COUNT).try_for_each(each),
            Place::Disk(run) => {
                let mut reader = run.reader(READ_LEN);
                let mut block = Block::default();
                while reader.next_block(&mut block)? {
                    each(&block.keys)?;
                }
                Ok(())
            }
        }
    }
}

/// Values of one step of a pass in memory.
const PASS_COUNT: usize = 4096;

/// Counts gaps by their significant bits.
#[derive(Debug)]
struct Gaps {
    of_bits: [u64; 65],
    before: u64,
}

impl Default for Gaps {
    fn default() -> Self {
        Gaps { of_bits: [0; 65], before: 0 }
    }
}

impl Gaps {
    fn add(&mut self, values: &[u64]) {
        for &value in values {
            self.of_bits[64 - (value - self.before).leading_zeros() as usize] += 1;
            self.before = value;
        }
    }
}

/// Takes distinct values in ascending order and keeps them: in memory as long as they are told
/// to fit, else in a run.
#[derive(Debug)]
pub(super) struct Keeper {
    memory: Option<Vec<u64>>,
    run: Option<(RunWriter, Block)>,
    gaps: Gaps,
    count: u64,
}

impl Keeper {
    pub(super) fn in_memory() -> Self {
        Keeper { memory: Some(Vec::new()), run: None, gaps: Gaps::default(), count: 0 }
    }

    pub(super) fn on_disk(resources: &Resources) -> Result<Self> {
        let run = Some((RunWriter::create(resources)?, Block::default()));
        Ok(Keeper { memory: None, run, gaps: Gaps::default(), count: 0 })
    }

    pub(super) fn push(&mut self, value: u64) -> Result<()> {
        self.count += 1;
        if let Some(values) = &mut self.memory {
            values.push(value);
        } else if let Some((writer, block)) = &mut self.run {
            block.keys.push(value);
            if block.is_full() {
                self.gaps.add(&block.keys);
                writer.push(block)?;
                block.clear();
            }
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<SortedValues> {
        if let Some(values) = self.memory {
            return Ok(SortedValues::in_memory(values));
        }
        let (mut writer, block) = self.run.expect("a keeper has memory or a run");
        self.gaps.add(&block.keys);
        if !block.keys.is_empty() {
            writer.push(&block)?;
        }
        let place = Place::Disk(writer.finish()?);
        Ok(SortedValues { place, count: self.count, gaps_of_bits: self.gaps.of_bits })
    }
}

/// Sorts distinct values that come in any order.
#[derive(Debug)]
pub(crate) struct ValueSorter {
    resources: Resources,
    values: Vec<u64>,
    spare: Vec<u64>,
    runs: Levels,
    /// Values held in memory before they are written to a run.
    count_max: usize,
}

impl ValueSorter {
    pub(crate) fn new(resources: Resources) -> Self {
        // Sorting takes as much again.
        let count_max = usize::try_from(resources.memory / 16).unwrap_or(usize::MAX).max(1);
        ValueSorter {
            resources,
            values: Vec::new(),
            spare: Vec::new(),
            runs: Levels::default(),
            count_max,
        }
    }

    /// Takes values, and says so to the file system if memory is full.
    pub(crate) fn push_all(&mut self, values: impl ExactSizeIterator<Item = u64>) -> Result<()> {
        if self.values.len() + values.len() > self.count_max {
            self.spill()?;
        }
        self.values.extend(values);
        Ok(())
    }

    fn spill(&mut self) -> Result<()> {
        if self.values.is_empty() {
            return Ok(());
        }
        partition::sort(&mut self.values, &mut self.spare, self.resources.threads);
        let mut writer = RunWriter::create(&self.resources)?;
        write_source(Source::Keys(&self.values), &mut writer)?;
        self.values.clear();
        self.runs.push(writer.finish()?, &self.resources)
    }

    /// The values, sorted.
    pub(crate) fn finish(mut self) -> Result<SortedValues> {
        if self.runs.is_empty() {
            partition::sort(&mut self.values, &mut self.spare, self.resources.threads);
            return Ok(SortedValues::in_memory(self.values));
        }
        self.spill()?;
        (self.values, self.spare) = (Vec::new(), Vec::new());
        let mut keeper = Keeper::on_disk(&self.resources)?;
        merge(self.runs.sources(&self.resources, self.runs.count()), |value, _| {
            keeper.push(value)
        })?;
        keeper.finish()
    }
}

/// Writes all of a source as a run.
pub(super) fn write_source(mut source: Source<'_>, writer: &mut RunWriter) -> Result<()> {
    let mut block = Block::default();
    while source.next_block(&mut block)? {
        writer.push(&block)?;
    }
    Ok(())
}

/// Runs in the order in which they were made. Whenever [`FAN_IN`] of a level have come together they
/// are merged into one of the next, so there are never many, and each entry is written only
/// about log n times.
#[derive(Debug, Default)]
pub(super) struct Levels {
    runs: Vec<(u32, Run)>,
}

impl Levels {
    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    pub(super) fn count(&self) -> usize {
        self.runs.len()
    }

    pub(super) fn file_len(&self) -> u64 {
        self.runs.iter().map(|(_, run)| run.file_len()).sum()
    }

    pub(super) fn push(&mut self, run: Run, resources: &Resources) -> Result<()> {
        self.runs.push((0, run));
        while let Some(&(level, _)) = self.runs.last()
            && self.runs.iter().rev().take_while(|(l, _)| *l == level).count() == FAN_IN
        {
            let first = self.runs.len() - FAN_IN;
            let sources = sources_of(&self.runs[first..], resources, FAN_IN);
            let mut writer = RunWriter::create(resources)?;
            let mut block = Block::default();
            merge(sources, |key, id| {
                match id.get() {
                    None => block.keys.push(key),
                    Some(IdRef::U64(number)) => block.push_number(key, number),
                    Some(IdRef::Text(text)) => block.push_text(key, text.as_bytes()),
                }
                if block.is_full() {
                    writer.push(&block)?;
                    block.clear();
                }
                Ok(())
            })?;
            if !block.keys.is_empty() {
                writer.push(&block)?;
            }
            let merged = writer.finish()?;
            self.runs.truncate(first);
            self.runs.push((level + 1, merged));
        }
        Ok(())
    }

    /// Readers of all runs, in order; `all` is how many runs share the memory.
    pub(super) fn sources(&self, resources: &Resources, all: usize) -> Vec<Source<'_>> {
        sources_of(&self.runs, resources, all)
    }
}

/// Readers that share half of the memory; `all` is how many there are in all.
fn sources_of<'a>(runs: &'a [(u32, Run)], resources: &Resources, all: usize) -> Vec<Source<'a>> {
    let share = resources.memory / 2 / all.max(1) as u64;
    let len = usize::try_from(share).unwrap_or(usize::MAX);
    let len = len.clamp(MERGE_READ_LEN_MIN, MERGE_READ_LEN_MAX);
    runs.iter().map(|(_, run)| Source::Run(run.reader(len))).collect()
}
