//! Nodes of the tree of combinations (see [`descent`](super::descent)), and when to descend
//! further.

use super::blocking::Blocking;
use super::costs::{Descent, comparing_nanos};

/// A group is skewed if it has more than `SKEWED_MIN` values plus this many times the number of
/// values of a group of evenly distributed values.
const SKEW: f64 = 4.0;
/// A group of at most this many values is never skewed.
const SKEWED_MIN: f64 = 256.0;

/// A node of the tree: the path of blocks from the root to it begins a combination.
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
            self.even / (1_u64 << self.blocking.blocks()[next].count_ones()) as f64
        };
        Node { depth: self.depth + 1, next: next + 1, even, ..self }
    }

    pub(super) fn is_skewed(&self, count: usize) -> bool {
        self.depth > 0 && count as f64 > SKEWED_MIN + SKEW * self.even
    }

    /// The positions of the possible next blocks.
    pub(super) fn choices(&self) -> std::ops::Range<usize> {
        let left = self.blocking.agreeing() - self.depth;
        if left == 0 { 0..0 } else { self.next..self.blocking.blocks().len() + 1 - left }
    }

    /// Whether it is cheaper to divide `count` values by further blocks than to compare all pairs.
    pub(super) fn pays(&self, count: usize, pairs: f64) -> bool {
        let descent = Descent {
            bits: self.blocking.mean_bits(),
            choices: self.choices().len(),
            levels: self.blocking.agreeing() - self.depth,
        };
        let (count, compare) = (count as f64, self.blocking.nanos_per_comparison());
        descent.nanos(count, pairs, compare) < comparing_nanos(count, pairs, compare)
    }
}
