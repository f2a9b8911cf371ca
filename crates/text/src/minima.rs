//! MinHash in 64 bits: each bit of the fingerprint is one bit of a minimum over the features.
//!
//! The features are a set: counts and weights have no effect. [`Minima`] receives the hashes in
//! batches from `features`. Two sets with Jaccard similarity J share each minimum with probability
//! J, and then also its bit; otherwise the bits are equal by chance every second time. So
//! 64 (1 - J) / 2 bits differ on average.
//!
//! A single hash of a feature serves all bits: six of its bits select one of 64 bins, and the rest
//! takes part in the minimum of that bin alone. A small set leaves bins empty. They are filled in
//! further rounds, each with a new hash of every feature: a bin keeps the minimum of the first
//! round that reached it. From round 64 on, all features go into a single bin, so that no bin stays
//! empty:
//!
//! ```text
//! for round in 0, 1, ... until no bin is empty:
//!     for each feature h:
//!         g = h if round == 0, else mix(h, round)
//!         bin = g >> 58 if round < 64, else round - 64
//!         if bin was empty when the round began: least[bin] = min(least[bin], g << 6)
//! bit i of the fingerprint = bit 6 of least[i]
//! ```
//!
//! Sources: one bit of a minimum is Li and Konig, "b-Bit Minwise Hashing", WWW 2010; bins are Li,
//! Owen and Zhang, "One Permutation Hashing", NIPS 2012; the rounds are Dahlgaard, Knudsen and
//! Thorup, "Fast Similarity Sketching", FOCS 2017. The rounds take the place of copies from other
//! bins (Shrivastava, "Optimal Densification for Fast and Accurate Minwise Hashing", ICML 2017)
//! because copies are equal or different together: on short texts the distances scatter more.

use crate::features::counts::SeenHashes;
use fpstore_base::{Fingerprint, mix};

/// The number of bins, and of bits in a fingerprint: one for each bin.
const BINS: usize = 64;
/// The number of bits that select the bin.
const BIN_BITS: u32 = BINS.ilog2();
/// The minimum of an empty bin. It differs from every other minimum, which ends with zeros.
const EMPTY: u64 = u64::MAX;

/// The minimum of each bin, over the features of a text.
#[derive(Clone, Debug)]
pub(crate) struct Minima {
    least: [u64; BINS],
    /// Whether no bin is empty.
    is_full: bool,
    /// The distinct hashes, collected while a bin is empty, for further rounds.
    distinct: Vec<u64>,
    seen: SeenHashes,
}

impl Default for Minima {
    fn default() -> Self {
        let (distinct, seen) = (Vec::new(), SeenHashes::default());
        Minima { least: [EMPTY; BINS], is_full: false, distinct, seen }
    }
}

impl Minima {
    /// Adds the hashes of features, in any order, repetitions included. Afterwards the contents of
    /// `hashes` are unspecified.
    pub(crate) fn add(&mut self, hashes: &mut [u64]) {
        for &hash in &*hashes {
            let least = &mut self.least[(hash >> (64 - BIN_BITS)) as usize];
            *least = (*least).min(hash << BIN_BITS);
        }
        if !self.is_full {
            let new_count = self.seen.keep_new(hashes);
            self.distinct.extend_from_slice(&hashes[..new_count]);
            self.is_full = !self.least.contains(&EMPTY);
        }
    }

    /// The fingerprint, or `None` without features. Clears the features.
    pub(crate) fn decide(&mut self) -> Option<Fingerprint> {
        if !self.is_full && self.distinct.is_empty() {
            return None;
        }
        let mut round = 0;
        while self.least.contains(&EMPTY) {
            round += 1;
            self.fill(round);
        }
        let bits = self.least.iter().zip(0..).map(|(least, bit)| (least >> BIN_BITS & 1) << bit);
        let value = bits.sum();
        self.clear();
        Some(Fingerprint::new(value))
    }

