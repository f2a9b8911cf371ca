//! Choosing how a table is cut: how many tail bits, how many bits name a block.

use crate::bits::packing::WIDTH_MAX;

/// Values that a block holds at least on average, empty blocks counted. At 4 bytes of index a
/// block, this keeps the index within one bit a value however the values crowd together.
const VALUES_PER_BLOCK_MIN: u64 = 32;

/// What a gap of several bytes counts for beyond its length, in bits: summing heads passes over
/// eight one-byte gaps in the time of one longer gap. Spread values get nearly all gaps of one
/// byte at any weight from 8 up; crowded ones get faster and larger as it grows (measured on
/// real digests: 3 times faster for a fifth more bytes at 16).
const BITS_PER_LONG_GAP: f64 = 16.0;

/// The tail bits and block bits for so many distinct values, whose gaps have so many
/// significant bits.
pub(super) fn choose(value_count: u64, gaps_of_bits: &[u64; 65]) -> (u32, u32) {
    let tail_bits = choose_tail_bits(value_count, gaps_of_bits);
    let block_bits = (value_count / VALUES_PER_BLOCK_MIN).max(1).ilog2();
    (tail_bits, block_bits.min(64 - tail_bits))
}

/// The tail bits for which length and long gaps together weigh least, the most of equals.
///
/// A gap of L bits between values leaves about L - t bits between heads, so a histogram of
/// the bit lengths of gaps tells the weight for every t.
fn choose_tail_bits(value_count: u64, gaps_of_bits: &[u64; 65]) -> u32 {
    let weight = |tail_bits: u32| -> f64 {
        let heads = (0..).zip(gaps_of_bits).map(|(bits, &count): (u32, _)| {
            let bytes = bits.saturating_sub(tail_bits).div_ceil(7).max(1);
            let long = if bytes > 1 { BITS_PER_LONG_GAP } else { 0.0 };
            (f64::from(8 * bytes) + long) * count as f64
        });
        heads.sum::<f64>() + f64::from(tail_bits) * value_count as f64
    };
    let by_weight = |a: &u32, b: &u32| weight(*a).total_cmp(&weight(*b));
    (0..=WIDTH_MAX).rev().min_by(by_weight).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sort::SortedValues;

    fn shape_of(mut values: Vec<u64>) -> (u32, u32) {
        values.sort_unstable();
        let sorted = SortedValues::in_memory(values);
        choose(sorted.count, &sorted.gaps_of_bits)
    }

    fn spread(n: u64) -> Vec<u64> {
        // A Weyl sequence: as even as random values, without repeats.
        (0..n).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect()
    }

    #[test]
    fn spread_values_get_about_five_head_bits_more_than_they_need() {
        for n in [1000, 100_000] {
            let (tail_bits, block_bits) = shape_of(spread(n));
            let head_bits = f64::from(64 - tail_bits);
            let extra = head_bits - (n as f64).log2();
            assert!((3.5..=6.5).contains(&extra), "n={n}: {extra}");
            assert_eq!(block_bits, (n / 32).ilog2());
        }
    }

    #[test]
    fn neighbours_get_no_tail_and_few_values_still_get_a_shape() {
        assert_eq!(shape_of((0..10_000).collect()).0, 0);
        assert_eq!(shape_of(Vec::new()), (WIDTH_MAX, 0));
        let (tail_bits, block_bits) = shape_of(vec![u64::MAX]);
        assert!(tail_bits <= WIDTH_MAX && block_bits == 0);
    }
}
