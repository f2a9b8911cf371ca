//! The lowest frequencies of a picture: the discrete cosine transform of type II.

use std::f64::consts::PI;

/// The side of the picture that is transformed.
pub(crate) const SIDE: usize = 32;
/// The lowest frequencies of each direction.
pub(crate) const LOW: usize = 8;

/// The coefficients of the lowest frequencies in both directions, without a common factor; the
/// vertical frequency counts the rows. Sums of 32 terms need no faster way.
pub(crate) fn low_frequencies(pixels: &[u8; SIDE * SIDE]) -> [f64; LOW * LOW] {
    let wave = |frequency: usize, place: usize| {
        // The angle repeats after 4 * SIDE steps; small angles have exact symmetries.
        let steps = frequency * (2 * place + 1) % (4 * SIDE);
        (PI * steps as f64 / (2 * SIDE) as f64).cos()
    };
    let waves: [[f64; SIDE]; LOW] =
        std::array::from_fn(|frequency| std::array::from_fn(|place| wave(frequency, place)));
    // Along the columns first, then along the rows.
    let mut columns = [[0.0; SIDE]; LOW];
    for (frequency, column) in columns.iter_mut().enumerate() {
        for (x, sum) in column.iter_mut().enumerate() {
            *sum = (0..SIDE).map(|y| f64::from(pixels[y * SIDE + x]) * waves[frequency][y]).sum();
        }
    }
    std::array::from_fn(|at| {
        let (vertical, horizontal) = (at / LOW, at % LOW);
        (0..SIDE).map(|x| columns[vertical][x] * waves[horizontal][x]).sum()
    })
}
