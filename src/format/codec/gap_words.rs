//! Eight one-byte gaps as one word: their sum, and whether a prefix of them has a given sum.

/// The high bits of eight bytes: set where a varint continues.
pub(super) const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// The sum of the eight bytes of a word.
#[inline(always)]
pub(super) fn sum_of_bytes(word: u64) -> u64 {
    const EVEN: u64 = 0x00ff_00ff_00ff_00ff;
    const ONES: u64 = 0x0001_0001_0001_0001;
    let pairs = (word & EVEN) + (word >> 8 & EVEN);
    pairs.wrapping_mul(ONES) >> 48
}

/// Whether some of the first bytes of a word sum to `wanted`, all bytes being below 128.
#[inline(always)]
pub(super) fn any_prefix_sum_is(word: u64, wanted: u64) -> bool {
    const ONES: u64 = 0x0001_0001_0001_0001;
    const TOPS: u64 = 0x8000_8000_8000_8000;
    // Four bytes in lanes of 16 bits; multiplying by ones sums each with those below it.
    let lanes = |four: u64| {
        let pairs = (four | four << 16) & 0x0000_ffff_0000_ffff;
        ((pairs | pairs << 8) & 0x00ff_00ff_00ff_00ff).wrapping_mul(ONES)
    };
    let low = lanes(word & 0xffff_ffff);
    let high = lanes(word >> 32).wrapping_add((low >> 48).wrapping_mul(ONES));
    // A lane of zero is the only kind that borrows into its top bit while that is clear.
    let has_zero = |lanes: u64| lanes.wrapping_sub(ONES) & !lanes & TOPS != 0;
    let pattern = wanted.wrapping_mul(ONES);
    has_zero(low ^ pattern) || has_zero(high ^ pattern)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn prefix_sums_are_found(word: u64, wanted in 0..1100_u64, pick in 0..8_usize) {
            let word = word & !HIGH_BITS;
            let bytes = word.to_le_bytes();
            let sums: Vec<u64> = (1..=8).map(|n| bytes[..n].iter().map(|&b| u64::from(b)).sum()).collect();
            prop_assert_eq!(any_prefix_sum_is(word, wanted), sums.contains(&wanted));
            prop_assert!(any_prefix_sum_is(word, sums[pick]));
        }
    }

    #[test]
    fn bytes_are_summed() {
        assert_eq!(sum_of_bytes(0x7f7f_7f7f_7f7f_7f7f), 8 * 127);
        assert_eq!(sum_of_bytes(0x0102_0304_0506_0708), 36);
    }
}
