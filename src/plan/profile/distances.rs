//! The distribution of distances between fingerprints whose bits agree with given probabilities.

/// The probabilities that two fingerprints differ in 0, 1, 2, ... bits, if bit `b` of them agrees
/// with probability `agreement[b]`, one bit independent of another.
pub(crate) fn distribution(agreement: &[f64]) -> Vec<f64> {
    let mut differing = vec![0.0; agreement.len() + 1];
    differing[0] = 1.0;
    for (seen, &agree) in agreement.iter().enumerate() {
        for distance in (1..=seen + 1).rev() {
            differing[distance] =
                differing[distance] * agree + differing[distance - 1] * (1.0 - agree);
        }
        differing[0] *= agree;
    }
    differing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_bits_are_binomial_and_bits_that_never_vary_do_not_count() {
        let even = distribution(&[0.5; 64]);
        assert!((even[1] * 2_f64.powi(64) / 64.0 - 1.0).abs() < 1e-9);
        assert!((even.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        let mut agreement = [1.0; 64];
        agreement[..20].fill(0.5);
        let few = distribution(&agreement);
        assert!((few[2] * 2_f64.powi(20) - 190.0).abs() < 1e-6);
        assert_eq!(few[21..].iter().sum::<f64>(), 0.0);
    }
}
