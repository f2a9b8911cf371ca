//! The hash functions of a join: the bucket of a value in a table, and the partition of a value.

/// An odd number whose bits are well mixed: 2^64 divided by the golden ratio.
const BUCKET_FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
/// An odd number unlike `BUCKET_FACTOR`: with the same factor, the values of a partition would fall
/// into few buckets.
const PARTITION_FACTOR: u64 = 0xd6e8_feb8_6659_fd93;

/// The bucket of a value, out of `2^bits`; the same for all values that agree on `mask`. `bits` is
/// 1 to 63.
#[inline(always)]
pub(super) fn bucket(value: u64, mask: u64, bits: u32) -> usize {
    ((value & mask).wrapping_mul(BUCKET_FACTOR) >> (64 - bits)) as usize
}

/// The partition of a value, out of the `2^bits` parts of one of `2^skipped` larger partitions; the
/// same for all values that agree on `mask`.
#[inline(always)]
pub(super) fn partition_of(value: u64, mask: u64, skipped: u32, bits: u32) -> usize {
    ((value & mask).wrapping_mul(PARTITION_FACTOR) << skipped >> (64 - bits)) as usize
}
