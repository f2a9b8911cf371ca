//! Blocking: near values must agree on some of the blocks into which the bits are cut, so only
//! values that do are compared.
//!
//! The bits are cut into `agreeing + k` blocks. At most `k` flips leave at least `agreeing` blocks
//! unchanged, so every near pair agrees on some *combination* of `agreeing` blocks. A join
//! compares, for each combination, only the values that agree on it.
//!
//! A pair may agree on several combinations. It belongs only to the first of them: in all blocks
//! that are before the last block of the combination and not part of it, the values must differ. So
//! each pair is found once, without remembering found pairs.
//!
//! Example with k = 1 and `agreeing` = 2, so 3 blocks A, B, C: the combinations are AB, AC where B
//! differs, and BC where A differs.

use std::sync::OnceLock;

use super::costs::{Costs, Descent, Hashed, comparing_nanos};
use super::cut::{even_blocks, led_blocks};

/// With hash tables, blockings with more combinations than this are never the cheapest.
const HASHED_COMBINATIONS_MAX: f64 = 1000.0;
/// For division block by block, blockings with more combinations than this are never the cheapest.
const DIVIDED_COMBINATIONS_MAX: f64 = 20_000.0;
/// Maximum number of agreeing blocks with hash tables; otherwise `AGREEING_MAX`.
const HASHED_AGREEING_MAX: u32 = 4;
const AGREEING_MAX: u32 = 6;
/// Maximum length of a block by which values are divided: `bits` bits give `2^bits` groups.
const DIVIDED_BITS_MAX: u32 = 10;
/// Nanoseconds to move a value to its partition.
const NANOS_PER_MOVE: f64 = 5.0;
/// All pairs of up to this many values are compared, without a blocking.
pub(in crate::join) const COMPARE_ALL_MAX: u64 = 24;

/// A group is skewed if it has more than `SKEWED_MIN` values plus this many times the number of
/// values of a group of evenly distributed values.
const SKEW: f64 = 4.0;
/// A group of at most this many values is never skewed.
const SKEWED_MIN: f64 = 256.0;

/// A cut of the bits into `agreeing + k` blocks.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::join) struct Blocking {
    pub(super) blocks: Vec<u64>,
    /// The number of blocks on which a pair must agree.
    pub(super) agreeing: usize,
    nanos: u64,
    costs: Costs,
    /// Whether values may be divided block by block. Skewed values may not: nearly all of them have
    /// the same bits in a block, so dividing is useless.
    may_divide: bool,
}

/// A combination: the blocks on which a pair agrees, and the blocks in which its values must differ
/// for the pair to belong to this combination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::join) struct Combination {
    /// The bits of all agreeing blocks.
    pub(in crate::join) agree: u64,
    /// The blocks in each of which the values must differ.
    pub(in crate::join) differ: Vec<u64>,
}

impl Blocking {
    /// The cheapest blocking of the `varying` bits for `count` evenly distributed values; `pairs`
    /// is the number of pairs compared without blocking. `None` if comparing all pairs is cheaper.
    pub(in crate::join) fn choose(
        varying: u64,
        count: u64,
        pairs: f64,
        k: u32,
    ) -> Option<Blocking> {
        Blocking::cheapest(Costs::of_processor(), varying, count, pairs, k, None)
    }

    /// Like [`Blocking::choose`], but for values of any distribution: the number of pairs that
    /// agree on a combination is estimated from `sample`, the differences (XOR) of some pairs.
    pub(in crate::join) fn choose_measured(
        varying: u64,
        count: u64,
        pairs: f64,
        k: u32,
        sample: &[u64],
    ) -> Option<Blocking> {
        let costs = Costs::of_processor();
        let more = |blocks, agreeing| {
            // A pair is a candidate of each combination on which it agrees.
            let cut = even_blocks(varying, blocks);
            let combinations = |diff: &u64| {
                let equal = cut.iter().filter(|&block| diff & block == 0).count() as u32;
                if equal < agreeing { 0.0 } else { combination_count(equal, agreeing) }
            };
            let mean = sample.iter().map(combinations).sum::<f64>() / sample.len().max(1) as f64;
            pairs * mean * costs.few.candidate
        };
        Blocking::cheapest(costs, varying, count, pairs, k, Some(&more))
    }

