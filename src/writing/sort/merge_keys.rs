//! The keys of sorted inputs, merged some thousands at a time.
//!
//! Of each input some keys wait. All that are at most the least of their last ones come before all
//! others, so they are gathered and sorted by a thread, while the next ones are gathered. To compare
//! heads of inputs one key at a time takes longer, and cannot be shared.

use crate::base::error::Result;
use crate::base::in_order::in_order;
use crate::writing::sort::block::RunBlock;
use crate::writing::sort::merge::MergeInput;

/// Keys of an input that wait.
const WAITING_COUNT: usize = if cfg!(test) { 100 } else { 1 << 12 };
/// Keys that a thread sorts together, at least.
const BATCH_COUNT: usize = if cfg!(test) { 50 } else { 1 << 14 };

/// Calls `each` with all keys of the inputs, ascending, some at a time. A key comes as often as the
/// inputs have it.
pub(super) fn merge_keys(
    inputs: Vec<MergeInput<'_>>,
    threads: usize,
    mut each: impl FnMut(&[u64]) -> Result<()>,
) -> Result<()> {
    let mut waiting = Vec::with_capacity(inputs.len());
    for input in inputs {
        let mut one =
            Waiting { input, block: RunBlock::default(), read: Vec::new(), at: 0, is_last: false };
        one.fill()?;
        if !one.keys().is_empty() {
            waiting.push(one);
        }
    }
    if let [only] = waiting.as_mut_slice() {
        while !only.keys().is_empty() {
            each(only.keys())?;
            only.at = only.read.len();
            only.fill()?;
        }
        return Ok(());
    }
    let worker = || {
        |mut keys: Vec<u64>| {
            keys.sort_unstable();
            Ok(keys)
        }
    };
    let source = |give: &mut dyn FnMut(Vec<u64>) -> Result<()>| {
        let mut batch = Vec::with_capacity(2 * BATCH_COUNT);
        while !waiting.is_empty() {
            gather(&mut waiting, &mut batch)?;
            if batch.len() >= BATCH_COUNT {
                give(std::mem::replace(&mut batch, Vec::with_capacity(2 * BATCH_COUNT)))?;
            }
        }
        give(batch)
    };
    in_order(threads, worker, source, |keys: Vec<u64>| each(&keys))
}

/// Moves the keys that come before all others to `batch`, in any order.
fn gather(waiting: &mut Vec<Waiting<'_>>, batch: &mut Vec<u64>) -> Result<()> {
    let lasts = waiting.iter().filter(|one| !one.is_last).filter_map(|one| one.keys().last());
    let bound = lasts.min().copied().unwrap_or(u64::MAX);
    for one in &mut *waiting {
        let keys = one.keys();
        let count = keys.partition_point(|&key| key <= bound);
        batch.extend_from_slice(&keys[..count]);
        one.at += count;
        one.fill()?;
    }
    waiting.retain(|one| !one.keys().is_empty());
    Ok(())
}

/// An input and its next keys.
struct Waiting<'a> {
    input: MergeInput<'a>,
    block: RunBlock,
    read: Vec<u64>,
    /// The first of them that waits.
    at: usize,
    /// Whether the input has no others.
    is_last: bool,
}

impl Waiting<'_> {
    /// Reads until many keys wait.
    fn fill(&mut self) -> Result<()> {
        if self.is_last || 2 * self.keys().len() > WAITING_COUNT {
            return Ok(());
        }
        self.read.drain(..self.at);
        self.at = 0;
        while !self.is_last && self.read.len() < WAITING_COUNT {
            self.is_last = !self.input.next_block(&mut self.block)?;
            if !self.is_last {
                self.read.extend_from_slice(&self.block.keys);
            }
        }
        Ok(())
    }

    fn keys(&self) -> &[u64] {
        &self.read[self.at..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_come_sorted_as_often_as_they_are_there(
            mut columns in prop::collection::vec(
                prop::collection::vec(prop_oneof![0..20_u64, any::<u64>(), Just(u64::MAX)], 0..2000),
                0..6,
            ),
            threads in 1..4_usize,
        ) {
            columns.iter_mut().for_each(|column| column.sort_unstable());
            let mut expected = columns.concat();
            expected.sort_unstable();
            let mut found = Vec::new();
            let inputs = columns.iter().map(|column| MergeInput::Keys(column)).collect();
            merge_keys(inputs, threads, |keys| {
                found.extend_from_slice(keys);
                Ok(())
            })
            .unwrap();
            prop_assert!(found == expected);
        }
    }
}
