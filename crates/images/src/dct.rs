//! The discrete cosine transform of 32 values, with the roundings of scipy.
//!
//! A hash compares coefficients with their median. In pictures of one colour, mirrored pictures and
//! drawn gradients many coefficients are 0 or equal, so their rounding errors decide. Hence the
//! operations and their order are the same as in pocketfft, the library in scipy: there the
//! coefficients that vanish by symmetry are exactly 0.

use std::f64::consts::{PI, SQRT_2};

/// The number of transformed values.
pub(crate) const LEN: usize = 32;

/// A complex number: its real and its imaginary part.
type Complex = (f64, f64);

/// The sums of `2 * values[at] * cos(PI * frequency * (2 * at + 1) / 64)` for each frequency.
pub(crate) fn cosine_transform(values: [f64; LEN]) -> [f64; LEN] {
    let mut spectrum = [(0.0, 0.0); LEN];
    spectrum[0].0 = 2.0 * values[0];
    spectrum[LEN / 2].0 = 2.0 * values[LEN - 1];
    for at in 1..LEN / 2 {
        let (left, right) = (values[2 * at - 1], values[2 * at]);
        spectrum[at] = (left + right, right - left);
        spectrum[LEN - at] = (left + right, left - right);
    }
    let waves = real_inverse(&spectrum);
    let cosine = |steps: usize| product(unit(steps % 16), unit(steps / 16 * 16)).0;
    std::array::from_fn(|at| match at {
        0 => waves[0],
        _ if at == LEN / 2 => waves[at] * cosine(at),
        _ => {
            let (low, high) = (at.min(LEN - at), at.max(LEN - at));
            let sum = cosine(low) * waves[high] + cosine(high) * waves[low];
            let difference = cosine(low) * waves[low] - cosine(high) * waves[high];
            0.5 * if at == low { sum + difference } else { sum - difference }
        }
    })
}

/// Half of each coefficient of [`cosine_transform`], summed as in the definition, with the rounding
/// errors of [`PictureVersion::One`](crate::PictureVersion::One).
pub(crate) fn sums(values: [f64; LEN]) -> [f64; LEN] {
    // The angle repeats after 4 * LEN steps. The steps are reduced, because cosines of small angles
    // have exact symmetries.
    let wave = |frequency: usize, at: usize| {
        let steps = frequency * (2 * at + 1) % (4 * LEN);
        (PI * steps as f64 / (2 * LEN) as f64).cos()
    };
    std::array::from_fn(|of| (0..LEN).map(|at| values[at] * wave(of, at)).sum())
}

/// The unnormalised inverse Fourier transform of the spectrum of real values, in which the value at
/// `len - at` is the conjugate of the value at `at`.
fn real_inverse(spectrum: &[Complex]) -> Vec<f64> {
    let len = spectrum.len();
    if len == 1 {
        return vec![spectrum[0].0];
    }
    let radix = if len == LEN { 2 } else { 4 };
    let part_len = len / radix;
    let mut parts = vec![vec![(0.0, 0.0); part_len]; radix];
    for at in 0..=part_len / 2 {
        let term = |part: usize| spectrum[at + part * part_len];
        let terms = match radix {
            2 => vec![sum(term(0), term(1)), difference(term(0), term(1))],
            _ => {
                let (even, odd) = (sum(term(0), term(2)), sum(term(1), term(3)));
                let (first, second) = (difference(term(0), term(2)), difference(term(1), term(3)));
                let turned = (-second.1, second.0);
                vec![
                    sum(even, odd),
                    sum(first, turned),
                    difference(even, odd),
                    difference(first, turned),
                ]
            }
        };
        for (number, term) in terms.into_iter().enumerate() {
            let (real, imaginary) = match number {
                1 if radix == 4 && 2 * at == part_len => (SQRT_2 * term.0, 0.0),
                3 if radix == 4 && 2 * at == part_len => (-SQRT_2 * term.0, 0.0),
                _ => product(term, unit(number * at * (4 * LEN / len))),
            };
            parts[number][(part_len - at) % part_len] = (real, -imaginary);
            parts[number][at] = (real, imaginary);
        }
    }
    let parts: Vec<Vec<f64>> = parts.iter().map(|part| real_inverse(part)).collect();
    (0..len).map(|at| parts[at % radix][at / radix]).collect()
}

/// The point on the unit circle after `steps` of 128 equal steps, at most a quarter of the circle.
fn unit(steps: usize) -> Complex {
    let angle = |steps: usize| steps as f64 * (PI / (2 * LEN) as f64);
    match steps < 16 {
        true => (angle(steps).cos(), angle(steps).sin()),
        false => (angle(LEN - steps).sin(), angle(LEN - steps).cos()),
    }
}

fn sum(one: Complex, other: Complex) -> Complex {
    (one.0 + other.0, one.1 + other.1)
}

fn difference(one: Complex, other: Complex) -> Complex {
    (one.0 - other.0, one.1 - other.1)
}

fn product(one: Complex, other: Complex) -> Complex {
    (one.0 * other.0 - one.1 * other.1, one.0 * other.1 + one.1 * other.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_coefficients_are_those_of_the_definition() {
        let mut state = 7_u64;
        for _ in 0..100 {
            let values: [f64; LEN] = std::array::from_fn(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                f64::from((state >> 56) as u8)
            });
            for (frequency, found) in cosine_transform(values).into_iter().enumerate() {
                let sum = 2.0 * sums(values)[frequency];
                assert!((found - sum).abs() < 1e-9, "{frequency}: {found}, expected {sum}");
            }
        }
    }

    #[test]
    fn coefficients_that_vanish_by_symmetry_are_exactly_0() {
        let even: [f64; LEN] = std::array::from_fn(|at| (at.min(31 - at) * 7 % 13) as f64);
        let halves: [f64; LEN] = std::array::from_fn(|at| if at < 16 { 3.0 } else { 250.0 });
        for at in 1..LEN {
            assert_eq!(cosine_transform([77.0; LEN])[at], 0.0, "one value, {at}");
            assert!(at % 2 == 0 || cosine_transform(even)[at] == 0.0, "mirrored, {at}");
            assert!(at % 2 == 1 || cosine_transform(halves)[at] == 0.0, "two halves, {at}");
        }
    }
}
