//! Finds near pairs among values in memory.
//!
//! A [`PairFinder`] belongs to one thread. It divides values that do not fit the cache into
//! partitions, and uses a hash table to compare the values that agree on a combination of blocks
//! ([`Blocking`]). If too many values agree, it sorts them by the agreeing bits. Each group of
//! values with the same agreeing bits then gets a blocking of its own, over the bits that vary in
//! the group, chosen from a sample of its pairs. So the cost of skewed values is about proportional
//! to their number of near pairs.

use crate::base::error::Result;
use crate::join::engine::blocking::{Blocking, COMPARE_ALL_MAX, Combination, Node, OfFirst};
use crate::join::engine::density::{CONNECTED_DEGREE, Connect, is_cluster, is_dense};
use crate::join::engine::each::{compare_across, compare_range};
use crate::join::engine::groups::Level;
use crate::join::engine::hash_table::{HashTable, LINES_MAX};
use crate::join::engine::hashing::partition_of;
use crate::join::engine::sides::{Sides, SidesMut};
use crate::search::kernel::Kernel;

/// Number of values in a partition: all of them and their hash table fit the cache of a core.
pub(in crate::join) const VALUES_PER_PARTITION: usize = 1 << 13;
/// Binary logarithm of the maximum number of partitions into which values are divided at a time.
pub(in crate::join) const PARTITION_BITS_MAX: u32 = 10;
/// Number of sampled pairs of skewed values.
const SAMPLE_COUNT: usize = 512;
/// Number of pairs emitted together.
const BATCH_COUNT: usize = 1 << 12;
/// After this many examined values without an emission the observer is checked, so that interrupted
/// work ends within some milliseconds.
pub(super) const LOOKED_COUNT: usize = 1 << 18;

/// A group of a descent with more values than this is sampled first, because it may be dense.
const GROUP_COUNT: usize = 512;
/// A group of at most `GROUP_COUNT` values is passed to [`Connect`] if it has more than this many
/// near pairs for each value.
const CONNECTED_PAIRS: usize = 4;

/// The rule by which values were divided into partitions by a first block.
#[derive(Clone, Copy, Debug)]
pub(in crate::join) enum Division {
    /// The values for which [`partition_of`] with `bits` bits returns the same number.
    Hashed { bits: u32 },
    /// The values with the same first `bits` bits of the block, in the order of a table that leads
    /// with the block. Values that agree on the bits `agreed` are adjacent.
    Ordered { bits: u32, is_whole_block: bool, agreed: Option<u64> },
}

/// Two near values.
pub(in crate::join) type ValuePair = (u64, u64);

/// Callback for found pairs, some at a time; it empties the vector. It is also called without
/// pairs, so that work without results can be stopped.
pub(in crate::join) type Emit<'a> = &'a mut dyn FnMut(&mut Vec<ValuePair>) -> Result<()>;

/// Finds near pairs among sets of values, one set after the other, and reuses its buffers.
pub(in crate::join) struct PairFinder<'a> {
    k: u32,
    kernel: Kernel,
    table: HashTable,
    /// The buffers of a descent.
    levels: Vec<Level>,
    /// The buffers for values divided by their first block.
    divided: Level,
    found: Vec<ValuePair>,
    /// Number of values examined since the last emission.
    looked: usize,
    /// Blocks in each of which a pair must differ; other pairs belong to another combination.
    pub(super) differ: Vec<u64>,
    /// Bits on which a pair must agree; other pairs belong to another combination.
    agree: u64,
    /// Callback for dense values; `None` if all pairs are needed.
    connect: Option<Connect<'a>>,
}

impl<'a> PairFinder<'a> {
    pub(in crate::join) fn new(k: u32) -> Self {
        let kernel = Kernel::detect();
        PairFinder {
            k,
            kernel,
            table: HashTable::new(kernel),
            levels: Vec::new(),
            divided: Level::default(),
            found: Vec::new(),
            looked: 0,
            differ: Vec::new(),
            agree: 0,
            connect: None,
        }
    }

    /// A finder that passes dense values to `connect` instead of finding all their pairs, if the
    /// caller only needs to know which values near pairs connect.
    pub(in crate::join) fn connecting(self, connect: Option<Connect<'a>>) -> Self {
        PairFinder { connect, ..self }
    }

