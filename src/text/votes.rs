//! The vote over 64 bits: SimHash itself.

use crate::fingerprint::Fingerprint;
use crate::text::weight::Weight;

/// What a bit becomes when as much weight votes for 1 as for 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TieRule {
    /// 0, as seomoz, yanyiwu and 1e0ng have it.
    #[default]
    Zero,
    /// 1, as mfonda and go-dedup have it.
    One,
}

/// The SimHash of weighted features, given as their 64-bit hashes.
///
/// Bit i is 1 if the features whose hash has bit i weigh more than half of all, 0 if they weigh less;
/// `ties` says what exactly half gives. The order of the features does not matter, and a feature that comes
/// twice counts with both weights. Features of weight 0 are no features, and without features there is
/// no fingerprint: `None`.
///
/// # Examples
///
/// ```
/// use fpstore::{TieRule, Weight, simhash};
///
/// let features = [(0b1100, Weight::ONE), (0b1010, Weight::ONE), (0b1000, Weight::whole(2))];
/// let fingerprint = simhash(features, TieRule::Zero).unwrap();
/// assert_eq!(fingerprint.value(), 0b1000);
/// assert_eq!(simhash([(7, Weight::ZERO)], TieRule::Zero), None);
/// ```
///
/// # Source
///
/// Charikar, "Similarity Estimation Techniques from Rounding Algorithms", STOC 2002; Manku, Jain
/// and Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007, section 2.
pub fn simhash(
    features: impl IntoIterator<Item = (u64, Weight)>,
    ties: TieRule,
) -> Option<Fingerprint> {
    let mut votes = Votes::default();
    for (hash, weight) in features {
        votes.add(hash, weight);
    }
    votes.decide(ties)
}

/// Votes as they are counted: for each bit the weight of the features that have it, for bit 0 first.
#[derive(Clone, Debug)]
pub(crate) struct Votes {
    lanes: [u64; 64],
    /// The weight of all features in `lanes`; no lane is above it.
    total: u64,
    /// What has left `lanes` before they would overflow.
    spilled: Option<Box<Spilled>>,
}

#[derive(Clone, Debug)]
struct Spilled {
    lanes: [u128; 64],
    total: u128,
}

impl Default for Votes {
    fn default() -> Self {
        Votes { lanes: [0; 64], total: 0, spilled: None }
    }
}

impl Votes {
    /// Counts one feature.
    pub(crate) fn add(&mut self, hash: u64, weight: Weight) {
        let raw = weight.raw();
        self.make_room(raw);
        for (bit, lane) in self.lanes.iter_mut().enumerate() {
            *lane += raw & (hash >> bit & 1).wrapping_neg();
        }
    }

    /// Counts features of equal weight, of which `counts[i]` have bit i.
    pub(crate) fn add_counts(&mut self, counts: &[u32; 64], features: u32, weight: Weight) {
        // At most 2^46 times 2^18: the caller keeps its groups below that.
        debug_assert!(features <= GROUP_LEN_MAX);
        self.make_room(weight.raw().saturating_mul(u64::from(features)));
        for (lane, &count) in self.lanes.iter_mut().zip(counts) {
            *lane += weight.raw() * u64::from(count);
        }
    }

    fn make_room(&mut self, raw: u64) {
        if let Some(total) = self.total.checked_add(raw) {
            self.total = total;
            return;
        }
        let none = || Box::new(Spilled { lanes: [0; 64], total: 0 });
        let spilled = self.spilled.get_or_insert_with(none);
        for (sum, lane) in spilled.lanes.iter_mut().zip(&mut self.lanes) {
            *sum += u128::from(std::mem::take(lane));
        }
        spilled.total += u128::from(self.total);
        self.total = raw;
    }

    /// The fingerprint, or `None` if nothing was counted.
    pub(crate) fn decide(&self, ties: TieRule) -> Option<Fingerprint> {
        let spilled = self.spilled.as_deref();
        let total = u128::from(self.total) + spilled.map_or(0, |s| s.total);
        if total == 0 {
            return None;
        }
        let mut value = 0_u64;
        for (bit, &lane) in self.lanes.iter().enumerate() {
            let ones = u128::from(lane) + spilled.map_or(0, |s| s.lanes[bit]);
            let set = match ties {
                TieRule::Zero => 2 * ones > total,
                TieRule::One => 2 * ones >= total,
            };
            value |= u64::from(set) << bit;
        }
        Some(Fingerprint::new(value))
    }

    /// Forgets all votes.
    pub(crate) fn clear(&mut self) {
        *self = Votes::default();
    }
}

/// The most features that [`BitCounts`] may take before its counts are used.
const GROUP_LEN_MAX: u32 = 1 << 18;
/// When it is full; that leaves room for a few more.
const GROUP_LEN_FULL: u32 = GROUP_LEN_MAX - 1024;

/// Counts how many of many words have each bit, some operations a word: the counters lie
/// crosswise, one word for each digit of all 64 of them.
///
/// # Source
///
/// Harley's and Seal's carry-save adder trees, as in Mula, Kurz and Lemire, "Faster Population
/// Counts Using AVX2 Instructions", The Computer Journal 61 (2018), used position by position.
#[derive(Clone, Debug, Default)]
pub(crate) struct BitCounts {
    ones: u64,
    twos: u64,
    fours: u64,
    /// Digits from 8 on.
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

    /// The counts so far, for bit 0 first, and the number of words; starts anew.
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

/// Three words of digits to their sums and carries.
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

    #[test]
    fn votes_do_not_overflow() {
        let mut votes = Votes::default();
        for round in 0..(1_u64 << 19) + 1 {
            votes.add(if round.is_multiple_of(2) { 1 } else { 2 }, Weight::MAX);
        }
        assert!(votes.spilled.is_some());
        assert_eq!(votes.decide(TieRule::Zero), Some(Fingerprint::new(1)));
        votes.add(2, Weight::MAX);
        assert_eq!(votes.decide(TieRule::Zero), Some(Fingerprint::new(0)));
        assert_eq!(votes.decide(TieRule::One), Some(Fingerprint::new(3)));
    }
}
