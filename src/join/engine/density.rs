//! Detects dense values, which can be merged without enumerating their pairs.
//!
//! A caller of a join may only need the components that near pairs *connect*. Then the join may
//! pass a whole set of dense values to the caller, without its pairs. The set may contain values
//! that no near pair connects: the caller must accept such sets, and find the near pairs in each.

/// Callback for connected values whose pairs are not enumerated. A set may be passed in several
/// calls, all with the same first value. Threads call it concurrently.
pub(in crate::join) type Connect<'a> =
    &'a (dyn Fn(&[u64]) -> crate::base::error::Result<()> + Sync);

/// A group is passed to [`Connect`] if its values have this many near values on average.
pub(in crate::join) const CONNECTED_DEGREE: f64 = 32.0;
/// With fewer near pairs in a sample than this, values do not count as dense.
const SAMPLED_NEAR_MIN: usize = 8;

/// The number of near pairs in a sample, given the differences (XOR) of its pairs.
pub(in crate::join) fn near_count(sample: &[u64], k: u32) -> usize {
    sample.iter().filter(|diff| diff.count_ones() <= k).count()
}

/// Whether `count` values have at least `degree` near values on average, estimated from the
/// differences of some pairs.
pub(in crate::join) fn is_dense(sample: &[u64], count: u64, degree: f64, k: u32) -> bool {
    let near = near_count(sample, k);
    near >= SAMPLED_NEAR_MIN && count as f64 * near as f64 >= degree * sample.len() as f64
}

/// Whether more than a quarter of the sampled pairs are near: the values roughly form one cluster.
pub(in crate::join) fn is_cluster(sample: &[u64], k: u32) -> bool {
    4 * near_count(sample, k) > sample.len()
}
