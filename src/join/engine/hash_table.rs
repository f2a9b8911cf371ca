//! Pairs of values that agree on a mask, found with a chained hash table.
//!
//! [`HashTable::pairs`] inserts the values of one partition, hashed by their masked bits, and
//! compares each with the values in its bucket. Called by the pair finder once for each partition
//! and combination of blocks, so hundreds of thousands of times in a large join.
//!
//! The table is our own because it must be refilled that often and stay in a core's cache. It
//! takes 10 to 18 bytes a value: four to eight buckets of 2 bytes and one link of 2 bytes. It is
//! emptied by one fill and it holds any number of values with the same key. A hashbrown map from
//! key to position takes 17 bytes an entry before its free space, and needs a list for each key.
//! With this table, a join of 10^7 values at k = 3 takes 0.64 of the time of ten sorted copies
//! (benches/README.md).

use super::sides::Sides;

/// An odd number whose bits are well mixed: 2^64 divided by the golden ratio.
const BUCKET_FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
/// Another one: values of one partition must not all fall into a few buckets.
const PARTITION_FACTOR: u64 = 0xd6e8_feb8_6659_fd93;
/// Comparisons for each value after which the values count as skewed.
const COMPARISONS_PER_VALUE: u64 = 16;
/// Comparisons that are allowed for any number of values.
const COMPARISONS_FREE: u64 = 4096;
/// Buckets for each value, as a power of two: most buckets are empty.
const BUCKETS_PER_VALUE_LOG: u32 = 2;

/// A bucket of `2^bits`, the same for all values that agree on `mask`. `bits` is 1 to 63.
#[inline(always)]
fn bucket(value: u64, mask: u64, bits: u32) -> usize {
    ((value & mask).wrapping_mul(BUCKET_FACTOR) >> (64 - bits)) as usize
}

/// The partition of a value among `2^bits`, inside one of `2^skipped` larger partitions; the same
/// for all values that agree on `mask`.
#[inline(always)]
pub(in crate::join) fn partition_of(value: u64, mask: u64, skipped: u32, bits: u32) -> usize {
    ((value & mask).wrapping_mul(PARTITION_FACTOR) << skipped >> (64 - bits)) as usize
}

/// The memory of a hash table, kept from one set of values to the next.
#[derive(Debug, Default)]
pub(in crate::join) struct HashTable {
    small: Chains<u16>,
    large: Chains<u32>,
}

impl HashTable {
    /// Calls `emit` with each pair that agrees on `mask` and whose difference `is_near` accepts.
    ///
    /// Returns `false` if the values are skewed: too many agree on the mask, and the pairs are
    /// incomplete.
    #[inline(always)]
    pub(in crate::join) fn pairs(
        &mut self,
        sides: Sides<'_>,
        mask: u64,
        is_near: impl Fn(u64) -> bool,
        emit: impl FnMut(u64, u64),
    ) -> bool {
        let build_count = match sides {
            Sides::Within(values) => values.len(),
            Sides::Across { build, .. } => build.len(),
        };
        if build_count < usize::from(u16::MAX) {
            self.small.pairs(sides, mask, is_near, emit)
        } else {
            self.large.pairs(sides, mask, is_near, emit)
        }
    }
}

/// A link of a chain: one past the position of a value; 0 ends the chain.
trait Link: Copy + Default {
    fn of(position: usize) -> Self;
    fn get(self) -> usize;
}

impl Link for u16 {
    #[inline(always)]
    fn of(position: usize) -> Self {
        position as u16
    }

    #[inline(always)]
    fn get(self) -> usize {
        usize::from(self)
    }
}

impl Link for u32 {
    #[inline(always)]
    fn of(position: usize) -> Self {
        position as u32
    }

    #[inline(always)]
    fn get(self) -> usize {
        self as usize
    }
}

/// For each bucket the link to its last value, and for each value the link to the one before it.
#[derive(Debug, Default)]
struct Chains<L> {
    heads: Vec<L>,
    nexts: Vec<L>,
}

