//! How a table is cut into heads, tails and blocks.

use crate::bits::packing::WIDTH_MAX;

/// Values that a block of a large table holds at least on average, empty blocks counted. At 4
/// bytes of index a block, this keeps the index within one bit a value however they crowd together.
#[cfg(any(test, feature = "build"))]
const VALUES_PER_BLOCK_MIN: u64 = 32;
/// The same for fewer values than `LARGE_TABLE_MIN`: up to 52 values to a block, so that nearly
/// all blocks are summed in one step of 64 bytes. Few values have room for a quarter of a bit more.
#[cfg(any(test, feature = "build"))]
const VALUES_PER_SMALL_BLOCK_MIN: u64 = 26;
#[cfg(any(test, feature = "build"))]
const LARGE_TABLE_MIN: u64 = 10_000_000;

/// What a gap of several bytes counts for beyond its length, in bits: summing heads passes over
/// eight one-byte gaps in the time of one longer gap. Spread values get nearly all gaps of one
/// byte at any weight from 8 up; crowded ones get faster and larger as it grows (measured on
/// real digests: 3 times faster for a fifth more bytes at 16).
const BITS_PER_LONG_GAP: f64 = 16.0;

#[cfg(any(test, feature = "build"))]
/// How many leading bits name a block, for so many values with so many tail bits.
pub(crate) fn block_bits(value_count: u64, tail_bits: u32) -> u32 {
    let large = value_count >= LARGE_TABLE_MIN;
    let least = if large { VALUES_PER_BLOCK_MIN } else { VALUES_PER_SMALL_BLOCK_MIN };
    (value_count / least).max(1).ilog2().min(64 - tail_bits)
}

/// The tail bits for which length and long gaps together weigh least, the most of equals.
///
/// `gaps_of_bits` counts the gaps between values by their length in bits. A gap of L bits
/// between values leaves about L - t bits between heads.
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

/// The bytes of the gap between two heads whose values are `bits` apart.
pub(crate) fn head_len(bits: u32, tail_bits: u32) -> u32 {
    bits.saturating_sub(tail_bits).div_ceil(7).max(1)
}

/// How many leading bits of so many random values become heads.
pub(crate) fn uniform_head_bits(value_count: u64) -> u32 {
    let n = value_count as f64;
    64 - tail_bits(&gaps_of_bits(n, |bits| occupied(n, 2_f64.powi(bits as i32))))
}

/// How many of `cells` equal cells `count` things thrown at random fall into.
pub(crate) fn occupied(count: f64, cells: f64) -> f64 {
    -cells * (-count / cells).exp_m1()
}

/// How many gaps between `value_count` sorted values have each length in bits, from how many
/// values differ in their leading bits.
///
/// A gap crosses a grid of cells 2^j wide min(1, gap / 2^j) times, so the cells in use give
/// the mean of min(gap, 2^j), and its growth from j to j + 1 gives the share of larger gaps.
pub(crate) fn gaps_of_bits(value_count: f64, distinct: impl Fn(u32) -> f64) -> [f64; 65] {
    let mut gaps = [0.0; 65];
    if value_count < 1.0 {
        return gaps;
    }
    let capped = |j: u32| 2_f64.powi(j as i32) * distinct(64 - j) / value_count;
    // The mean share of gaps above u, for u from 2^j to 2^(j+1).
    let share = |j: u32| ((capped(j + 1) - capped(j)) / 2_f64.powi(j as i32)).clamp(0.0, 1.0);
    let mut above = 1.0;
    for bits in 0..=64_u32 {
        // The share of gaps of more than `bits` bits, so of at least 2^bits.
        let next = match bits {
            0 => 1.0,
            64 => 0.0,
            // Means stand for points at 3/4 and 3/2 of 2^bits.
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
    fn random_values_are_cut_five_bits_below_what_tells_them_apart() {
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
}
