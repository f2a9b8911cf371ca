//! Counting ways to flip bits, and the bound on tables.

/// The most tables a segment can have.
pub(crate) const TABLE_COUNT_MAX: usize = 256;

/// C(n,0) + C(n,1) + ... + C(n,r).
pub(crate) fn combinations_up_to(n: u32, r: u32) -> f64 {
    let mut term = 1.0;
    let mut sum = 1.0;
    for i in 1..=r.min(n) {
        term *= f64::from(n - i + 1) / f64::from(i);
        sum += term;
    }
    sum
}

/// The elementary symmetric polynomials of `weights`, degree 0 to `degree`: for weights of 1,
/// entry `i` is the number of ways to flip `i` of them.
pub(crate) fn ways_to_flip(weights: &[f64], degree: u32) -> Vec<f64> {
    let degree = degree as usize;
    let mut ways = vec![0.0; degree + 1];
    ways[0] = 1.0;
    for (seen, weight) in (1..).zip(weights) {
        for flips in (1..=degree.min(seen)).rev() {
            ways[flips] += ways[flips - 1] * weight;
        }
    }
    ways
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combinations_are_summed() {
        assert_eq!(combinations_up_to(64, 3), 43_745.0);
        assert_eq!(combinations_up_to(5, 9), 32.0);
        assert_eq!(combinations_up_to(0, 4), 1.0);
    }

    #[test]
    fn ways_to_flip_equal_bits_are_combinations_and_dead_bits_have_none() {
        let ways = ways_to_flip(&[1.0; 64], 3);
        assert_eq!(ways, [1.0, 64.0, 2016.0, 41_664.0]);
        assert_eq!(ways_to_flip(&[1.0, 0.0, 1.0, 0.0], 3), [1.0, 2.0, 1.0, 0.0]);
        assert_eq!(ways_to_flip(&[], 2), [1.0, 0.0, 0.0]);
        assert_eq!(ways_to_flip(&[0.5, 2.0], 2), [1.0, 2.5, 1.0]);
    }
}
