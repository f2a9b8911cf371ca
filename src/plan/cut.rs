//! The layout of a table: the number of leading bits stored as heads, and the length of the block
//! number.
//!
//! Writers choose the layout of a table with [`Cut::of_gaps`]. The cost model uses the same
//! functions to predict the layout of a future table, and to infer from a layout how unevenly the
//! values are distributed. So `Density::of_layout` depends on the rule for tails in this file.

use crate::bytes::packing::WIDTH_MAX;
use crate::format::codec::HeadCodec;

/// Minimum mean number of values in a block of a large table, empty blocks included. The index has
/// 4 bytes for each block, so it takes at most one bit for each value, however unevenly values are
/// distributed.
const VALUES_PER_BLOCK_MIN: u64 = 32;
/// Minimum mean number of values in a block of a table with fewer than `LARGE_TABLE_MIN` values.
/// The mean is at most twice that, so nearly all blocks fit into one chunk of 64 bytes. The index
/// takes a quarter of a bit more for each value than in large tables, which small tables can
/// afford.
const VALUES_PER_SMALL_BLOCK_MIN: u64 = 26;
const LARGE_TABLE_MIN: u64 = 10_000_000;

/// This number of bits is added to the length of a gap of several bytes, because it is slow: a
/// kernel skips eight one-byte gaps in the time of one longer gap. With 8 or more, nearly all gaps
/// between evenly distributed values take one byte. For unevenly distributed values a higher number
/// makes tables faster and larger: with 16, real digests gave 3 times the speed and a fifth more
/// bytes.
const BITS_PER_LONG_GAP: f64 = 16.0;

/// The codec of new tables.
pub(super) const CODEC: HeadCodec = HeadCodec::Varint;

/// The layout of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// The number of low bits of each value stored as its tail; the bits above them are its head.
    pub(crate) tail_bits: u32,
    /// The number of leading bits that form the block number.
    pub(crate) block_bits: u32,
    /// The codec of the heads.
    pub(crate) codec: HeadCodec,
}

impl Cut {
    /// The layout for `value_count` distinct values. `gaps_of_bits[L]` is the number of gaps of `L`
    /// bits between neighbouring values.
    pub(crate) fn of_gaps(value_count: u64, gaps_of_bits: &[u64; 65]) -> Self {
        let tail_bits = tail_bits(&gaps_of_bits.map(|count| count as f64));
        Cut { tail_bits, block_bits: block_bits(value_count, tail_bits), codec: CODEC }
    }
}

/// The length of the block number in bits, for `value_count` values with `tail_bits` tail bits.
pub(crate) fn block_bits(value_count: u64, tail_bits: u32) -> u32 {
    let large = value_count >= LARGE_TABLE_MIN;
    let least = if large { VALUES_PER_BLOCK_MIN } else { VALUES_PER_SMALL_BLOCK_MIN };
    (value_count / least).max(1).ilog2().min(64 - tail_bits)
}

/// The number of tail bits for which the sum of the length of the table and the weight of its long
/// gaps is smallest; the largest of equally good numbers.
///
/// `gaps_of_bits[L]` is the number of gaps of L bits between neighbouring values. With tails of t
/// bits, such a gap is a gap of about L - t bits between heads.
pub(crate) fn tail_bits(gaps_of_bits: &[f64; 65]) -> u32 {
    let value_count: f64 = gaps_of_bits.iter().sum();
    let weight = |tail_bits: u32| -> f64 {
        let heads = (0..).zip(gaps_of_bits).map(|(bits, &count): (u32, _)| {
            let bytes = head_len(bits, tail_bits);
            let long = if bytes > 1 { BITS_PER_LONG_GAP } else { 0.0 };
            (f64::from(8 * bytes) + long) * count
        });
        heads.sum::<f64>() + f64::from(tail_bits) * value_count
    };
    let by_weight = |a: &u32, b: &u32| weight(*a).total_cmp(&weight(*b));
    (0..=WIDTH_MAX).rev().min_by(by_weight).unwrap_or(0)
}

/// The length in bytes of the gap between two heads whose values have a gap of `bits` bits.
pub(crate) fn head_len(bits: u32, tail_bits: u32) -> u32 {
    CODEC.gap_len(bits.saturating_sub(tail_bits))
}

/// The number of head bits in a table of `value_count` random values.
pub(crate) fn uniform_head_bits(value_count: u64) -> u32 {
    let n = value_count as f64;
    64 - tail_bits(&gaps_of_bits(n, |bits| occupied(n, 2_f64.powi(bits as i32))))
}

/// The expected number of cells, out of `cells` equal ones, that `count` random values occupy.
pub(crate) fn occupied(count: f64, cells: f64) -> f64 {
    -cells * (-count / cells).exp_m1()
}

