//! Counts, for each of the 64 bit positions, the words in which the bit is set.

/// Maximum number of features added to [`BitCounts`] before its counts are used.
pub(super) const GROUP_LEN_MAX: u32 = 1 << 18;
/// A group of at least this length is full; the difference to [`GROUP_LEN_MAX`] is room for the
/// rest of the batch that filled it.
const GROUP_LEN_FULL: u32 = GROUP_LEN_MAX - 1024;

/// For each of 64 bits, the number of added words with that bit set.
///
/// The counters are transposed: each stored word contains the same binary digit of all 64 counters,
/// so a few operations add a word to all counters.
///
/// # Source
///
/// Harley's and Seal's carry-save adder trees, as in Mula, Kurz and Lemire, "Faster Population
/// Counts Using AVX2 Instructions", The Computer Journal 61 (2018), here for each bit position.
#[derive(Clone, Debug, Default)]
pub(crate) struct BitCounts {
    ones: u64,
    twos: u64,
    fours: u64,
    /// The binary digits of the counters from the digit of value 8 on.
    digits: [u64; 16],
    waiting: [u64; 8],
    waiting_len: usize,
    count: u32,
}

impl BitCounts {
    #[inline]
    pub(crate) fn add(&mut self, word: u64) {
        self.waiting[self.waiting_len & 7] = word;
        self.waiting_len += 1;
        self.count += 1;
        if self.waiting_len == 8 {
            self.fold();
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.count >= GROUP_LEN_FULL
    }

    fn fold(&mut self) {
        let [a, b, c, d, e, f, g, h] = self.waiting;
        let (ones, twos_a) = carry_save(self.ones, a, b);
        let (ones, twos_b) = carry_save(ones, c, d);
        let (twos, fours_a) = carry_save(self.twos, twos_a, twos_b);
        let (ones, twos_a) = carry_save(ones, e, f);
        let (ones, twos_b) = carry_save(ones, g, h);
        let (twos, fours_b) = carry_save(twos, twos_a, twos_b);
        let (fours, mut carry) = carry_save(self.fours, fours_a, fours_b);
        (self.ones, self.twos, self.fours) = (ones, twos, fours);
        for digit in &mut self.digits {
            (*digit, carry) = (*digit ^ carry, *digit & carry);
            if carry == 0 {
                break;
            }
        }
        self.waiting_len = 0;
    }

    /// Returns the counts, bit 0 first, and the number of words, and sets all of them to 0.
    pub(crate) fn take(&mut self) -> ([u32; 64], u32) {
        let mut counts = [0; 64];
        let waiting = self.waiting.iter().take(self.waiting_len).map(|&word| (word, 0));
        let sums = [self.ones, self.twos, self.fours].into_iter().chain(self.digits);
        for (word, place) in sums.zip(0..).chain(waiting).filter(|&(word, _)| word != 0) {
            for (bit, count) in counts.iter_mut().enumerate() {
                *count += ((word >> bit) as u32 & 1) << place;
            }
        }
        let features = self.count;
        *self = BitCounts::default();
        (counts, features)
    }
}

/// The sums and carries of three words of digits.
#[inline]
fn carry_save(a: u64, b: u64, c: u64) -> (u64, u64) {
    let half = a ^ b;
    (half ^ c, a & b | half & c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bit_counts_are_those_of_a_plain_loop() {
        let mut state = 1_u64;
        for len in [0, 1, 7, 8, 9, 63, 64, 1000, 70_000] {
            let mut counts = BitCounts::default();
            let mut plain = [0_u32; 64];
            for _ in 0..len {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let word = state ^ state >> 29;
                counts.add(word);
                for (bit, count) in plain.iter_mut().enumerate() {
                    *count += (word >> bit) as u32 & 1;
                }
            }
            assert_eq!(counts.take(), (plain, len));
            assert_eq!(counts.take(), ([0; 64], 0));
        }
        let mut full = BitCounts::default();
        while !full.is_full() {
            full.add(u64::MAX);
        }
        assert_eq!(full.take(), ([GROUP_LEN_FULL; 64], GROUP_LEN_FULL));
    }
}