    /// A finder of only the pairs that agree on the bits `agree` and differ in each block of
    /// `differ`.
    pub(in crate::join) fn within(mut self, agree: u64, differ: &[u64]) -> Self {
        self.agree = agree;
        self.differ.extend_from_slice(differ);
        self
    }

    /// Finds and emits all near pairs of these values.
    pub(in crate::join) fn find(&mut self, mut sides: SidesMut<'_>, emit: Emit<'_>) -> Result<()> {
        self.find_blocked(&mut sides, emit)?;
        self.flush(emit)
    }

    /// Finds the near pairs of the combinations in `of_first`, among the values of a partition by
    /// their first block. The caller must call [`PairFinder::flush`] after the last partition.
    pub(in crate::join) fn find_in_partition(
        &mut self,
        sides: &mut SidesMut<'_>,
        of_first: &OfFirst<'_>,
        division: Division,
        emit: Emit<'_>,
    ) -> Result<()> {
        let (count, pairs) = (sides.value_count(), sides.pair_count());
        let OfFirst { blocking, first, .. } = *of_first;
        let (bits, skipped, is_whole_block, agreed) = match division {
            Division::Hashed { bits } => (bits, bits, false, None),
            Division::Ordered { bits, is_whole_block, agreed } => (bits, 0, is_whole_block, agreed),
        };
        if pairs < 1.0 {
            Ok(())
        } else if blocking.is_divided(first, bits, count, pairs) {
            let mut levels = std::mem::take(&mut self.levels);
            levels.resize_with(levels.len().max(blocking.agreeing), Level::default);
            let differ_before = self.differ.len();
            self.differ.extend_from_slice(&blocking.blocks[..first]);
            let node = Node::before(blocking, first);
            let divided = self.descend(sides, node, &mut levels, emit);
            self.differ.truncate(differ_before);
            self.levels = levels;
            divided
        } else if count <= LINES_MAX || is_whole_block {
            self.find_in_combinations(sides, of_first.combinations(), agreed, emit)
        } else {
            self.find_divided(sides, of_first, skipped, emit)
        }
    }

    /// Compares each value in `range` with all values before it.
    pub(in crate::join) fn find_in_range(
        &mut self,
        values: &[u64],
        range: std::ops::Range<usize>,
        emit: Emit<'_>,
    ) -> Result<()> {
        // Few values at a time: this limits the number of pairs found between two emissions.
        let step = (LOOKED_COUNT / range.end.max(1)).max(1);
        for start in range.clone().step_by(step) {
            let some = start..range.end.min(start + step);
            let compared = some.len() * some.end;
            self.compare_range(values, some);
            self.look(compared, emit)?;
        }
        Ok(())
    }

    /// Finds the near pairs of a value of the probe side and a value of the build side, by
    /// comparing all pairs.
    pub(in crate::join) fn find_across(
        &mut self,
        probe: &[u64],
        build: &[u64],
        emit: Emit<'_>,
    ) -> Result<()> {
        for probe in probe.chunks((LOOKED_COUNT / build.len().max(1)).max(1)) {
            let PairFinder { k, kernel, found, differ, agree, .. } = self;
            let belonging = keep_belonging(found, *agree, differ);
            compare_across(*kernel, probe, build, *k, belonging);
            self.look(probe.len() * build.len(), emit)?;
        }
        Ok(())
    }

    /// Emits the pairs found since the last emission.
    pub(in crate::join) fn flush(&mut self, emit: Emit<'_>) -> Result<()> {
        if self.found.is_empty() { Ok(()) } else { emit(&mut self.found) }
    }

