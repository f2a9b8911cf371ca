//! Choosing how a table is cut: how many tail bits, how many bits name a block.

use crate::bits::permutation::Permuted;
use crate::scheme::cut;

/// The tail bits and block bits for these distinct ascending values.
pub(super) fn choose(values: &[Permuted]) -> (u32, u32) {
    let mut gaps_of_bits = [0.0; 65];
    let mut before = 0;
    for value in values {
        gaps_of_bits[(64 - (value.0 - before).leading_zeros()) as usize] += 1.0;
        before = value.0;
    }
    let tail_bits = cut::tail_bits(&gaps_of_bits);
    (tail_bits, cut::block_bits(values.len() as u64, tail_bits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::packing::WIDTH_MAX;

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
