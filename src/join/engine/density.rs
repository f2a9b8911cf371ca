//! Detection of dense values, which can be merged without enumerating their pairs.
//!
//! If the caller of a join only needs the components that near pairs *connect*, the join may pass
//! a whole set of dense values at once. The set may contain values that no pair connects: the
//! caller accepts sets that are too large, and searches inside each.

/// Callback for connected values whose pairs are not enumerated. A set may be passed in several
/// calls, each beginning with the same value of the set. Threads call it concurrently.
pub(in crate::join) type Connect<'a> =
    &'a (dyn Fn(&[u64]) -> crate::base::error::Result<()> + Sync);

/// Mean number of near values of a value from which a group is connected without its pairs.
pub(in crate::join) const CONNECTED_DEGREE: f64 = 32.0;
/// Minimum number of near pairs in a sample for an estimate.
const SAMPLED_NEAR_MIN: usize = 8;

/// The number of near pairs in a sample of differences.
pub(in crate::join) fn near_count(sample: &[u64], k: u32) -> usize {
    sample.iter().filter(|diff| diff.count_ones() <= k).count()
}

/// Whether each of `count` values is near `degree` others on average, estimated from the
/// differences of some pairs.
pub(in crate::join) fn is_dense(sample: &[u64], count: u64, degree: f64, k: u32) -> bool {
    let near = near_count(sample, k);
    near >= SAMPLED_NEAR_MIN && count as f64 * near as f64 >= degree * sample.len() as f64
}

/// Whether more than a quarter of all pairs is near: the values roughly form one cluster.
pub(in crate::join) fn is_cluster(sample: &[u64], k: u32) -> bool {
    4 * near_count(sample, k) > sample.len()
}
