//! Words with the lowest or highest bits set, and a test of the number of set bits.

/// A word with the lowest `count` bits set; `count` is 0 to 64.
#[inline(always)]
pub(crate) fn low_bits(count: u32) -> u64 {
    u64::MAX.checked_shr(64 - count).unwrap_or(0)
}

/// A word with the highest `count` bits set; `count` is 0 to 64.
#[inline(always)]
pub(crate) fn high_bits(count: u32) -> u64 {
    u64::MAX.checked_shl(64 - count).unwrap_or(0)
}

/// Whether at most `count` bits of a word are set.
///
/// Most callers pass a small `count`. Then clearing one bit after the other is faster than counting
/// all bits, on processors without an instruction that counts bits.
#[inline(always)]
pub(crate) fn at_most_bits(mut word: u64, count: u32) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn low_and_high_bits_fill_a_word_together() {
        for count in 0..=64 {
            assert_eq!(low_bits(count).count_ones(), count);
            assert_eq!(low_bits(count), !high_bits(64 - count));
            assert_eq!(low_bits(count).reverse_bits(), high_bits(count));
        }
    }

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
