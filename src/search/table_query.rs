//! A query prepared for one table: its permuted needle, the bits that may differ, and all ways to
//! flip them.
//!
//! A value of a table has these parts, from the first bit to the last; `p` bits are under the mask
//! of the table:
//!
//! ```text
//! |<---- block_bits ---->|<------- inner_bits ------->|<- tail_bits ->|
//! |  leading  |   free   |  inner_masked  | inner_free |     tail      |
//! |<-------------- p masked bits -------->|
//! ```
//!
//! There are no free bits if `p` is at least `block_bits`, and no inner masked bits if `p` is at
//! most `block_bits`.

use crate::bytes::mask::low_bits;
use crate::bytes::permutation::Permuted;
use crate::search::kernel::Needle;
use crate::segment::TableReader;
use fpstore_base::Fingerprint;

#[derive(Clone, Copy, Debug)]
pub(super) struct TableQuery {
    /// The number of the query among all queries of the search.
    pub(super) number: u32,
    pub(super) needle: Fingerprint,
    /// The position of the table in the segment.
    pub(super) table: usize,
    /// The number of differing bits allowed under the mask.
    pub(super) radius: u32,
    pub(super) permuted: Permuted,
    needle_head: u64,
    /// The number of bits of the block number that are under the mask.
    pub(super) leading: u32,
    /// The number of bits of the block number that are outside the mask.
    pub(super) free_leading: u32,
    /// The number of head bits below the block number.
    inner_bits: u32,
    /// The number of inner bits under the mask, and of inner bits outside the mask.
    pub(super) inner_masked: u32,
    inner_free: u32,
    /// The inner bits of the needle that are under the mask.
    inner: u64,
}

impl TableQuery {
    /// Prepares query `number` for the table at position `table`.
    pub(super) fn new(
        number: u32,
        needle: Fingerprint,
        table: usize,
        reader: TableReader<'_>,
        radius: u32,
    ) -> Self {
        let block_bits = reader.descriptor.block_bits;
        let prefix_bits = reader.permutation.prefix_bits();
        let head_bits = reader.descriptor.head_bits();
        let inner_bits = reader.descriptor.inner_bits();
        let masked_in_head = prefix_bits.min(head_bits);
        let inner_free = head_bits - masked_in_head.max(block_bits);
        let permuted = reader.permutation.apply(needle);
        let needle_head = reader.head_of(permuted);
        let leading = prefix_bits.min(block_bits);
        TableQuery {
            number,
            needle,
            table,
            radius,
            permuted,
            needle_head,
            leading,
            free_leading: block_bits - leading,
            inner_bits,
            inner_masked: masked_in_head.saturating_sub(block_bits),
            inner_free,
            inner: needle_head & low_bits(inner_bits) & !low_bits(inner_free),
        }
    }

    /// The needle for kernels, with `flips` applied to the inner bits under the mask.
    #[inline(always)]
    pub(super) fn kernel_needle(&self, flips: u64, k: u32) -> Needle {
        // The mask includes bits above the inner bits; they are zero in both compared words.
        let mask = u64::MAX.checked_shl(self.inner_free).unwrap_or(0);
        let inner = self.inner ^ flips << self.inner_free;
        Needle { head: self.needle_head, inner_bits: self.inner_bits, inner, mask, k }
    }
}

/// All ways to flip at most `radius` of the low `bits` of a word: the words below `2^bits` with at
/// most `radius` bits set, sorted by weight (number of set bits), then ascending; each with its
/// weight.
///
/// # Source
///
/// Computing the next word of equal weight: Gosper, HAKMEM (MIT AI Memo 239, 1972), item 175.
#[derive(Clone, Debug)]
pub(crate) struct Flips {
    largest: u64,
    radius: u32,
    weight: u32,
    word: u64,
    ended: bool,
}

impl Flips {
    pub(crate) fn new(bits: u32, radius: u32) -> Self {
        let largest = u64::MAX.checked_shr(64 - bits).unwrap_or(0);
        Flips { largest, radius: radius.min(bits), weight: 0, word: 0, ended: false }
    }
}

impl Iterator for Flips {
    type Item = (u64, u32);

    #[inline(always)]
    fn next(&mut self) -> Option<(u64, u32)> {
        if self.ended {
            return None;
        }
        let (word, weight) = (self.word, self.weight);
        let lowest = word & word.wrapping_neg();
        let ripple = word.wrapping_add(lowest);
        let next = match word {
            0 => 0,
            _ => ripple | (word ^ ripple) >> lowest.trailing_zeros() >> 2,
        };
        // If the addition overflows, `next` is smaller than `word`.
        if next > word && next <= self.largest {
            self.word = next;
        } else if weight < self.radius {
            self.weight = weight + 1;
            self.word = u64::MAX >> (63 - weight);
        } else {
            self.ended = true;
        }
        Some((word, weight))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_small_weight_comes_once_by_weight_and_ascending() {
        for bits in 0..=12 {
            for radius in 0..=14 {
                let mut expected: Vec<(u64, u32)> = (0..1_u64 << bits)
                    .map(|word| (word, word.count_ones()))
                    .filter(|&(_, weight)| weight <= radius)
                    .collect();
                expected.sort_by_key(|&(word, weight)| (weight, word));
                let found: Vec<_> = Flips::new(bits, radius).collect();
                assert_eq!(found, expected, "{bits} bits, radius {radius}");
            }
        }
    }

    #[test]
    fn all_64_bits_can_flip() {
        assert_eq!(Flips::new(64, 3).count(), 43_745);
        assert!(Flips::new(64, 2).all(|(word, weight)| word.count_ones() == weight));
        assert_eq!(Flips::new(64, 64).take(65).last(), Some((1 << 63, 1)));
    }
}
