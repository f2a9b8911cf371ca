//! Near pairs found by dividing values by one block after the other.
//!
//! With a large `k` a block has few bits. Then so many values agree on a combination that a hash
//! table holds hundreds of them for each key, which it compares one line after the other. Here the
//! values are divided by the blocks of a combination in turn, as a radix sort does, until so few are
//! left that comparing each with each is cheaper. All combinations that begin with the same blocks
//! share that work:
//!
//! ```text
//! blocks A B C D E, 3 agree:   A ── AB ── ABC, ABD, ABE
//!                                ├─ AC ── ACD, ACE          where B differs
//!                                └─ AD ── ADE               where B and C differ
//! ```
//!
//! A group at a node holds all values that agree on the blocks of its path. The first blocks on
//! which a near pair agrees are its path, so it comes to one group of each level; it is found in the
//! one at which the way down ends, and nowhere else.

use super::blocking::Blocking;
use super::finder::{Emit, PairFinder};
use super::sides::SidesMut;
use crate::base::error::Result;
use crate::bytes::mask::low_bits;

/// Nanoseconds to count and move a value to its group.
const NANOS_PER_MOVE: f64 = 2.5;
/// Nanoseconds that a group takes, whatever it holds.
const NANOS_PER_GROUP: f64 = 12.0;
/// A group is skewed if it has so many times the values that it would have if they were even,
const SKEW: f64 = 4.0;
/// and so many more.
const SKEWED_MIN: f64 = 256.0;

/// A place in the tree of combinations.
#[derive(Clone, Copy)]
pub(super) struct Node<'a> {
    pub(super) blocking: &'a Blocking,
    /// How many blocks of the path are chosen.
    depth: usize,
    /// The position after the last block of the path.
    next: usize,
    /// The values of an even group.
    even: f64,
}

/// The memory of a level: values in the order of their groups, for each side.
#[derive(Debug, Default)]
pub(super) struct Level {
    sides: [Side; 2],
}

#[derive(Debug, Default)]
struct Side {
    values: Vec<u64>,
    /// Where each group ends.
    ends: Vec<usize>,
}

impl<'a> Node<'a> {
    /// The node above all whose first block is the one at `first`: nothing is chosen yet.
    pub(super) fn before(blocking: &'a Blocking, first: usize) -> Self {
        Node { blocking, depth: 0, next: first, even: 0.0 }
    }

    /// The node of one block more, which a group of `count` values has in common.
    fn with(self, next: usize, count: usize) -> Self {
        let even = if self.depth == 0 {
            // They may be one of many partitions by their first block.
            count as f64
        } else {
            self.even / (1_u64 << self.blocking.blocks()[next].count_ones()) as f64
        };
        Node { depth: self.depth + 1, next: next + 1, even, ..self }
    }

    fn is_skewed(&self, count: usize) -> bool {
        self.depth > 0 && count as f64 > SKEWED_MIN + SKEW * self.even
    }

    /// The positions of the blocks that may come next.
    fn choices(&self) -> std::ops::Range<usize> {
        let left = self.blocking.agreeing() - self.depth;
        if left == 0 { 0..0 } else { self.next..self.blocking.blocks().len() + 1 - left }
    }

    /// Whether it is cheaper to divide `count` values by further blocks than to compare each with
    /// each.
    fn pays(&self, count: usize, pairs: f64) -> bool {
        let descent = Descent {
            bits: self.blocking.mean_bits(),
            choices: self.choices().len(),
            levels: self.blocking.agreeing() - self.depth,
        };
        let compare = self.blocking.nanos_per_comparison();
        descent.nanos(count as f64, pairs, compare) < pairs * compare
    }
}

/// What a way down is: one of `choices` blocks first, and up to so many levels.
pub(super) struct Descent {
    /// The bits of a block.
    pub(super) bits: f64,
    pub(super) choices: usize,
    pub(super) levels: usize,
}

impl Descent {
    /// The expected nanoseconds for `count` evenly distributed values that make `pairs` pairs, with
    /// the cheapest number of levels.
    pub(super) fn nanos(&self, count: f64, pairs: f64, nanos_per_comparison: f64) -> f64 {
        let groups = 2_f64.powf(self.bits);
        let (mut nodes, mut divided, mut above, mut compared) = (1.0, 0.0, 1.0, pairs);
        let mut least = compared * nanos_per_comparison;
        for level in 0..self.levels {
            // This level has C(choices + level, level + 1) nodes.
            nodes *= (self.choices + level) as f64 / (level + 1) as f64;
            divided += nodes * (count * NANOS_PER_MOVE + above * groups * NANOS_PER_GROUP);
            // No more groups can have values than there are values.
            above = f64::min(above * groups, count);
            compared /= groups;
            least = f64::min(least, divided + nodes * compared * nanos_per_comparison);
        }
        least
    }
}

