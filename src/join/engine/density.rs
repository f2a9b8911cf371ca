//! Values that are so dense that their pairs need not be found to say that they belong together.
//!
//! A join whose caller only wants to know which values near pairs *connect* may give a whole set of
//! dense values as one. The set may hold values that no pair connects: the caller takes sets that
//! are too large, and looks for what it wants inside each.

/// Takes values that are connected without their pairs. A set may come in several calls, each of
/// which has one of its values first. Threads call it side by side.
pub(in crate::join) type Connect<'a> =
    &'a (dyn Fn(&[u64]) -> crate::base::error::Result<()> + Sync);

/// Near values of each value, from which on a group is connected without its pairs.
pub(in crate::join) const CONNECTED_DEGREE: f64 = 32.0;
/// Near pairs of a sample that are too few to say anything.
const SAMPLED_NEAR_MIN: usize = 8;

/// The near pairs of a sample, which has the differences of some pairs.
pub(in crate::join) fn near_count(sample: &[u64], k: u32) -> usize {
    sample.iter().filter(|diff| diff.count_ones() <= k).count()
}

/// Whether each of `count` values is near to `degree` others, as the differences of some pairs say.
pub(in crate::join) fn is_dense(sample: &[u64], count: u64, degree: f64, k: u32) -> bool {
    let near = near_count(sample, k);
    near >= SAMPLED_NEAR_MIN && count as f64 * near as f64 >= degree * sample.len() as f64
}

/// Whether a fourth of all pairs is near: the values are about one cluster.
pub(in crate::join) fn is_cluster(sample: &[u64], k: u32) -> bool {
    4 * near_count(sample, k) > sample.len()
}
