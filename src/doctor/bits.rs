//! Counting bits over many values: how often each is set, and how often two are set together.

/// Values that are counted at a time: as many as a word has bits.
const BLOCK: usize = 64;

/// How often each bit was set.
#[derive(Clone, Debug)]
pub(super) struct BitCounts {
    ones: [u64; 64],
    pending: [u64; BLOCK],
    pending_len: usize,
    value_count: u64,
}

impl BitCounts {
    pub(super) fn new() -> Self {
        BitCounts { ones: [0; 64], pending: [0; BLOCK], pending_len: 0, value_count: 0 }
    }

    /// Counts a value. Whenever 64 are together they are handed to `full` as rows, row `b`
    /// holding bit `b` of each.
    #[inline]
    pub(super) fn push(&mut self, value: u64, full: impl FnOnce(&[u64; BLOCK])) {
        self.pending[self.pending_len] = value;
        self.pending_len += 1;
        if self.pending_len == BLOCK {
            let rows = self.count_pending();
            full(&rows);
        }
    }

    fn count_pending(&mut self) -> [u64; BLOCK] {
        let mut rows = self.pending;
        rows[self.pending_len..].fill(0);
        transpose(&mut rows);
        for (ones, row) in self.ones.iter_mut().zip(&rows) {
            *ones += u64::from(row.count_ones());
        }
        self.value_count += self.pending_len as u64;
        self.pending_len = 0;
        rows
    }

    /// How often each bit was set, bit 0 first, and in how many values. `last` gets what did
    /// not fill 64 values.
    pub(super) fn finish(mut self, last: impl FnOnce(&[u64; BLOCK], u64)) -> ([u64; 64], u64) {
        if self.pending_len > 0 {
            let len = self.pending_len as u64;
            last(&self.count_pending(), len);
        }
        (self.ones, self.value_count)
    }
}

/// How often each two bits were set together, over a part of the values.
#[derive(Clone, Debug)]
pub(super) struct PairCounts {
    /// `both[a][b]` for b below a; on the diagonal how often the bit was set.
    both: Box<[[u32; 64]; 64]>,
    value_count: u64,
}

impl PairCounts {
    pub(super) fn new() -> Self {
        PairCounts { both: Box::new([[0; 64]; 64]), value_count: 0 }
    }

    /// Counts `len` values that are given as rows; columns without a value must be zero.
    pub(super) fn add(&mut self, rows: &[u64; BLOCK], len: u64) {
        for (bit, counts) in self.both.iter_mut().enumerate() {
            let row = rows[bit];
            for (count, other) in counts[..=bit].iter_mut().zip(rows) {
                *count += (row & other).count_ones();
            }
        }
        self.value_count += len;
    }

    /// How many values were looked at.
    pub(super) fn value_count(&self) -> u64 {
        self.value_count
    }

    /// Pearson's correlation of two bits, -1 to 1; `None` if one of them has fewer than
    /// `least` zeros or ones, since then it says little.
    pub(super) fn correlation(&self, a: u32, b: u32, least: u64) -> Option<f64> {
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

/// Turns 64 values into 64 rows of bits: bit `i` of row `j` is bit `j` of value `i`.
///
/// # Source
///
/// H. S. Warren, "Hacker's Delight", second edition, 7-3.
fn transpose(rows: &mut [u64; BLOCK]) {
    let mut width = BLOCK / 2;
    let mut mask = u64::MAX >> width;
    while width > 0 {
        for at in (0..BLOCK).filter(|at| at & width == 0) {
            let swap = (rows[at] >> width ^ rows[at | width]) & mask;
            rows[at] ^= swap << width;
            rows[at | width] ^= swap;
        }
        width /= 2;
        mask ^= mask << width;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
            // Bit 1 is bit 0, bit 2 its opposite, bit 4 is independent, bit 5 nearly never set.
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
