//! Resizes as Pillow does: Lanczos over three lobes, in fixed-point numbers of 22 bits.
//!
//! One pass resizes rows, one columns; each rounds to bytes. Every step must equal the step of
//! Pillow, because a hash compares values that are close to each other.

use std::f64::consts::PI;

use crate::gray::Gray;

/// The number of fractional bits of a weight.
const PRECISION: u32 = 22;
const LOBES: f64 = 3.0;

/// The weights of the old pixels for one new pixel.
struct Weights {
    first: usize,
    weights: Vec<i32>,
}

/// A picture of `width` times `height` pixels, as in Pillow 13: columns are resized first if the
/// height shrinks by more than twice as many pixels as the width.
pub(crate) fn resized(picture: &Gray, width: usize, height: usize) -> Gray {
    let [rows, columns] = [(picture.height(), height), (picture.width(), width)]
        .map(|(old, new)| old as i64 - new as i64);
    match rows > 0 && rows > 2 * columns {
        true => resized_rows(resized_columns(picture.clone(), height), width),
        false => resized_rows_first(picture, width, height),
    }
}

/// A picture of `width` times `height` pixels, as in versions of Pillow before 13.
pub(crate) fn resized_rows_first(picture: &Gray, width: usize, height: usize) -> Gray {
    resized_columns(resized_rows(picture.clone(), width), height)
}

fn resized_rows(picture: Gray, width: usize) -> Gray {
    if picture.width() == width {
        return picture;
    }
    let weights = all_weights(picture.width(), width);
    let row = |row: &[u8]| {
        let of = |it: &Weights| sum(it, row[it.first..].iter().copied());
        weights.iter().map(of).collect::<Vec<u8>>()
    };
    let pixels = picture.pixels().chunks_exact(picture.width()).flat_map(row).collect();
    Gray::new(width, picture.height(), pixels).expect("there is a pixel for each place")
}

fn resized_columns(picture: Gray, height: usize) -> Gray {
    let width = picture.width();
    if picture.height() == height {
        return picture;
    }
    let column = |it: &Weights, x: usize| {
        sum(it, picture.pixels()[it.first * width + x..].iter().copied().step_by(width))
    };
    let pixels = all_weights(picture.height(), height)
        .iter()
        .flat_map(|it| (0..width).map(move |x| (it, x)))
        .map(|(it, x)| column(it, x))
        .collect();
    Gray::new(width, height, pixels).expect("there is a pixel for each place")
}

/// The weighted sum of pixels, clamped to a byte.
fn sum(of: &Weights, pixels: impl Iterator<Item = u8>) -> u8 {
    let half = 1_i64 << (PRECISION - 1);
    let parts = of.weights.iter().zip(pixels);
    let sum = parts.fold(half, |sum, (&weight, pixel)| sum + i64::from(weight) * i64::from(pixel));
    (sum >> PRECISION).clamp(0, 255) as u8
}

fn all_weights(old: usize, new: usize) -> Vec<Weights> {
    let scale = old as f64 / new as f64;
    let filter_scale = scale.max(1.0);
    let support = LOBES * filter_scale;
    let step = 1.0 / filter_scale;
    let weights_at = |at: usize| {
        let center = (at as f64 + 0.5) * scale;
        // The conversion turns negative numbers into 0, as intended.
        let first = (center - support + 0.5) as usize;
        let end = ((center + support + 0.5) as usize).min(old);
        let weights: Vec<f64> = (0..end - first)
            .map(|x| lanczos((x as f64 + first as f64 - center + 0.5) * step))
            .collect();
        let mut total = 0.0;
        weights.iter().for_each(|weight| total += weight);
        let fixed = |weight: &f64| {
            let share = if total == 0.0 { *weight } else { weight / total };
            let scaled = share * f64::from(1 << PRECISION);
            (if share < 0.0 { scaled - 0.5 } else { scaled + 0.5 }) as i32
        };
        Weights { first, weights: weights.iter().map(fixed).collect() }
    };
    (0..new).map(weights_at).collect()
}

fn lanczos(x: f64) -> f64 {
    if (-LOBES..LOBES).contains(&x) { sinc(x) * sinc(x / LOBES) } else { 0.0 }
}

fn sinc(x: f64) -> f64 {
    if x == 0.0 {
        return 1.0;
    }
    let x = x * PI;
    x.sin() / x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_even_picture_stays_even_at_every_size() {
        for (width, height) in [(1, 1), (7, 300), (32, 32), (33, 31), (500, 2)] {
            let picture = Gray::new(width, height, vec![77; width * height]).unwrap();
            for (new_width, new_height) in [(32, 32), (9, 8), (1, 1)] {
                let small = resized(&picture, new_width, new_height);
                assert!(small.pixels().iter().all(|&pixel| pixel == 77), "{width} x {height}");
                assert_eq!(small.pixels().len(), new_width * new_height);
            }
        }
    }
}
