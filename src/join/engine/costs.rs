//! The costs of the steps of a join, used to choose the cheapest blocking.

use super::hash_table::LINES_MAX;
use crate::search::kernel::Kernel;

/// The costs of the steps of a join, for one kind of processor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Costs {
    /// Costs of a hash table of few values, which fits the cache of a core.
    pub(super) few: Hashed,
    /// Costs of a larger hash table.
    many: Hashed,
    /// Nanoseconds to compare a pair, if all pairs of a list of values are compared.
    pub(super) compare: f64,
}

/// Costs of a hash table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Hashed {
    /// Nanoseconds to insert a value.
    pub(super) insert: f64,
    /// Nanoseconds to compare a value with another one in the same bucket.
    pub(super) candidate: f64,
}

impl Costs {
    /// Costs of [`chains`](super::chains).
    const CHAINS: Costs = {
        let chained = Hashed { insert: 3.0, candidate: 2.0 };
        Costs { few: chained, many: chained, compare: 0.8 }
    };
    /// Costs of [`line_table`](super::line_table) and [`group_table`](super::group_table), which
    /// compare several values at once.
    pub(super) const LINES: Costs = Costs {
        few: Hashed { insert: 3.5, candidate: 1.0 },
        many: Hashed { insert: 11.0, candidate: 0.3 },
        compare: 0.2,
    };

    /// The costs of the kind of hash table that this processor uses.
    pub(super) fn of_processor() -> Costs {
        if Kernel::detect().compares_words() { Costs::LINES } else { Costs::CHAINS }
    }

    /// The costs for `count` evenly distributed values, if each hash table contains only values
    /// that agree on `bits` bits.
    pub(super) fn hashed(&self, count: f64, bits: f64) -> Hashed {
        if count / 2_f64.powf(bits) <= LINES_MAX as f64 { self.few } else { self.many }
    }
}

/// Nanoseconds to count a value and move it to its group.
const NANOS_PER_MOVE: f64 = 2.5;
/// Nanoseconds for each value of a compared group, in addition to the cost of the pairs.
const NANOS_PER_COMPARED: f64 = 6.0;
/// Nanoseconds for each group of a division, independent of its size.
const NANOS_PER_GROUP: f64 = 12.0;

/// A descent (see [`descent`](super::descent)): the first block is one of `choices`, and values are
/// divided by up to `levels` blocks.
pub(super) struct Descent {
    /// The mean number of bits of a block.
    pub(super) bits: f64,
    pub(super) choices: usize,
    pub(super) levels: usize,
}

impl Descent {
    /// The expected nanoseconds for `count` evenly distributed values with `pairs` pairs in all,
    /// for the cheapest number of levels.
    pub(super) fn nanos(&self, count: f64, pairs: f64, nanos_per_comparison: f64) -> f64 {
        let groups = 2_f64.powf(self.bits);
        let (mut nodes, mut divided, mut above, mut compared) = (1.0, 0.0, 1.0, pairs);
        let mut least = comparing_nanos(count, pairs, nanos_per_comparison);
        for level in 0..self.levels {
            // This level has C(choices + level, level + 1) nodes.
            nodes *= (self.choices + level) as f64 / (level + 1) as f64;
            divided += nodes * (count * NANOS_PER_MOVE + above * groups * NANOS_PER_GROUP);
            // At most `count` groups are not empty.
            above = f64::min(above * groups, count);
            compared /= groups;
            let each = comparing_nanos(count, compared, nanos_per_comparison);
            least = f64::min(least, divided + nodes * each);
        }
        least
    }
}

/// The nanoseconds to compare all pairs within groups: `count` values in all groups, `pairs` pairs.
pub(super) fn comparing_nanos(count: f64, pairs: f64, nanos_per_comparison: f64) -> f64 {
    count * NANOS_PER_COMPARED + pairs * nanos_per_comparison
}
