//! What parts of a join take on a processor, by which a blocking is chosen.

use super::hash_table::LINES_MAX;
use crate::search::kernel::Kernel;

/// What parts of a join take on a processor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Costs {
    /// Of few values, as one table holds in the cache of a core.
    pub(super) few: Hashed,
    /// Of more.
    many: Hashed,
    /// Nanoseconds to compare two values of many that lie side by side.
    pub(super) compare: f64,
}

/// What a hash table takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Hashed {
    /// Nanoseconds to insert a value.
    pub(super) insert: f64,
    /// Nanoseconds to compare two values that agree.
    pub(super) candidate: f64,
}

impl Costs {
    /// Of [`chains`](super::chains).
    const CHAINS: Costs = {
        let chained = Hashed { insert: 3.0, candidate: 2.0 };
        Costs { few: chained, many: chained, compare: 0.8 }
    };
    /// Of [`line_table`](super::line_table) and [`group_table`](super::group_table): more are compared
    /// at once.
    pub(super) const LINES: Costs = Costs {
        few: Hashed { insert: 3.5, candidate: 1.0 },
        many: Hashed { insert: 11.0, candidate: 0.3 },
        compare: 0.2,
    };

    /// Of the table that this processor uses.
    pub(super) fn of_processor() -> Costs {
        if Kernel::detect().compares_words() { Costs::LINES } else { Costs::CHAINS }
    }

    /// Of `count` values that agree on nothing, of which those are inserted together that agree on
    /// `bits` bits.
    pub(super) fn hashed(&self, count: f64, bits: f64) -> Hashed {
        if count / 2_f64.powf(bits) <= LINES_MAX as f64 { self.few } else { self.many }
    }
}
