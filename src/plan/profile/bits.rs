//! Counts how often bits are set in many values, and computes how often two values agree in a bit.

use crate::bytes::for_this_processor::for_this_processor;

/// Number of values counted at a time: the number of bits of a word.
pub(crate) const BLOCK: usize = 64;

/// Counts how often each bit is set.
#[derive(Clone, Debug)]
pub(crate) struct BitCounts {
    ones: [u64; 64],
    pending: [u64; BLOCK],
    pending_len: usize,
    value_count: u64,
}

impl BitCounts {
    pub(crate) fn new() -> Self {
        BitCounts { ones: [0; 64], pending: [0; BLOCK], pending_len: 0, value_count: 0 }
    }

    /// Counts a value. After every 64 values `full` is called with the 64 values as rows: row `b`
    /// contains bit `b` of each value.
    #[inline]
    pub(crate) fn push(&mut self, value: u64, full: impl FnOnce(&[u64; BLOCK])) {
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
        count(&mut rows, &mut self.ones);
        self.value_count += self.pending_len as u64;
        self.pending_len = 0;
        rows
    }

    /// Returns how often each bit was set, bit 0 first, and the number of values. If the last block
    /// has fewer than 64 values, `last` is called with its rows and its number of values.
    pub(crate) fn finish(mut self, last: impl FnOnce(&[u64; BLOCK], u64)) -> ([u64; 64], u64) {
        if self.pending_len > 0 {
            let len = self.pending_len as u64;
            last(&self.count_pending(), len);
        }
        (self.ones, self.value_count)
    }
}

/// The probability that two of `n` distinct fingerprints agree in a bit that is set in `ones` of
/// them; one half for fewer than two fingerprints.
pub(crate) fn agreement(ones: u64, n: u64) -> f64 {
    if n < 2 {
        return 0.5;
    }
    let pairs = |count: u64| count as f64 * count.saturating_sub(1) as f64;
    (pairs(ones) + pairs(n - ones)) / pairs(n)
}

for_this_processor! {
    /// Transposes 64 values into rows, and adds to `ones` how often each bit is set.
    fn count(rows: &mut [u64; BLOCK], ones: &mut [u64; 64]) {
        transpose(rows);
        for (ones, row) in ones.iter_mut().zip(rows) {
            *ones += u64::from(row.count_ones());
        }
    }
}

/// Transposes 64 values into 64 rows of bits: bit `i` of row `j` is bit `j` of value `i`.
///
/// # Source
///
/// H. S. Warren, "Hacker's Delight", second edition, 7-3.
#[inline(always)]
fn transpose(rows: &mut [u64; BLOCK]) {
    let mut width = BLOCK / 2;
    let mut mask = u64::MAX >> width;
    while width > 0 {
        for pairs in rows.chunks_exact_mut(2 * width) {
            let (low, high) = pairs.split_at_mut(width);
            for (low, high) in low.iter_mut().zip(high) {
                let swap = (*low >> width ^ *high) & mask;
                *low ^= swap << width;
                *high ^= swap;
            }
        }
        width /= 2;
        mask ^= mask << width;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agreement_is_over_pairs_of_different_fingerprints() {
        assert_eq!(agreement(0, 10), 1.0);
        assert_eq!(agreement(10, 10), 1.0);
        assert_eq!(agreement(1, 2), 0.0);
        assert_eq!(agreement(0, 1), 0.5);
    }
}