    /// Fills empty bins with the hashes of the given round.
    fn fill(&mut self, round: u64) {
        let was_empty = self.least.map(|least| least == EMPTY);
        let only = (round as usize).checked_sub(BINS);
        if only.is_some_and(|bin| !was_empty[bin]) {
            return;
        }
        for &hash in &self.distinct {
            let mixed = mix(hash, round);
            let bin = only.unwrap_or((mixed >> (64 - BIN_BITS)) as usize);
            if was_empty[bin] {
                self.least[bin] = self.least[bin].min(mixed << BIN_BITS);
            }
        }
    }

    pub(crate) fn clear(&mut self) {
        self.least = [EMPTY; BINS];
        self.is_full = false;
        self.distinct.clear();
        self.distinct.shrink_to(DISTINCT_KEPT_MAX);
        self.seen.clear();
    }
}

/// The maximum number of hashes whose memory is kept for the next text.
const DISTINCT_KEPT_MAX: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_add(1);
        mix(*state, 0x5eed)
    }

    fn fingerprint(hashes: &[u64]) -> Option<u64> {
        let mut minima = Minima::default();
        minima.add(&mut hashes.to_vec());
        minima.decide().map(Fingerprint::value)
    }

    /// A literal transcription of the pseudocode.
    fn slow(hashes: &[u64]) -> Option<u64> {
        let mut least: [Option<u64>; 64] = [None; 64];
        for round in 0..128 {
            let before = least;
            for &h in hashes {
                let g = if round == 0 { h } else { mix(h, round) };
                let bin = if round < 64 { g >> 58 } else { round - 64 } as usize;
                if before[bin].is_none() {
                    least[bin] = Some(least[bin].map_or(g << 6, |least| least.min(g << 6)));
                }
            }
        }
        let bit = |(least, bit): (&Option<u64>, u32)| Some((least.as_ref()? >> 6 & 1) << bit);
        least.iter().zip(0..).map(bit).sum()
    }

    #[test]
    fn sets_of_all_sizes_follow_the_rule_in_any_order_and_with_repeats() {
        let mut state = 1;
        for size in (0..70).chain([200, 300, 1000, 5000]) {
            let mut hashes: Vec<u64> = (0..size).map(|_| random(&mut state)).collect();
            let expected = slow(&hashes);
            assert_eq!(fingerprint(&hashes), expected, "{size}");
            hashes.reverse();
            hashes.extend_from_within(..hashes.len() / 2);
            assert_eq!(fingerprint(&hashes), expected, "{size}");
            let mut minima = Minima::default();
            hashes.chunks(7).for_each(|part| minima.add(&mut part.to_vec()));
            assert_eq!(minima.decide().map(Fingerprint::value), expected, "{size}");
            // All features are cleared.
            assert_eq!(minima.decide(), None);
        }
    }

    #[test]
    fn hashes_that_share_a_bin_fill_all_bins() {
        for hashes in [&[0][..], &[u64::MAX], &[0, 1, 2, 3], &[7 << 58, 7 << 58 | 1]] {
            assert_eq!(fingerprint(hashes), slow(hashes), "{hashes:x?}");
        }
    }

    /// Sets of `shared` and `own` elements have J = shared / (shared + 2 own).
    #[test]
    fn the_bits_that_differ_are_those_of_the_formula() {
        const ROUNDS: u64 = 2000;
        let mut state = 7;
        for (shared, own) in [(1, 0), (1, 1), (4, 1), (8, 1), (80, 10), (300, 300), (0, 50)] {
            let (mut sum, mut squares) = (0.0, 0.0);
            for _ in 0..ROUNDS {
                let mut set = |count| (0..count).map(|_| random(&mut state)).collect::<Vec<_>>();
                let (common, a, b) = (set(shared), set(own), set(own));
                let of = |own: Vec<u64>| fingerprint(&[common.clone(), own].concat()).unwrap();
                let differ = f64::from((of(a) ^ of(b)).count_ones());
                sum += differ;
                squares += differ * differ;
            }
            let mean = sum / ROUNDS as f64;
            let similarity = shared as f64 / (shared + 2 * own) as f64;
            let expected = 32.0 * (1.0 - similarity);
            let deviation = (squares / ROUNDS as f64 - mean * mean).sqrt();
            let error = 4.0 * (deviation + 0.1) / (ROUNDS as f64).sqrt();
            assert!((mean - expected).abs() < error, "{shared} {own}: {mean}, not {expected}");
        }
    }
}
