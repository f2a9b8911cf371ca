//! Choosing how a table is cut: how many tail bits, how many bits name a block.

use crate::scheme::cut;

/// The tail bits and block bits for so many distinct values, whose gaps have so many
/// significant bits.
pub(super) fn choose(value_count: u64, gaps_of_bits: &[u64; 65]) -> (u32, u32) {
    let tail_bits = cut::tail_bits(&gaps_of_bits.map(|count| count as f64));
    (tail_bits, cut::block_bits(value_count, tail_bits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::packing::WIDTH_MAX;
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
            assert_eq!(block_bits, (n / 26).ilog2());
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
