//! A hash table whose buckets are chains: each value links to the one inserted before it.
//!
//! The table takes 10 to 18 bytes for each value: four to eight buckets of 2 bytes and one link of
//! 2 bytes. It is emptied by one fill of the buckets. Used where the processor cannot compare a
//! whole line of values at once ([`line_table`](super::line_table)).

use super::hashing::bucket;
use super::sides::Sides;

/// With more comparisons for each value than this, values count as skewed, and comparing ends.
const COMPARISONS_PER_VALUE: u64 = 16;
/// Values never count as skewed before this number of comparisons.
const COMPARISONS_FREE: u64 = 4096;
/// Binary logarithm of the number of buckets for each value: most buckets are empty.
const BUCKETS_PER_VALUE_LOG: u32 = 2;

/// A link of a chain: the position of a value plus 1; 0 ends the chain.
pub(super) trait Link: Copy + Default {
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

/// The table: for each bucket the link to its last value, and for each value the link to the value
/// before it in its bucket.
#[derive(Debug, Default)]
pub(super) struct Chains<L> {
    heads: Vec<L>,
    nexts: Vec<L>,
}

impl<L: Link> Chains<L> {
    /// The algorithm of [`HashTable::pairs`](super::hash_table::HashTable::pairs). The build side
    /// must not have more values than a link can address.
    #[inline(always)]
    pub(super) fn pairs(
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
                        // Checked after each comparison: the chain of a single value may contain
                        // the whole build side.
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

    /// Empties the table and makes it large enough for `count` values. Returns the number of bits
    /// of a bucket number.
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