impl<L: Link> Chains<L> {
    #[inline(always)]
    fn pairs(
        &mut self,
        sides: Sides<'_>,
        mask: u64,
        is_near: impl Fn(u64) -> bool,
        mut emit: impl FnMut(u64, u64),
    ) -> bool {
        match sides {
            Sides::Within(values) => {
                let bits = self.clear(values.len());
                let mut comparisons = 0;
                for (at, &value) in values.iter().enumerate() {
                    let slot = bucket(value, mask, bits);
                    let first = self.heads[slot];
                    self.heads[slot] = L::of(at + 1);
                    self.nexts[at] = first;
                    let mut link = first.get();
                    while link > 0 {
                        let other = values[link - 1];
                        let diff = value ^ other;
                        if diff & mask == 0 && is_near(diff) {
                            emit(value, other);
                        }
                        link = self.nexts[link - 1].get();
                        comparisons += 1;
                    }
                    if comparisons > COMPARISONS_FREE + COMPARISONS_PER_VALUE * at as u64 {
                        return false;
                    }
                }
            }
            Sides::Across { probe, build } => {
                let bits = self.clear(build.len());
                for (at, &value) in build.iter().enumerate() {
                    let slot = bucket(value, mask, bits);
                    self.nexts[at] = self.heads[slot];
                    self.heads[slot] = L::of(at + 1);
                }
                let mut comparisons = 0;
                for (at, &value) in probe.iter().enumerate() {
                    let mut link = self.heads[bucket(value, mask, bits)].get();
                    while link > 0 {
                        let other = build[link - 1];
                        let diff = value ^ other;
                        if diff & mask == 0 && is_near(diff) {
                            emit(value, other);
                        }
                        link = self.nexts[link - 1].get();
                        comparisons += 1;
                        // Checked inside the chain: one value may agree with a whole large set.
                        let count = (at + build.len()) as u64;
                        if comparisons > COMPARISONS_FREE + COMPARISONS_PER_VALUE * count {
                            return false;
                        }
                    }
                }
            }
        }
        true
    }

    /// Empties the table and makes it large enough for `count` values. Returns the bits that
    /// choose a bucket.
    fn clear(&mut self, count: usize) -> u32 {
        let bits = count.max(1).next_power_of_two().ilog2() + BUCKETS_PER_VALUE_LOG;
        self.heads.clear();
        self.heads.resize(1 << bits, L::default());
        if self.nexts.len() < count {
            self.nexts.resize(count, L::default());
        }
        bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(sides: Sides<'_>, mask: u64) -> Option<Vec<(u64, u64)>> {
        let mut found = Vec::new();
        let near = |diff: u64| diff.count_ones() <= 1;
        let whole = HashTable::default().pairs(sides, mask, near, |a, b| found.push((a, b)));
        found.sort_unstable();
        whole.then_some(found)
    }

    #[test]
    fn only_near_values_that_agree_on_the_mask_are_paired() {
        let values = [0b0000, 0b0001, 0b0011, 0b1000];
        assert_eq!(pairs(Sides::Within(&values), 0b1100), Some(vec![(1, 0), (3, 1)]));
        assert_eq!(pairs(Sides::Within(&values), 0b0011), Some(vec![(8, 0)]));
        let sides = Sides::Across { probe: &values[..2], build: &values[1..] };
        assert_eq!(pairs(sides, 0b1100), Some(vec![(0, 1), (1, 1), (1, 3)]));
    }

    #[test]
    fn values_that_all_agree_are_reported_as_skewed() {
        let values: Vec<u64> = (0..2000).collect();
        assert_eq!(pairs(Sides::Within(&values), 1 << 63), None);
        let probe = [1 << 40];
        assert!(pairs(Sides::Across { probe: &probe, build: &values }, 1 << 63).is_some());
        let sides = Sides::Across { probe: &values, build: &values };
        assert_eq!(pairs(sides, 1 << 63), None);
    }
}