    /// The cheapest blocking. For skewed values, `more(blocks, agreeing)` estimates the nanoseconds
    /// by which the cost of this blocking exceeds the cost for evenly distributed values.
    fn cheapest(
        costs: Costs,
        varying: u64,
        count: u64,
        pairs: f64,
        k: u32,
        more: Option<&dyn Fn(u32, u32) -> f64>,
    ) -> Option<Blocking> {
        if count <= COMPARE_ALL_MAX {
            return None;
        }
        let bits = varying.count_ones();
        let mut least = pairs * costs.compare;
        let mut best = None;
        for agreeing in 1..=AGREEING_MAX.min(bits.saturating_sub(k)) {
            let blocks = k + agreeing;
            let combinations = combination_count(blocks, agreeing);
            let is_hashed =
                agreeing <= HASHED_AGREEING_MAX && combinations <= HASHED_COMBINATIONS_MAX;
            let hashed = is_hashed.then(|| {
                nanos(costs, bits, blocks, agreeing, count, pairs)
                    + more.map_or(0.0, |more| more(blocks, agreeing))
            });
            let is_divided = combinations <= DIVIDED_COMBINATIONS_MAX
                && bits <= DIVIDED_BITS_MAX * blocks
                && more.is_none();
            let divided = is_divided.then(|| {
                let firsts = blocks - agreeing + 1;
                let descent = Descent {
                    bits: f64::from(bits) / f64::from(blocks),
                    choices: firsts as usize,
                    levels: agreeing as usize,
                };
                // For the first block, values move twice: to a partition, and to a group in it.
                descent.nanos(count as f64, pairs, costs.compare)
                    + count as f64 * f64::from(firsts) * NANOS_PER_MOVE
            });
            for nanos in [hashed, divided].into_iter().flatten() {
                if nanos < least {
                    least = nanos;
                    best = Some((blocks, agreeing));
                }
            }
        }
        let (blocks, agreeing) = best?;
        Some(Blocking {
            blocks: even_blocks(varying, blocks),
            agreeing: agreeing as usize,
            nanos: least as u64,
            costs,
            may_divide: more.is_none(),
        })
    }

    /// Whether dividing `count` values with `pairs` pairs block by block is cheaper than a hash
    /// table for each combination of blocks. The values are one of `2^skipped` partitions by the
    /// first `skipped` bits of the first block.
    pub(in crate::join) fn is_divided(
        &self,
        first: usize,
        skipped: u32,
        count: usize,
        pairs: f64,
    ) -> bool {
        let (levels, count) = (self.agreeing - 1, count as f64);
        let choices = self.blocks.len() - first - levels;
        // The expected number of pairs that agree on the first block.
        let bits = self.blocks[first].count_ones().saturating_sub(skipped);
        let pairs = pairs / 2_f64.powi(bits.cast_signed());
        let candidates = pairs / 2_f64.powf(self.mean_bits() * levels as f64);
        let Hashed { insert, candidate } = self.costs.hashed(count, f64::from(bits));
        let hashed = self.steps(first) as f64 * (count * insert + candidates * candidate);
        let divided = Descent { bits: self.mean_bits(), choices, levels };
        let is_narrow = self.blocks.iter().all(|block| block.count_ones() <= DIVIDED_BITS_MAX);
        self.may_divide
            && is_narrow
            && divided.nanos(count, pairs, self.costs.compare) + count * NANOS_PER_MOVE < hashed
    }

    /// The mean number of bits of a block.
    fn mean_bits(&self) -> f64 {
        let bits: u32 = self.blocks.iter().map(|block| block.count_ones()).sum();
        f64::from(bits) / self.blocks.len() as f64
    }

    /// The same number of blocks, cut so that as many blocks as possible are leading bits of the
    /// tables with these masks.
    pub(super) fn led_by(mut self, masks: &[u64]) -> Blocking {
        let varying = self.blocks.iter().fold(0, |all, block| all | block);
        self.blocks = led_blocks(varying, self.blocks.len() as u32, masks);
        self
    }

    /// The blocking with these blocks; a near pair must agree on `agreeing` of them.
    pub(in crate::join) fn of_blocks(blocks: Vec<u64>, agreeing: usize) -> Blocking {
        Blocking { blocks, agreeing, nanos: 0, costs: Costs::of_processor(), may_divide: true }
    }

    /// The expected nanoseconds of a join of `count` evenly distributed values with themselves. It
    /// does not depend on the processor, so that all machines choose the same plan.
    pub(in crate::join) fn nanos_for(&self, count: u64) -> f64 {
        let bits: u32 = self.blocks.iter().map(|block| block.count_ones()).sum();
        let (blocks, agreeing) = (self.blocks.len() as u32, self.agreeing as u32);
        let pairs = count as f64 * count as f64 / 2.0;
        nanos(Costs::LINES, bits, blocks, agreeing, count, pairs)
    }

