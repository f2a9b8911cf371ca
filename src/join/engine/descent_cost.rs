//! The cost of dividing values by one block after the other.

/// Nanoseconds to count and move a value to its group.
const NANOS_PER_MOVE: f64 = 2.5;
/// Nanoseconds for each compared value, independent of the number of others.
const NANOS_PER_COMPARED: f64 = 6.0;
/// Nanoseconds for each group, independent of its size.
const NANOS_PER_GROUP: f64 = 12.0;

/// A descent: one of `choices` blocks first, and up to `levels` blocks in all.
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

/// The nanoseconds to compare `count` values in groups with `pairs` pairs.
pub(super) fn comparing_nanos(count: f64, pairs: f64, nanos_per_comparison: f64) -> f64 {
    count * NANOS_PER_COMPARED + pairs * nanos_per_comparison
}
