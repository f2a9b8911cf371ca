//! Choosing how a table is cut: how many tail bits, how many bits name a block.

use crate::bits::packing::WIDTH_MAX;
use crate::bits::permutation::Permuted;

/// Values that a block holds at least on average, empty blocks counted. At 4 bytes of index a
/// block, this keeps the index within one bit a value however the values crowd together.
const VALUES_PER_BLOCK_MIN: u64 = 32;

/// Bits a value that may be given away so that nearly every gap takes one byte, which is
/// what makes heads fast to sum.
const BITS_FOR_SPEED: f64 = 0.7;

/// The tail bits and block bits for these distinct ascending values.
pub(super) fn choose(values: &[Permuted]) -> (u32, u32) {
    let tail_bits = choose_tail_bits(values);
    let block_bits = (values.len() as u64 / VALUES_PER_BLOCK_MIN).max(1).ilog2();
    (tail_bits, block_bits.min(64 - tail_bits))
}

/// The most tail bits whose expected length is within [`BITS_FOR_SPEED`] of the shortest.
///
/// A gap of L bits between values leaves about L - t bits between heads, so a histogram of
/// the bit lengths of gaps tells the length for every t.
fn choose_tail_bits(values: &[Permuted]) -> u32 {
    let mut gaps_of_bits = [0_u64; 65];
    let mut before = 0;
    for value in values {
        gaps_of_bits[(64 - (value.0 - before).leading_zeros()) as usize] += 1;
        before = value.0;
    }
    let n = values.len() as f64;
    let total_bits = |tail_bits: u32| -> f64 {
        let head_bits: f64 = (0..)
            .zip(&gaps_of_bits)
            .map(|(bits, &count): (u32, _)| {
                let bytes = bits.saturating_sub(tail_bits).div_ceil(7).max(1);
                f64::from(8 * bytes) * count as f64
            })
            .sum();
        head_bits + f64::from(tail_bits) * n
    };
    let least = (0..=WIDTH_MAX).map(total_bits).fold(f64::INFINITY, f64::min);
    let allowed = least + BITS_FOR_SPEED * n;
    (0..=WIDTH_MAX).rev().find(|&tail_bits| total_bits(tail_bits) <= allowed).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(n: u64) -> Vec<Permuted> {
        // A Weyl sequence: as even as random values, without repeats.
        let mut values: Vec<Permuted> =
            (0..n).map(|i| Permuted(i.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
        values.sort_unstable();
        values
    }

    #[test]
    fn spread_values_get_about_five_head_bits_more_than_they_need() {
        for n in [1000, 100_000] {
            let (tail_bits, block_bits) = choose(&spread(n));
            let head_bits = f64::from(64 - tail_bits);
            let extra = head_bits - (n as f64).log2();
            assert!((3.5..=6.5).contains(&extra), "n={n}: {extra}");
            assert_eq!(block_bits, (n / 32).ilog2());
        }
    }

    #[test]
    fn neighbours_get_no_tail_and_few_values_still_get_a_shape() {
        let run: Vec<Permuted> = (0..10_000).map(Permuted).collect();
        assert_eq!(choose(&run).0, 0);
        assert_eq!(choose(&[]), (WIDTH_MAX, 0));
        let (tail_bits, block_bits) = choose(&[Permuted(u64::MAX)]);
        assert!(tail_bits <= WIDTH_MAX && block_bits == 0);
    }
}