    /// The expected nanoseconds of the join on one thread, for evenly distributed values.
    pub(in crate::join) fn expected_nanos(&self) -> u64 {
        self.nanos
    }

    /// The blocks that can be the first agreeing block of a pair, in order.
    pub(in crate::join) fn firsts(&self) -> &[u64] {
        &self.blocks[..=self.blocks.len() - self.agreeing]
    }

    /// The number of combinations whose first agreeing block is at `first`: a measure of the work.
    pub(in crate::join) fn steps(&self, first: usize) -> u64 {
        combination_count((self.blocks.len() - 1 - first) as u32, self.agreeing as u32 - 1) as u64
    }

    /// The combinations whose first agreeing block is the one at `first`.
    pub(in crate::join) fn combinations(&self, first: usize) -> Vec<Combination> {
        let start =
            Combination { agree: self.blocks[first], differ: self.blocks[..first].to_vec() };
        let mut combinations = Vec::new();
        self.extend(start, first + 1, self.agreeing - 1, &mut combinations);
        combinations
    }

    /// Appends all combinations that extend `begun` by `more` agreeing blocks from position `from`
    /// on.
    fn extend(
        &self,
        begun: Combination,
        from: usize,
        more: usize,
        combinations: &mut Vec<Combination>,
    ) {
        if more == 0 {
            combinations.push(begun);
            return;
        }
        let mut skipped = begun.differ;
        for next in from..=self.blocks.len() - more {
            let agree = begun.agree | self.blocks[next];
            let longer = Combination { agree, differ: skipped.clone() };
            self.extend(longer, next + 1, more - 1, combinations);
            skipped.push(self.blocks[next]);
        }
    }
}

/// The combinations of a blocking that have the same first agreeing block.
pub(in crate::join) struct OfFirst<'a> {
    pub(in crate::join) blocking: &'a Blocking,
    /// The position of this block.
    pub(in crate::join) first: usize,
    /// Computed on first use: combinations can be very many, and dividing values block by block
    /// needs none.
    combinations: OnceLock<Vec<Combination>>,
}

impl<'a> OfFirst<'a> {
    pub(in crate::join) fn new(blocking: &'a Blocking, first: usize) -> Self {
        OfFirst { blocking, first, combinations: OnceLock::new() }
    }

    pub(in crate::join) fn block(&self) -> u64 {
        self.blocking.blocks[self.first]
    }

    /// The bits of the first combination: its first block and the blocks directly after it.
    pub(super) fn agreed(&self) -> u64 {
        let blocks = &self.blocking.blocks[self.first..][..self.blocking.agreeing];
        blocks.iter().fold(0, |agreed, block| agreed | block)
    }

    pub(in crate::join) fn combinations(&self) -> &[Combination] {
        self.combinations.get_or_init(|| self.blocking.combinations(self.first))
    }
}

/// A node of the tree of combinations (see [`descent`](super::descent)): the path of blocks from
/// the root to it begins a combination.
#[derive(Clone, Copy)]
pub(super) struct Node<'a> {
    pub(super) blocking: &'a Blocking,
    /// The number of blocks on the path.
    pub(super) depth: usize,
    /// The position after the last block of the path.
    pub(super) next: usize,
    /// The number of values in a group if values are evenly distributed.
    even: f64,
}

impl<'a> Node<'a> {
    /// The root of the combinations with the first block `first`: its path is still empty.
    pub(super) fn before(blocking: &'a Blocking, first: usize) -> Self {
        Node { blocking, depth: 0, next: first, even: 0.0 }
    }

    /// The child node: its path also contains the block at `next`. `count` is the number of values
    /// of the group that agrees on this block.
    pub(super) fn with(self, next: usize, count: usize) -> Self {
        let even = if self.depth == 0 {
            // Counted, not estimated from the parent: the values of the parent may be only one of
            // many partitions by the first block.
            count as f64
        } else {
            self.even / (1_u64 << self.blocking.blocks[next].count_ones()) as f64
        };
        Node { depth: self.depth + 1, next: next + 1, even, ..self }
    }

    pub(super) fn is_skewed(&self, count: usize) -> bool {
        self.depth > 0 && count as f64 > SKEWED_MIN + SKEW * self.even
    }

