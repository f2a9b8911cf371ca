//! The vote over 64 bits: SimHash itself.
//!
//! The hash of each feature votes with the weight of the feature: for 1 where it has a one, for 0
//! where it has a zero. The majority is the bit of the fingerprint. The hashes 1100, 1010 and 1001
//! give 1000. Similar documents share most votes, so their fingerprints differ in few bits.
//!
//! Weights are whole numbers in fixed point and sums never overflow, so the order of the features
//! has no effect. [`Votes`] counts features one by one, `bit_counts` many of equal weight, and
//! `accumulator` passes each feature to the faster of the two.

pub(crate) mod accumulator;
pub(crate) mod bit_counts;
pub(crate) mod weight;

use bit_counts::GROUP_LEN_MAX;
use fpstore_base::Fingerprint;
use weight::Weight;

fpstore_base::choices! {
    /// The value of a bit if as much weight votes for 1 as for 0.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum TieRule {
        /// 0, as in the libraries of seomoz, yanyiwu and 1e0ng.
        #[default]
        Zero = "zero": "A tie of votes gives 0",
        /// 1, as in the libraries of mfonda and go-dedup.
        One = "one": "A tie of votes gives 1",
    }
}

/// The SimHash of weighted features, given as their 64-bit hashes.
///
/// Bit i is 1 if the features whose hash has bit i weigh more than half of all, and 0 if they weigh
/// less; for exactly half, `ties` decides. The order of the features has no effect, and a repeated
/// feature counts with the sum of its weights. Features of weight 0 do not count. Without features
/// the result is `None`.
///
/// # Examples
///
/// ```
/// use fpstore_text::{TieRule, Weight, simhash};
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

/// Counted votes: for each bit, bit 0 first, the weight of the features with that bit set.
#[derive(Clone, Debug)]
pub(crate) struct Votes {
    lanes: [u64; 64],
    /// The sum of the weights of all features counted in `lanes`; no lane exceeds it.
    total: u64,
    /// The weight moved out of `lanes` before they would overflow.
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

    /// Counts features of equal weight; bit i is set in `counts[i]` of them.
    pub(crate) fn add_counts(&mut self, counts: &[u32; 64], features: u32, weight: Weight) {
        // The product is at most 2^46 times 2^18, because the caller keeps its groups small.
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

    pub(crate) fn clear(&mut self) {
        *self = Votes::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