    /// Finds the near pairs of possibly skewed values, with a blocking chosen from a sample of
    /// pairs.
    pub(super) fn find_blocked(&mut self, sides: &mut SidesMut<'_>, emit: Emit<'_>) -> Result<()> {
        if sides.pair_count() < 1.0 {
            return Ok(());
        }
        let varying = sides.varying();
        if self.differ.iter().any(|block| block & varying == 0) {
            return Ok(());
        }
        let (count, pairs) = (sides.value_count() as u64, sides.pair_count());
        if count <= COMPARE_ALL_MAX {
            return self.compare_all(sides, emit);
        }
        let sample = sides.sample(sample_count(count, pairs));
        if let (Some(connect), SidesMut::Within(values)) = (self.connect, &*sides)
            && is_dense(&sample, count, CONNECTED_DEGREE, self.k)
        {
            return connect(values);
        }
        let chosen = Blocking::choose_measured(varying, count, pairs, self.k, &sample);
        let Some(blocking) = chosen else {
            return self.compare_all(sides, emit);
        };
        for first in 0..blocking.firsts().len() {
            let all = Division::Hashed { bits: 0 };
            self.find_in_partition(sides, &OfFirst::new(&blocking, first), all, emit)?;
        }
        Ok(())
    }

    /// Divides values that do not fit the cache by the first block of the combinations, and finds
    /// the near pairs in each part.
    fn find_divided(
        &mut self,
        sides: &mut SidesMut<'_>,
        of_first: &OfFirst<'_>,
        skipped: u32,
        emit: Emit<'_>,
    ) -> Result<()> {
        let bits = partition_bits(sides.value_count());
        let (block, combinations) = (of_first.block(), of_first.combinations());
        // The buffers are taken out of `self`: the search in a part may divide skewed values, too.
        let mut level = std::mem::take(&mut self.divided);
        let of_partition = |value| partition_of(value, block, skipped, bits);
        let found = level.by(sides, bits, of_partition).try_for_each(|mut group| {
            self.find_in_combinations(&mut group, combinations, None, emit)
        });
        self.divided = level;
        found
    }

    /// Finds the near pairs of all these combinations. `agreed` is the bits of the first
    /// combination if values that agree on them are adjacent.
    fn find_in_combinations(
        &mut self,
        sides: &mut SidesMut<'_>,
        combinations: &[Combination],
        mut agreed: Option<u64>,
        emit: Emit<'_>,
    ) -> Result<()> {
        if sides.pair_count() < 1.0 {
            return Ok(());
        }
        for combination in combinations {
            // `agreed` applies to the first combination only: after it, skewed values may be in
            // another order.
            let lies_together = agreed.take() == Some(combination.agree);
            let found_before = self.found.len();
            let differ_before = self.differ.len();
            self.differ.extend_from_slice(&combination.differ);
            let complete = self.find_agreeing(sides.shared(), combination.agree, lies_together);
            if !complete {
                // Drops the pairs of this combination found so far: groups will find them again.
                self.found.truncate(found_before);
                if let (Some(connect), SidesMut::Within(values)) = (self.connect, &*sides)
                    && is_cluster(&sides.sample(SAMPLE_COUNT), self.k)
                {
                    self.differ.truncate(differ_before);
                    return connect(values);
                }
                self.find_in_groups(sides, combination.agree, emit)?;
            }
            self.differ.truncate(differ_before);
            self.look(sides.value_count(), emit)?;
        }
        Ok(())
    }

    /// Counts examined values. Emits the pairs if there are many, or after many examined values.
    fn look(&mut self, count: usize, emit: Emit<'_>) -> Result<()> {
        self.looked += count;
        if self.found.len() < BATCH_COUNT && self.looked < LOOKED_COUNT {
            return Ok(());
        }
        self.looked = 0;
        emit(&mut self.found)
    }

    /// Compares the values that agree on a mask; returns `false` if too many agree. `lies_together`
    /// means that values that agree are adjacent.
    fn find_agreeing(&mut self, sides: Sides<'_>, mask: u64, lies_together: bool) -> bool {
        let PairFinder { k, table, found, differ, agree, .. } = self;
        let keep = keep_belonging(found, *agree, differ);
        match sides {
            Sides::Within(values) if lies_together => {
                table.pairs_side_by_side(values, mask, *k, keep)
            }
            _ => table.pairs(sides, mask, *k, keep),
        }
    }

