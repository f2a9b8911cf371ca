//! Pairs that agree on a mask, found through a hash table of chains.
//!
//! Sorting would bring together what agrees; a table of chains does so with one look at each
//! value, and stays in the cache as long as the values do.

/// An odd number whose bits are well mixed: 2^64 divided by the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
/// Another: parts must not be told apart by the same bits as chains.
const PART_SPREAD: u64 = 0xd6e8_feb8_6659_fd93;
/// Comparisons for each value after which a set counts as crowded.
const STEPS_PER_VALUE: u64 = 16;
/// Comparisons that any set may take.
const STEPS_FREE: u64 = 4096;
/// Heads of chains for each value, as a power of two: few values then meet a chain.
const HEADS_PER_VALUE_LOG: u32 = 2;

/// A number of `bits` bits that is the same for all values that agree on `mask`.
#[inline(always)]
fn bucket(value: u64, mask: u64, bits: u32) -> usize {
    // There is always at least one bit to tell, so the shift is below 64.
    ((value & mask).wrapping_mul(SPREAD) >> (64 - bits)) as usize
}

/// The part of a value among `2^bits`, within one of `2^skipped` larger parts; the same for all values
/// that agree on `mask`.
#[inline(always)]
pub(super) fn part(value: u64, mask: u64, skipped: u32, bits: u32) -> usize {
    ((value & mask).wrapping_mul(PART_SPREAD) << skipped >> (64 - bits)) as usize
}

/// Whether at most `K` bits are set, for `K` up to 4; clearing them one by one is faster than
/// counting on processors without an instruction for it.
#[inline(always)]
pub(super) fn at_most<const K: u32>(mut word: u64) -> bool {
    for _ in 0..K {
        word &= word.wrapping_sub(1);
    }
    word == 0
}

/// The tables, kept from set to set.
#[derive(Debug, Default)]
pub(super) struct Chains {
    small: Links<u16>,
    large: Links<u32>,
}

/// One past the position of a value; 0 is none.
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

/// Which values are compared with which.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sets<'a> {
    /// Those of one set with one another.
    Within(&'a [u64]),
    /// Each of the first with each of the second.
    Across(&'a [u64], &'a [u64]),
}

impl Chains {
    /// Hands all pairs that agree on `mask` and that `near` lets pass, given their difference, to
    /// `found`; `false` if the set is crowded, and then some pairs are missing.
    #[inline(always)]
    pub(super) fn pairs(
        &mut self,
        sets: Sets<'_>,
        mask: u64,
        near: impl Fn(u64) -> bool,
        found: impl FnMut(u64, u64),
    ) -> bool {
        let count = match sets {
            Sets::Within(values) => values.len(),
            Sets::Across(_, held) => held.len(),
        };
        match count < usize::from(u16::MAX) {
            true => self.small.pairs(sets, mask, near, found),
            false => self.large.pairs(sets, mask, near, found),
        }
    }
}

#[derive(Debug, Default)]
struct Links<L> {
    heads: Vec<L>,
    nexts: Vec<L>,
}

impl<L: Link> Links<L> {
    #[inline(always)]
    fn pairs(
        &mut self,
        sets: Sets<'_>,
        mask: u64,
        near: impl Fn(u64) -> bool,
        mut found: impl FnMut(u64, u64),
    ) -> bool {
        match sets {
            Sets::Within(values) => {
                let bits = self.clear(values.len());
                let mut steps = 0;
                for (at, &value) in values.iter().enumerate() {
                    let slot = bucket(value, mask, bits);
                    let first = self.heads[slot];
                    self.heads[slot] = L::of(at + 1);
                    self.nexts[at] = first;
                    let mut link = first.get();
                    while link > 0 {
                        let other = values[link - 1];
                        let diff = value ^ other;
                        if diff & mask == 0 && near(diff) {
                            found(value, other);
                        }
                        link = self.nexts[link - 1].get();
                        steps += 1;
                    }
                    if steps > STEPS_FREE + STEPS_PER_VALUE * at as u64 {
                        return false;
                    }
                }
            }
            Sets::Across(asking, held) => {
                let bits = self.clear(held.len());
                for (at, &value) in held.iter().enumerate() {
                    let slot = bucket(value, mask, bits);
                    self.nexts[at] = self.heads[slot];
                    self.heads[slot] = L::of(at + 1);
                }
                let mut steps = 0;
                for (at, &value) in asking.iter().enumerate() {
                    let mut link = self.heads[bucket(value, mask, bits)].get();
                    while link > 0 {
                        let other = held[link - 1];
                        let diff = value ^ other;
                        if diff & mask == 0 && near(diff) {
                            found(value, other);
                        }
                        link = self.nexts[link - 1].get();
                        steps += 1;
                        // One value may meet all of a large set.
                        if steps > STEPS_FREE + STEPS_PER_VALUE * (at + held.len()) as u64 {
                            return false;
                        }
                    }
                }
            }
        }
        true
    }

    /// Empties the table for so many values: the bits that choose a chain.
    fn clear(&mut self, count: usize) -> u32 {
        let bits = count.max(1).next_power_of_two().ilog2() + HEADS_PER_VALUE_LOG;
        self.heads.clear();
        self.heads.resize(1 << bits, L::default());
        if self.nexts.len() < count {
            self.nexts.resize(count, L::default());
        }
        bits
    }
}
