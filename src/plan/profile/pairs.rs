//! Counts how often two bits are set together.
//!
//! 64 values are transposed to 64 rows: row `b` contains bit `b` of each value. The number of ones
//! in the AND of two rows is how often both bits are set. A block of 64 values takes 2080 ANDs and
//! popcounts.

use crate::plan::profile::bits::BLOCK;

/// For all pairs of bits: how often both bits were set in the counted values.
#[derive(Clone, Debug)]
pub(crate) struct PairCounts {
    /// `both[a][b]`, for b < a, is how often bits a and b were both set; `both[a][a]` is how often
    /// bit a was set.
    both: Box<[[u32; 64]; 64]>,
    value_count: u64,
}

impl PairCounts {
    pub(crate) fn new() -> Self {
        PairCounts { both: Box::new([[0; 64]; 64]), value_count: 0 }
    }

    /// Counts `len` values, given as rows of bits; the bits at `len` and above must be zero.
    pub(crate) fn add(&mut self, rows: &[u64; BLOCK], len: u64) {
        for (bit, counts) in self.both.iter_mut().enumerate() {
            let row = rows[bit];
            for (count, other) in counts[..=bit].iter_mut().zip(rows) {
                *count += (row & other).count_ones();
            }
        }
        self.value_count += len;
    }

    /// The number of counted values.
    pub(crate) fn value_count(&self) -> u64 {
        self.value_count
    }

    /// Pearson's correlation of two bits, -1 to 1. `None` if one of them has fewer than `least`
    /// zeros or ones, because the correlation is then unreliable.
    pub(crate) fn correlation(&self, a: u32, b: u32, least: u64) -> Option<f64> {
        let (high, low) = (a.max(b) as usize, a.min(b) as usize);
        let n = self.value_count;
        let (ones_a, ones_b) = (u64::from(self.both[high][high]), u64::from(self.both[low][low]));
        let scarce = |ones: u64| ones < least || n - ones < least;
        if scarce(ones_a) || scarce(ones_b) {
            return None;
        }
        let (n, a, b) = (n as f64, ones_a as f64, ones_b as f64);
        let both = f64::from(self.both[high][low]);
        Some((n * both - a * b) / (a * (n - a) * b * (n - b)).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::profile::bits::BitCounts;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn counts_are_those_of_counting_bit_by_bit(values in prop::collection::vec(any::<u64>(), 0..200)) {
            let mut counts = BitCounts::new();
            let mut pairs = PairCounts::new();
            for &value in &values {
                counts.push(value, |rows| pairs.add(rows, 64));
            }
            let (ones, value_count) = counts.finish(|rows, len| pairs.add(rows, len));
            prop_assert_eq!(value_count, values.len() as u64);
            prop_assert_eq!(pairs.value_count(), value_count);
            for (a, &of_a) in ones.iter().enumerate() {
                let slow = values.iter().filter(|&value| value >> a & 1 == 1).count();
                prop_assert_eq!(of_a, slow as u64);
                for b in 0..=a {
                    let slow = values.iter().filter(|&v| v >> a & 1 == 1 && v >> b & 1 == 1);
                    prop_assert_eq!(pairs.both[a][b], slow.count() as u32);
                }
            }
        }
    }

    #[test]
    fn copies_correlate_fully_and_scarce_bits_not_at_all() {
        let (mut counts, mut pairs) = (BitCounts::new(), PairCounts::new());
        for i in 0..64_u64 {
            // Bit 1 equals bit 0, bit 2 is its complement, bit 4 is independent, bit 5 is set once.
            let bit = i & 1;
            let value =
                bit | bit << 1 | (1 - bit) << 2 | (i >> 1 & 1) << 4 | u64::from(i == 9) << 5;
            counts.push(value, |rows| pairs.add(rows, 64));
        }
        assert_eq!(pairs.correlation(0, 1, 8), Some(1.0));
        assert_eq!(pairs.correlation(2, 0, 8), Some(-1.0));
        assert_eq!(pairs.correlation(4, 0, 8), Some(0.0));
        assert_eq!(pairs.correlation(5, 0, 8), None);
        assert_eq!(pairs.correlation(63, 0, 8), None);
    }
}
