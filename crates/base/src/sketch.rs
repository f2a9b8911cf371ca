//! Sketches: one byte from each of 32 to 128 minimum hashes. They describe a text more exactly than
//! a fingerprint, which has one bit from each of 64 minimum hashes.
//!
//! The minimum hash of each bin gives a byte of the sketch, as the bins of MinHash give the bits of
//! a fingerprint:
//!
//! ```text
//! for round in 0, 1, ... until no bin is empty:
//!     for each feature h:
//!         g = mix(h, 2^32 + round)
//!         bin = the leading bits of g if round < 64, else round - 64
//!         if bin was empty when the round began: least[bin] = min(least[bin], g without these bits)
//! byte i of the sketch = the low 8 bits of least[i]
//! ```
//!
//! Two sets with Jaccard similarity J have each minimum in common with probability J, and then also
//! the byte; different minima have equal bytes once in 256 times, by chance.
//!
//! Stores contain sketches, and a join uses short sketches as outlines of documents; `fpstore-text`
//! computes them from texts. This module gets hashes, never texts.
//!
//! Sources: for bins, Li, Owen and Zhang, "One Permutation Hashing", NIPS 2012; for the rounds,
//! Dahlgaard, Knudsen and Thorup, "Fast Similarity Sketching", FOCS 2017; for several bits of a
//! minimum, Li and Konig, "b-Bit Minwise Hashing", WWW 2010.

/// The valid lengths of a sketch in bytes.
pub const SKETCH_LENS: [u8; 3] = [32, 64, 128];

/// The number of the first round, so large that its hashes differ from the hashes for fingerprints.
const FIRST_ROUND: u64 = 1 << 32;
/// The number of rounds in which the hash selects the bin.
const FREE_ROUNDS: u64 = 64;

/// The sketch of a set of features, given by their hashes, each once and in any order. Its length
/// `len` in bytes must be in [`SKETCH_LENS`]; without features the sketch is empty.
///
/// The fraction of equal bytes in two sketches, corrected for equality by chance (1 in 256),
/// estimates the Jaccard similarity; with 128 bytes the standard deviation is at most 0.045.
///
/// # Panics
///
/// If `len` is not in [`SKETCH_LENS`].
///
/// # Examples
///
/// ```
/// use fpstore_base::sketch;
///
/// let sketches = [[1, 2, 3], [3, 2, 1]].map(|features| sketch(&features, 128));
/// assert_eq!(sketches[0].len(), 128);
/// assert_eq!(sketches[0], sketches[1]);
/// ```
pub fn sketch(features: &[u64], len: u8) -> Vec<u8> {
    assert!(
        SKETCH_LENS.contains(&len),
        "a sketch of {len} bytes, expected a length of \
                                         {SKETCH_LENS:?}"
    );
    if features.is_empty() {
        return Vec::new();
    }
    let bits = len.ilog2();
    let mut least = vec![None::<u64>; len.into()];
    let mut round = 0_u64;
    while least.contains(&None) {
        let before = least.clone();
        let only = round.checked_sub(FREE_ROUNDS).map(|bin| bin as usize);
        for &hash in features.iter().filter(|_| only.is_none_or(|bin| before[bin].is_none())) {
            let mixed = mix(hash, FIRST_ROUND + round);
            let bin = only.unwrap_or((mixed >> (64 - bits)) as usize);
            if before[bin].is_none() {
                let key = mixed << bits;
                least[bin] = Some(least[bin].map_or(key, |least| least.min(key)));
            }
        }
        round += 1;
    }
    least.iter().flatten().map(|least| (least >> bits) as u8).collect()
}

/// A new hash of the same feature for each round: a step and the finalizer of SplitMix64 (Steele,
/// Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014).
#[inline]
pub fn mix(hash: u64, round: u64) -> u64 {
    let mut z = hash.wrapping_add(round.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sketches_estimate_the_similarity() {
        for len in SKETCH_LENS {
            for (shared, own) in [(1, 0), (1, 1), (8, 1), (80, 10), (300, 300), (0, 50)] {
                let similarity = shared as f64 / (shared + 2 * own) as f64;
                let (mut sum, rounds) = (0.0, 400);
                for round in 0..rounds {
                    let set = |first: u64, count: u64| {
                        (0..count).map(move |at| mix(at, first + 7 * round))
                    };
                    let [one, other] = [1 << 40, 1 << 41].map(|own_first| {
                        let all: Vec<u64> = set(1, shared).chain(set(own_first, own)).collect();
                        sketch(&all, len)
                    });
                    assert_eq!(one.len(), usize::from(len));
                    let equal = one.iter().zip(&other).filter(|(a, b)| a == b).count();
                    sum += (equal as f64 / f64::from(len) - 1.0 / 256.0) / (255.0 / 256.0);
                }
                let mean = sum / rounds as f64;
                let error = 4.0 * 0.5 / (rounds as f64 * f64::from(len)).sqrt() * 1.5;
                assert!((mean - similarity).abs() < error, "{len} {shared} {own}: {mean}");
            }
        }
    }

    #[test]
    fn the_order_of_features_means_nothing() {
        let features: Vec<u64> = (0..50).map(|at| mix(at, 3)).collect();
        let reversed: Vec<u64> = features.iter().rev().copied().collect();
        for len in SKETCH_LENS {
            assert_eq!(sketch(&features, len), sketch(&reversed, len));
            assert!(sketch(&[], len).is_empty());
            assert_eq!(sketch(&[7], len).len(), usize::from(len));
        }
    }
}