impl PairFinder<'_> {
    /// Finds the pairs of the combinations that lie below a node, of values that agree on the blocks
    /// of its path.
    pub(super) fn descend(
        &mut self,
        sides: &mut SidesMut<'_>,
        node: Node<'_>,
        levels: &mut [Level],
        emit: Emit<'_>,
    ) -> Result<()> {
        let (count, pairs) = (sides.value_count(), sides.pair_count());
        if pairs < 1.0 {
            return Ok(());
        }
        if node.is_skewed(count) {
            return self.find_blocked(sides, emit);
        }
        // Nothing is compared before the first block: a pair must agree on it.
        let (true, Some((level, deeper))) =
            (node.depth == 0 || node.pays(count, pairs), levels.split_first_mut())
        else {
            return self.compare_group(sides, emit);
        };
        let differ_before = self.differ.len();
        let choices = if node.depth == 0 { node.next..node.next + 1 } else { node.choices() };
        for next in choices {
            let block = node.blocking.blocks()[next];
            level.divide(sides, block);
            for mut group in level.groups(matches!(sides, SidesMut::Within(_))) {
                let below = node.with(next, group.value_count());
                self.descend(&mut group, below, deeper, emit)?;
            }
            self.differ.push(block);
        }
        self.differ.truncate(differ_before);
        Ok(())
    }
}

impl Level {
    fn divide(&mut self, sides: &SidesMut<'_>, block: u64) {
        let [one, other] = &mut self.sides;
        match sides {
            SidesMut::Within(values) => one.divide(values, block),
            SidesMut::Across { probe, build } => {
                one.divide(probe, block);
                other.divide(build, block);
            }
        }
    }

    /// The groups that have pairs.
    fn groups(&mut self, is_one: bool) -> Groups<'_> {
        let [one, other] = &mut self.sides;
        Groups {
            is_one,
            rests: [&mut one.values, &mut other.values],
            ends: [&one.ends, &other.ends],
            starts: [0; 2],
            number: 0,
        }
    }
}

impl Side {
    fn divide(&mut self, values: &[u64], block: u64) {
        let (start, bits) = (block.trailing_zeros(), block.count_ones());
        if block >> start == low_bits(bits) {
            let last = low_bits(bits);
            self.divide_by(values, bits, |value| (value >> start & last) as usize);
        } else {
            self.divide_by(values, bits, |value| gather(value, block));
        }
    }

    /// Counts, then moves.
    #[inline(always)]
    fn divide_by(&mut self, values: &[u64], bits: u32, group: impl Fn(u64) -> usize) {
        let Side { values: divided, ends } = self;
        ends.clear();
        ends.resize(1 << bits, 0);
        for &value in values {
            ends[group(value)] += 1;
        }
        let mut next = 0;
        for end in ends.iter_mut() {
            next += std::mem::replace(end, next);
        }
        divided.resize(values.len(), 0);
        for &value in values {
            let end = &mut ends[group(value)];
            divided[*end] = value;
            *end += 1;
        }
    }
}

/// Gathers the bits of a block, in their order: the number of a group.
#[inline(always)]
fn gather(value: u64, block: u64) -> usize {
    let (mut rest, mut gathered, mut at) = (block, 0, 0);
    while rest != 0 {
        // The lowest bits that lie side by side.
        let start = rest.trailing_zeros();
        let len = (rest >> start).trailing_ones();
        gathered |= (value >> start & low_bits(len)) << at;
        at += len;
        rest &= !(low_bits(len) << start);
    }
    gathered as usize
}

/// Iterates over the groups of a level that have pairs.
struct Groups<'a> {
    is_one: bool,
    rests: [&'a mut [u64]; 2],
    ends: [&'a [usize]; 2],
    starts: [usize; 2],
    number: usize,
}

impl<'a> Groups<'a> {
    /// The values of a side in the next group.
    fn take(&mut self, side: usize) -> &'a mut [u64] {
        let end = self.ends[side][self.number];
        let rest = std::mem::take(&mut self.rests[side]);
        let (group, rest) = rest.split_at_mut(end - self.starts[side]);
        self.rests[side] = rest;
        self.starts[side] = end;
        group
    }
}

impl<'a> Iterator for Groups<'a> {
    type Item = SidesMut<'a>;

    fn next(&mut self) -> Option<SidesMut<'a>> {
        while self.number < self.ends[0].len() {
            let probe = self.take(0);
            let group = if self.is_one {
                SidesMut::Within(probe)
            } else {
                SidesMut::Across { probe, build: self.take(1) }
            };
            self.number += 1;
            if group.has_pairs() {
                return Some(group);
            }
        }
        None
    }
}
