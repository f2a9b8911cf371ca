//! Sorted runs split into ranges of keys, which threads read and merge independently.

use std::ops::RangeInclusive;

use crate::base::error::Result;
use crate::writing::sort::SortResources;
use crate::writing::sort::block::{ENTRY_WEIGHT, RunBlock};
use crate::writing::sort::levels::{MERGE_READ_LEN_MAX, MERGE_READ_LEN_MIN};
use crate::writing::sort::merge::MergeInput;
use crate::writing::sort::run::SortedRun;

/// The maximum memory of a part in bytes, with up to four runs: a part should fit in the cache of a
/// core.
const PART_WEIGHT_ENOUGH: u64 = 1 << 22;
/// With more than four runs, a part may have this many bytes per run instead of
/// [`PART_WEIGHT_ENOUGH`] in all. Reading a run can begin only at a mark (`run::Mark`), so each
/// run's share of a part should be much larger than the distance between two marks.
const RUN_WEIGHT_ENOUGH: u64 = 1 << 20;

/// Several runs, and the size of the parts into which they are split.
pub(super) struct RunRanges<'a> {
    runs: Vec<&'a SortedRun>,
    /// The number of reading threads, limited by the memory.
    pub(super) threads: usize,
    /// The approximate memory of the entries of a part, in bytes. A single key can have more.
    part_weight: u64,
    read_len: usize,
}

/// The entries of a range of keys.
#[derive(Clone, Debug)]
pub(super) struct KeyRange {
    keys: RangeInclusive<u64>,
    /// The approximate memory of the entries, in bytes.
    weight: u64,
}

impl<'a> RunRanges<'a> {
    pub(super) fn new(runs: Vec<&'a SortedRun>, resources: &SortResources) -> Self {
        let run_count = runs.len().max(1);
        // Readers use at most an eighth of the memory; another eighth is for up to four parts per
        // thread and their results.
        let readers = resources.memory / 8 / (run_count * MERGE_READ_LEN_MIN) as u64;
        let threads = resources.threads.min(readers as usize).max(1);
        let part_weight = resources.memory / 32 / threads as u64;
        let enough = PART_WEIGHT_ENOUGH.max(RUN_WEIGHT_ENOUGH * run_count as u64);
        let part_weight = part_weight.min(enough);
        let read_len = usize::try_from(part_weight).unwrap_or(usize::MAX) / run_count;
        let read_len = read_len.clamp(MERGE_READ_LEN_MIN, MERGE_READ_LEN_MAX);
        RunRanges { runs, threads, part_weight, read_len }
    }

    /// Ascending ranges that together contain all keys. Each range of several keys has at most
    /// about `part_weight` bytes of entries.
    pub(super) fn ranges(&self) -> Vec<KeyRange> {
        let mut marks: Vec<_> = self.runs.iter().flat_map(|run| &run.marks).collect();
        marks.sort_unstable_by_key(|mark| mark.key);
        let mut ranges = Vec::new();
        let (mut start, mut weight) = (0, 0);
        for mark in marks {
            if weight >= self.part_weight && mark.key > start {
                ranges.push(KeyRange { keys: start..=mark.key - 1, weight });
                (start, weight) = (mark.key, 0);
            }
            weight += mark.weight;
        }
        ranges.push(KeyRange { keys: start..=u64::MAX, weight });
        ranges
    }

    /// Whether a range has far more than `part_weight` bytes: then it is mostly one key.
    pub(super) fn is_long(&self, range: &KeyRange) -> bool {
        range.weight > 3 * self.part_weight
    }

    /// The entries of a range, as one input for each run.
    pub(super) fn inputs(&self, range: &KeyRange) -> Vec<MergeInput<'a>> {
        let reader = |run: &&'a SortedRun| run.reader_within(range.keys.clone(), self.read_len);
        self.runs.iter().map(|run| MergeInput::SortedRun(reader(run))).collect()
    }

    /// The distinct keys of a range, ascending, and the number of its entries.
    pub(super) fn keys(&self, range: &KeyRange) -> Result<(Vec<u64>, u64)> {
        // The capacity is the same for each part, so that the allocator reuses the memory.
        let mut keys = Vec::with_capacity((self.part_weight / ENTRY_WEIGHT) as usize);
        let mut entry_count = 0;
        let mut block = RunBlock::default();
        for mut input in self.inputs(range) {
            while input.next_block(&mut block)? {
                entry_count += block.keys.len() as u64;
                // A key may have millions of records: deduplicate before copying.
                block.keys.dedup();
                keys.extend_from_slice(&block.keys);
            }
        }
        // The stable sort detects the ascending keys of each run and merges them.
        keys.sort();
        keys.dedup();
        Ok((keys, entry_count))
    }
}
