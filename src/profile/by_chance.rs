//! The expected number of matches of a query by chance alone.

use crate::plan::profile::distances::distribution;
use crate::scheme::combinations_up_to;

/// The mean number of stored fingerprints, of `fingerprint_count`, within `k` bits of a random
/// query: n * (C(64,0) + ... + C(64,k)) / 2^64, whatever is stored.
///
/// ```
/// let by_chance = fpstore::profile::random_matches(1_000_000_000, 8);
/// assert_eq!(format!("{by_chance:.2}"), "0.28");
/// ```
pub fn random_matches(fingerprint_count: u64, k: u32) -> f64 {
    let n = fingerprint_count as f64;
    (n * combinations_up_to(64, k.min(64)) / 2_f64.powi(64)).min(n)
}

/// The mean number of matches by chance within each distance from 0 to 64, if bit `b` of query and
/// stored fingerprint agree with probability `agreement[b]`, one bit independent of another.
pub(super) fn matches_by_agreement(fingerprint_count: u64, agreement: &[f64]) -> Vec<f64> {
    let within = distribution(agreement).into_iter().scan(0.0, |sum, probability| {
        *sum += probability;
        Some(*sum * fingerprint_count as f64)
    });
    within.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_bits_give_the_binomial_sum() {
        let by_agreement = matches_by_agreement(1_000_000_000, &[0.5; 64]);
        for k in 0..=64 {
            let (one, other) = (by_agreement[k as usize], random_matches(1_000_000_000, k));
            assert!((one / other - 1.0).abs() < 1e-9, "k={k}: {one} {other}");
        }
        assert!((random_matches(1_000_000_000, 8) - 0.2782).abs() < 1e-3);
        assert_eq!(random_matches(77, 64), 77.0);
    }

    #[test]
    fn bits_that_never_vary_do_not_count() {
        let mut agreement = [0.5; 64];
        agreement[20..].fill(1.0);
        let by_agreement = matches_by_agreement(1 << 20, &agreement);
        // 1 + 20 + 190 ways to differ in at most 2 of 20 bits.
        assert!((by_agreement[2] - 211.0).abs() < 1e-6, "{}", by_agreement[2]);
    }
}