    /// The positions of the possible next blocks.
    pub(super) fn choices(&self) -> std::ops::Range<usize> {
        let left = self.blocking.agreeing - self.depth;
        if left == 0 { 0..0 } else { self.next..self.blocking.blocks.len() + 1 - left }
    }

    /// Whether it is cheaper to divide `count` values by further blocks than to compare all pairs.
    pub(super) fn pays(&self, count: usize, pairs: f64) -> bool {
        let descent = Descent {
            bits: self.blocking.mean_bits(),
            choices: self.choices().len(),
            levels: self.blocking.agreeing - self.depth,
        };
        let (count, compare) = (count as f64, self.blocking.costs.compare);
        descent.nanos(count, pairs, compare) < comparing_nanos(count, pairs, compare)
    }
}

/// The expected nanoseconds of a join of `count` values with hash tables. `pairs` is the number of
/// all pairs, near or not; `bits` bits are cut into `blocks` blocks.
fn nanos(costs: Costs, bits: u32, blocks: u32, agreeing: u32, count: u64, pairs: f64) -> f64 {
    let shared = f64::from(bits) * f64::from(agreeing) / f64::from(blocks);
    let candidates = pairs / 2_f64.powf(shared);
    let firsts = f64::from(blocks - agreeing + 1);
    let count = count as f64;
    let Hashed { insert, candidate } = costs.hashed(count, f64::from(bits) / f64::from(blocks));
    count * firsts * NANOS_PER_MOVE
        + combination_count(blocks, agreeing) * (count * insert + candidates * candidate)
}

/// The binomial coefficient C(n, r).
fn combination_count(n: u32, r: u32) -> f64 {
    (1..=r).fold(1.0, |product, i| product * f64::from(n - r + i) / f64::from(i))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blockings(varying: u64, k: u32) -> Vec<Blocking> {
        let bits = varying.count_ones();
        let blocks = |agreeing: u32| (agreeing + k).min(bits);
        (1..=AGREEING_MAX)
            .filter(|agreeing| agreeing + k <= bits)
            .map(|agreeing| Blocking {
                blocks: even_blocks(varying, blocks(agreeing)),
                agreeing: agreeing as usize,
                nanos: 0,
                costs: Costs::LINES,
                may_divide: true,
            })
            .collect()
    }

    #[test]
    fn every_near_pair_belongs_to_exactly_one_combination() {
        for varying in [0xfff_u64, 0x8421_1248_00ff_0000, 0x7] {
            for k in 0..=4 {
                for blocking in blockings(varying, k) {
                    let firsts = 0..blocking.firsts().len();
                    let combinations: Vec<Combination> =
                        firsts.flat_map(|first| blocking.combinations(first)).collect();
                    let mut diff = 0_u64;
                    loop {
                        if diff.count_ones() <= k {
                            let owners = combinations.iter().filter(|of| {
                                diff & of.agree == 0
                                    && of.differ.iter().all(|block| diff & block != 0)
                            });
                            assert_eq!(owners.count(), 1, "{blocking:x?}, k={k}, {diff:x}");
                        }
                        // The next subset of the varying bits.
                        diff = diff.wrapping_sub(varying) & varying;
                        if diff == 0 {
                            break;
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn blocks_share_all_bits_evenly() {
        assert_eq!(even_blocks(u64::MAX, 4), [0xffff << 48, 0xffff << 32, 0xffff << 16, 0xffff]);
        let fifths = even_blocks(u64::MAX, 5);
        assert_eq!(fifths.iter().fold(0, |all, block| all ^ block), u64::MAX);
        assert!(fifths.iter().all(|block| [12, 13].contains(&block.count_ones())));
        assert_eq!(even_blocks(0b1011, 3), [8, 2, 1]);
    }

    #[test]
    fn two_of_five_blocks_are_chosen_for_ten_million_values_at_three() {
        let pairs = |n: f64| n * n / 2.0;
        let blocking = Blocking::choose(u64::MAX, 10_000_000, pairs(1e7), 3).unwrap();
        assert_eq!((blocking.blocks.len(), blocking.agreeing), (5, 2));
        let firsts = 0..blocking.firsts().len();
        assert_eq!(firsts.map(|first| blocking.combinations(first).len()).sum::<usize>(), 10);
        assert_eq!(Blocking::choose(u64::MAX, 20, pairs(20.0), 3), None);
        assert_eq!(Blocking::choose(0b11, 4, 6.0, 3), None);
    }
}