    /// Sorts skewed values by the bits of a mask, and finds the near pairs of each group of values
    /// that agree on these bits.
    fn find_in_groups(
        &mut self,
        sides: &mut SidesMut<'_>,
        mask: u64,
        emit: Emit<'_>,
    ) -> Result<()> {
        let by = |value: &u64| value & mask;
        match sides {
            SidesMut::Within(values) => {
                values.sort_unstable_by_key(by);
                for group in values.chunk_by_mut(|one, other| by(one) == by(other)) {
                    self.find_blocked(&mut SidesMut::Within(group), emit)?;
                }
            }
            SidesMut::Across { probe, build } => {
                probe.sort_unstable_by_key(by);
                build.sort_unstable_by_key(by);
                let mut rest = &mut **build;
                for probe in probe.chunk_by_mut(|one, other| by(one) == by(other)) {
                    let key = by(&probe[0]);
                    let before = rest.partition_point(|value| by(value) < key);
                    rest = rest.split_at_mut(before).1;
                    let equal = rest.partition_point(|value| by(value) == key);
                    let (build, after) = rest.split_at_mut(equal);
                    self.find_blocked(&mut SidesMut::Across { probe, build }, emit)?;
                    rest = after;
                }
            }
        }
        Ok(())
    }

    /// Compares all pairs of values, or passes the values to [`Connect`] if too many pairs are
    /// near.
    pub(super) fn compare_group(&mut self, sides: &SidesMut<'_>, emit: Emit<'_>) -> Result<()> {
        let count = sides.value_count();
        let (Some(connect), SidesMut::Within(values)) = (self.connect, sides) else {
            return self.compare_all(sides, emit);
        };
        if count > GROUP_COUNT {
            let sample = sides.sample(sample_count(count as u64, sides.pair_count()));
            if is_dense(&sample, count as u64, CONNECTED_DEGREE, self.k) {
                return connect(values);
            }
            return self.compare_all(sides, emit);
        }
        let found_before = self.found.len();
        self.compare_range(values, 0..count);
        if self.found.len() - found_before > CONNECTED_PAIRS * count {
            self.found.truncate(found_before);
            return connect(values);
        }
        self.look(count, emit)
    }

    fn compare_range(&mut self, values: &[u64], range: std::ops::Range<usize>) {
        let PairFinder { k, kernel, found, differ, agree, .. } = self;
        compare_range(*kernel, values, range, *k, keep_belonging(found, *agree, differ));
    }

    fn compare_all(&mut self, sides: &SidesMut<'_>, emit: Emit<'_>) -> Result<()> {
        match sides {
            SidesMut::Within(values) => self.find_in_range(values, 0..values.len(), emit),
            SidesMut::Across { probe, build } => self.find_across(probe, build, emit),
        }
    }
}

/// A callback that appends a pair to `found` if its values agree on the bits `agree` and differ in
/// each block of `differ`.
fn keep_belonging(found: &mut Vec<ValuePair>, agree: u64, differ: &[u64]) -> impl FnMut(u64, u64) {
    move |one, other| {
        let diff = one ^ other;
        if diff & agree == 0 && differ.iter().all(|block| diff & block != 0) {
            found.push((one, other));
        }
    }
}

/// The number of pairs sampled to choose a blocking. Sampling them is cheap compared with the join.
fn sample_count(count: u64, pairs: f64) -> usize {
    (pairs as u64 / 64).clamp(16, SAMPLE_COUNT as u64 + count / 16) as usize
}

/// The binary logarithm of the number of partitions into which `count` values are divided, so that
/// each partition fits the cache.
pub(in crate::join) fn partition_bits(count: usize) -> u32 {
    let partitions = (count / VALUES_PER_PARTITION).max(1).next_power_of_two();
    partitions.ilog2().clamp(1, PARTITION_BITS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::error::Error;

    #[test]
    fn work_that_finds_nothing_can_be_ended() {
        // A Weyl sequence: these values are evenly distributed, and few pairs are near.
        let mut values: Vec<u64> =
            (0..1_u64 << 16).map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let mut calls = 0;
        let mut end = |found: &mut Vec<ValuePair>| {
            calls += 1;
            found.clear();
            if calls == 3 { Err(Error::Interrupted) } else { Ok(()) }
        };
        let mut finder = PairFinder::new(12);
        let ended = finder.find(SidesMut::Within(&mut values), &mut end);
        assert!(matches!(ended, Err(Error::Interrupted)));
        assert_eq!(calls, 3);
    }
}
