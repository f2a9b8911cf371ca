//! Merges runs level by level, so that there are always few runs.
//!
//! 64 runs of a level are merged into one run of the next level. So n runs become at most 63 runs
//! on each of log64(n) levels, and an entry is written once for each level.

use crate::base::error::Result;
use crate::writing::sort::SortResources;
use crate::writing::sort::block::RunBlock;
use crate::writing::sort::merge::{MergeInput, merge};
use crate::writing::sort::run::{RunWriter, SortedRun};

/// The number of runs of one level that are merged into one run of the next level.
const FAN_IN: usize = if cfg!(test) { 4 } else { 64 };
/// The maximum and minimum number of bytes that a merge reads from one run at a time.
pub(super) const MERGE_READ_LEN_MAX: usize = 1 << 19;
pub(super) const MERGE_READ_LEN_MIN: usize = 1 << 14;

/// Runs and their levels, in input order. Each level has fewer than [`FAN_IN`] runs.
#[derive(Debug, Default)]
pub(super) struct Levels {
    runs: Vec<(u32, SortedRun)>,
}

impl Levels {
    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    pub(super) fn file_len(&self) -> u64 {
        self.runs.iter().map(|(_, run)| run.file_len()).sum()
    }

    /// All runs, in input order.
    pub(super) fn runs(&self) -> impl Iterator<Item = &SortedRun> {
        self.runs.iter().map(|(_, run)| run)
    }

    /// Writes the entries of an input to a new run; does nothing without entries.
    pub(super) fn write(
        &mut self,
        mut input: MergeInput<'_>,
        resources: &SortResources,
    ) -> Result<()> {
        let mut block = RunBlock::default();
        if !input.next_block(&mut block)? {
            return Ok(());
        }
        let mut writer = RunWriter::create(resources)?;
        writer.push(&block)?;
        while input.next_block(&mut block)? {
            writer.push(&block)?;
        }
        self.runs.push((0, writer.finish()?));
        while let Some(&(level, _)) = self.runs.last()
            && self.runs.iter().rev().take_while(|(l, _)| *l == level).count() == FAN_IN
        {
            let first = self.runs.len() - FAN_IN;
            let inputs = inputs_of(&self.runs[first..], resources, FAN_IN);
            let mut writer = RunWriter::create(resources)?;
            let mut block = RunBlock::default();
            merge(inputs, |_, entry| {
                entry.append_to(&mut block);
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

    /// Readers of all runs, in input order. `sharers` readers share the memory.
    pub(super) fn inputs(&self, resources: &SortResources, sharers: usize) -> Vec<MergeInput<'_>> {
        inputs_of(&self.runs, resources, sharers)
    }
}

/// Readers of `runs`. Each reader gets half of the memory divided by `sharers`.
fn inputs_of<'a>(
    runs: &'a [(u32, SortedRun)],
    resources: &SortResources,
    sharers: usize,
) -> Vec<MergeInput<'a>> {
    let len = resources.memory / 2 / sharers.max(1) as u64;
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    let len = len.clamp(MERGE_READ_LEN_MIN, MERGE_READ_LEN_MAX);
    runs.iter().map(|(_, run)| MergeInput::SortedRun(run.reader(len))).collect()
}
