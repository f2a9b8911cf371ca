//! Costs of the parts of a join on a processor, by which a blocking is chosen.

use super::hash_table::LINES_MAX;
use crate::search::kernel::Kernel;

/// Costs of the parts of a join on a processor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Costs {
    /// A hash table of few values, which fits the cache of a core.
    pub(super) few: Hashed,
    /// A hash table of more values.
    many: Hashed,
    /// Nanoseconds to compare two of many adjacent values.
    pub(super) compare: f64,
}

/// Costs of a hash table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Hashed {
    /// Nanoseconds to insert a value.
    pub(super) insert: f64,
    /// Nanoseconds to compare two values that agree.
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

    /// The costs of the table that this processor uses.
    pub(super) fn of_processor() -> Costs {
        if Kernel::detect().compares_words() { Costs::LINES } else { Costs::CHAINS }
    }

    /// The costs for `count` values without agreed bits, if values that agree on `bits` bits are
    /// inserted together.
    pub(super) fn hashed(&self, count: f64, bits: f64) -> Hashed {
        if count / 2_f64.powf(bits) <= LINES_MAX as f64 { self.few } else { self.many }
    }
}