/// The expected number of gaps of each length in bits between `value_count` sorted values.
/// `distinct(L)` is the number of distinct prefixes of L bits among the values.
///
/// Divide the range of values into cells of width 2^j. The probability that a gap crosses a border
/// between cells is min(1, gap / 2^j). So the number of occupied cells gives the mean of min(gap,
/// 2^j), and the growth of this mean from j to j + 1 gives the share of gaps above 2^j.
pub(crate) fn gaps_of_bits(value_count: f64, distinct: impl Fn(u32) -> f64) -> [f64; 65] {
    let mut gaps = [0.0; 65];
    if value_count < 1.0 {
        return gaps;
    }
    let capped = |j: u32| 2_f64.powi(j as i32) * distinct(64 - j) / value_count;
    // The share of gaps longer than u, averaged over u from 2^j to 2^(j+1).
    let share = |j: u32| ((capped(j + 1) - capped(j)) / 2_f64.powi(j as i32)).clamp(0.0, 1.0);
    let mut above = 1.0;
    for bits in 0..=64_u32 {
        // The share of gaps of more than `bits` bits, which are at least 2^bits.
        let next = match bits {
            0 => 1.0,
            64 => 0.0,
            // Interpolates between the mean shares below and above 2^bits, which approximate the
            // shares at 3/4 and at 3/2 of 2^bits.
            _ => share(bits - 1).powf(2.0 / 3.0) * share(bits.min(63)).powf(1.0 / 3.0),
        };
        let next = f64::min(next, above);
        gaps[bits as usize] = (above - next) * value_count;
        above = next;
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_values_get_five_head_bits_more_than_distinguish_them() {
        for n in [10_000, 1_000_000, 1_000_000_000] {
            let extra = f64::from(uniform_head_bits(n)) - (n as f64).log2();
            assert!((3.5..=6.5).contains(&extra), "n={n}: {extra}");
        }
        assert_eq!(block_bits(1_000_000, 40), 15);
        assert_eq!(block_bits(1_000_000_000, 56), 8);
        assert_eq!((block_bits(0, 56), block_bits(1, 56)), (0, 0));
    }

    #[test]
    fn gaps_of_random_values_have_the_lengths_of_exponential_ones() {
        let n = 2_f64.powi(20);
        let gaps = gaps_of_bits(n, |bits| occupied(n, 2_f64.powi(bits as i32)));
        for (bits, &count) in gaps.iter().enumerate().skip(40).take(10) {
            let above = |b: usize| (-(2_f64.powi(b as i32 - 44))).exp();
            let expected = above(bits - 1) - above(bits);
            assert!((count / n - expected).abs() < 0.03, "{bits}: {}, {expected}", count / n);
        }
        assert!((gaps.iter().sum::<f64>() / n - 1.0).abs() < 1e-9);
    }

    #[test]
    fn consecutive_numbers_get_no_tail() {
        let n = 10_000_f64;
        let gaps = gaps_of_bits(n, |bits| (n / 2_f64.powi(64 - bits as i32)).max(1.0));
        assert_eq!(tail_bits(&gaps), 0);
        assert_eq!(tail_bits(&[0.0; 65]), WIDTH_MAX);
    }

    fn cut_of(mut values: Vec<u64>) -> (u32, u32) {
        values.sort_unstable();
        let mut gaps_of_bits = [0; 65];
        for pair in values.windows(2) {
            gaps_of_bits[(64 - (pair[1] - pair[0]).leading_zeros()) as usize] += 1;
        }
        let cut = Cut::of_gaps(values.len() as u64, &gaps_of_bits);
        (cut.tail_bits, cut.block_bits)
    }

    fn spread(n: u64) -> Vec<u64> {
        // A Weyl sequence: distinct values, at least as evenly distributed as random values.
        (0..n).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect()
    }

    #[test]
    fn spread_values_get_about_five_head_bits_more_than_they_need() {
        for n in [1000, 100_000] {
            let (tail_bits, block_bits) = cut_of(spread(n));
            let head_bits = f64::from(64 - tail_bits);
            let extra = head_bits - (n as f64).log2();
            assert!((3.5..=6.5).contains(&extra), "n={n}: {extra}");
            assert_eq!(block_bits, (n / 26).ilog2());
        }
    }

    #[test]
    fn neighbours_get_no_tail_and_few_values_still_get_a_layout() {
        assert_eq!(cut_of((0..10_000).collect()).0, 0);
        assert_eq!(cut_of(Vec::new()), (WIDTH_MAX, 0));
        let (tail_bits, block_bits) = cut_of(vec![u64::MAX]);
        assert!(tail_bits <= WIDTH_MAX && block_bits == 0);
    }
}
