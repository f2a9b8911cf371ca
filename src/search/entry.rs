//! How a needle enters one table: its permuted form, and which bits a probe may forgive.

use crate::bits::permutation::Permuted;
use crate::fingerprint::Fingerprint;
use crate::format::header::TableDescriptor;
use crate::format::near_heads::Needle;
use crate::section::BlockIndex;
use crate::segment::Table;

/// How the needle enters one table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// The number of its query.
    pub(super) query: u32,
    pub(super) needle: Fingerprint,
    /// The position of the table in the segment.
    pub(super) table: usize,
    pub(super) radius: u32,
    pub(super) permuted: Permuted,
    needle_head: u64,
    /// Masked bits among those that name a block.
    pub(super) leading: u32,
    /// Bits of the name of a block below the mask.
    pub(super) free_leading: u32,
    /// Masked bits among the bits of a head.
    prefix_mask: u64,
    /// Bits of a head below those that name its block.
    inner_bits: u32,
    /// Masked bits among them, and how many bits lie below those.
    pub(super) inner_masked: u32,
    inner_free: u32,
    /// The masked ones among the inner bits of the needle.
    inner: u64,
}

impl Entry {
    pub(super) fn new(
        query: u32,
        number: usize,
        table: &Table,
        radius: u32,
        needle: Fingerprint,
    ) -> Self {
        let TableDescriptor { tail_bits, block_bits, .. } = table.descriptor;
        let prefix_bits = table.permutation.prefix_bits();
        let head_bits = table.descriptor.head_bits();
        let inner_bits = table.descriptor.inner_bits();
        let masked_in_head = prefix_bits.min(head_bits);
        let inner_free = head_bits - masked_in_head.max(block_bits);
        let permuted = table.permutation.apply(needle);
        let needle_head = table.head_of(permuted);
        let leading = prefix_bits.min(block_bits);
        Entry {
            query,
            needle,
            table: number,
            radius,
            permuted,
            needle_head,
            leading,
            free_leading: block_bits - leading,
            // A mask has at least one bit, so the shift is below 64.
            prefix_mask: u64::MAX << (64 - prefix_bits) >> tail_bits,
            inner_bits,
            inner_masked: masked_in_head.saturating_sub(block_bits),
            inner_free,
            inner: needle_head & low_bits(inner_bits) & !low_bits(inner_free),
        }
    }

    /// The heads in a block whose inner masked bits are the needle's but for `flips`.
    #[inline(always)]
    pub(super) fn range(&self, block: BlockIndex, flips: u64) -> (u64, u64) {
        let base = block.0.checked_shl(self.inner_bits).unwrap_or(0);
        let low = base | (self.inner ^ flips << self.inner_free);
        (low, low | low_bits(self.inner_free))
    }

    /// What the heads of a block are compared with, the needle having these flips among its inner masked bits.
    #[inline(always)]
    pub(super) fn near_needle(&self, flips: u64, k: u32) -> Needle {
        // What lies above the block is compared too: it must be zero, as in the needle.
        let mask = u64::MAX.checked_shl(self.inner_free).unwrap_or(0);
        let inner = self.inner ^ flips << self.inner_free;
        Needle { head: self.needle_head, inner_bits: self.inner_bits, inner, mask, k }
    }

    /// Whether a value with this head can be a match that this table finds.
    #[inline(always)]
    pub(super) fn passes(&self, head: u64, k: u32) -> bool {
        let diff = head ^ self.needle_head;
        at_most_bits(diff & self.prefix_mask, self.radius) && at_most_bits(diff, k)
    }
}

/// Whether at most `count` bits are set. Few are asked for as a rule, and clearing them one by
/// one is faster than counting on processors without an instruction for it.
#[inline(always)]
fn at_most_bits(mut word: u64, count: u32) -> bool {
    if count == 1 {
        return word & word.wrapping_sub(1) == 0;
    }
    if count > 4 {
        return word.count_ones() <= count;
    }
    for _ in 0..count {
        word &= word.wrapping_sub(1);
    }
    word == 0
}

/// A word with the low `count` bits set.
#[inline(always)]
fn low_bits(count: u32) -> u64 {
    u64::MAX.checked_shr(64 - count).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn few_bits_are_told_from_more(word: u64, mask: u64, other: u64, count in 0..=64_u32) {
            for word in [word, word & mask, word & mask & other, 0, u64::MAX] {
                for count in [count, 0, 1, 2, 3, 4, 5] {
                    prop_assert_eq!(at_most_bits(word, count), word.count_ones() <= count);
                }
            }
        }
    }
}
