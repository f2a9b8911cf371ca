//! What a query finds by chance alone.

use crate::scheme::combinations_up_to;

/// How many of `fingerprint_count` stored fingerprints a random query finds within `k` bits on
/// average: n * (C(64,0) + ... + C(64,k)) / 2^64, whatever is stored.
///
/// ```
/// let by_chance = fpstore::doctor::random_matches(1_000_000_000, 8);
/// assert_eq!(format!("{by_chance:.2}"), "0.28");
/// ```
pub fn random_matches(fingerprint_count: u64, k: u32) -> f64 {
    let n = fingerprint_count as f64;
    (n * combinations_up_to(64, k.min(64)) / 2_f64.powi(64)).min(n)
}

/// The same for distances 0 to 64 if bit `b` of query and stored fingerprint agree with chance
/// `agreement[b]`, one bit independent of the other.
pub(super) fn matches_by_agreement(fingerprint_count: u64, agreement: &[f64]) -> Vec<f64> {
    // The chances that 0, 1, 2, ... of the bits looked at so far differ.
    let mut differing = vec![0.0; agreement.len() + 1];
    differing[0] = 1.0;
    for (seen, &agree) in agreement.iter().enumerate() {
        for distance in (1..=seen + 1).rev() {
            differing[distance] =
                differing[distance] * agree + differing[distance - 1] * (1.0 - agree);
        }
        differing[0] *= agree;
    }
    let within = differing.iter().scan(0.0, |sum, chance| {
        *sum += chance;
        Some(*sum * fingerprint_count as f64)
    });
    within.collect()
}

/// The chance that two different fingerprints of a set agree in a bit that is set in `ones` of
/// `n` of them; one half for fewer than two.
pub(super) fn agreement(ones: u64, n: u64) -> f64 {
    if n < 2 {
        return 0.5;
    }
    let pairs = |count: u64| count as f64 * count.saturating_sub(1) as f64;
    (pairs(ones) + pairs(n - ones)) / pairs(n)
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

    #[test]
    fn agreement_is_over_pairs_of_different_fingerprints() {
        assert_eq!(agreement(0, 10), 1.0);
        assert_eq!(agreement(10, 10), 1.0);
        assert_eq!(agreement(1, 2), 0.0);
        assert_eq!(agreement(0, 1), 0.5);
    }
}
