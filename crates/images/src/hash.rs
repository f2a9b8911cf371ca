//! The hashes of pictures, and the recipes that a store keeps.

use std::f64::consts::PI;
use std::fmt;
use std::str::FromStr;

use fpstore_base::{Fingerprint, Recipe};

use crate::gray::Gray;
use crate::resize::resized;

/// The side of the picture that is transformed.
const SIDE: usize = 32;
/// The lowest frequencies of each direction.
const LOW: usize = 8;

/// A hash of pictures.
///
/// For the same pixels both hashes equal those of the Python package imagehash with its defaults,
/// bit for bit; the most significant bit is the first bit of its rows. Exceptions are pictures with
/// coefficients that are equal by symmetry (one colour, a drawn gradient): there imagehash counts
/// the rounding errors of its transform as differences.
///
/// # Examples
///
/// ```
/// use fpstore_images::{Gray, PictureHash};
///
/// let pixels = (0..100 * 80).map(|at| (at * at / 77 % 251) as u8).collect();
/// let picture = Gray::new(100, 80, pixels).ok_or("no picture")?;
/// let fingerprint = PictureHash::PHash.fingerprint(&picture);
/// assert_eq!(fingerprint.value().count_ones(), 32);
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PictureHash {
    /// The signs of the 64 lowest frequencies against their median: `imagehash.phash`.
    PHash,
    /// Whether each of 8 times 8 pixels is brighter than the one to its left: `imagehash.dhash`.
    DHash,
}

/// The version of the recipes, in their first line.
const VERSION_LINE: &str = "fpstore-images=1";

impl PictureHash {
    /// All hashes.
    pub const ALL: [PictureHash; 2] = [PictureHash::PHash, PictureHash::DHash];

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            PictureHash::PHash => "phash",
            PictureHash::DHash => "dhash",
        }
    }

    /// The distance that includes most resized, compressed and slightly cropped versions of a
    /// picture, and hardly any other picture (docs/images.md).
    pub fn usual_k(self) -> u32 {
        match self {
            PictureHash::PHash => 10,
            PictureHash::DHash => 8,
        }
    }

    /// The fingerprint of a picture.
    pub fn fingerprint(self, picture: &Gray) -> Fingerprint {
        Fingerprint::new(match self {
            PictureHash::PHash => phash(picture),
            PictureHash::DHash => dhash(picture),
        })
    }
}

/// The orientation of a picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Orientation {
    /// By the EXIF data, as in viewers.
    #[default]
    Exif,
    /// As the pixels are stored. imagehash uses it unless its caller turns the picture.
    Stored,
}

/// The recipe of fingerprints of picture files, which a store keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PictureRecipe {
    /// The hash.
    pub hash: PictureHash,
    /// The orientation.
    pub orientation: Orientation,
}

impl PictureRecipe {
    /// Converts to the recipe of a store.
    pub fn to_recipe(self) -> Recipe {
        let PictureRecipe { hash, orientation } = self;
        let size = match hash {
            PictureHash::PHash => "32x32",
            PictureHash::DHash => "9x8",
        };
        let up = match orientation {
            Orientation::Exif => "exif",
            Orientation::Stored => "stored",
        };
        let text = format!("{VERSION_LINE}\nhash={hash}\nresize=lanczos-{size}\norientation={up}");
        Recipe::from_text(&text).expect("it is a short text")
    }

    /// Converts from the recipe of a store; `None` if it is not a recipe of pictures.
    pub fn of_recipe(recipe: &Recipe) -> Option<Self> {
        let all = PictureHash::ALL.into_iter().flat_map(|hash| {
            [Orientation::Exif, Orientation::Stored]
                .map(|orientation| PictureRecipe { hash, orientation })
        });
        all.into_iter().find(|it| it.to_recipe() == *recipe)
    }
}

fn phash(picture: &Gray) -> u64 {
    let small = resized(picture, SIDE, SIDE);
    let pixels = small.pixels().try_into().expect("it has 32 times 32 pixels");
    let low: [f64; LOW * LOW] = low_frequencies(pixels);
    let mut sorted = low;
    sorted.sort_by(f64::total_cmp);
    let median = (sorted[31] + sorted[32]) / 2.0;
    bits(low.iter().map(|&coefficient| coefficient > median))
}

/// The coefficients of the lowest frequencies in both directions, without a common factor; the
/// vertical frequency counts the rows. Sums of 32 terms need no faster way.
fn low_frequencies(pixels: &[u8; SIDE * SIDE]) -> [f64; LOW * LOW] {
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

fn dhash(picture: &Gray) -> u64 {
    let small = resized(picture, 9, 8);
    bits(
        small.pixels().chunks_exact(9).flat_map(|row| row.windows(2).map(|pair| pair[1] > pair[0])),
    )
}

/// 64 bits, the first the most significant.
fn bits(bits: impl Iterator<Item = bool>) -> u64 {
    bits.fold(0, |value, bit| value << 1 | u64::from(bit))
}

impl fmt::Display for PictureHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for PictureHash {
    /// A message with the valid names.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = PictureHash::ALL.into_iter().find(|hash| hash.name() == text);
        found.ok_or_else(|| format!("'{text}' is no hash of pictures, expected phash or dhash"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipes_name_one_hash_each() {
        for hash in PictureHash::ALL {
            for orientation in [Orientation::Exif, Orientation::Stored] {
                let recipe = PictureRecipe { hash, orientation };
                assert_eq!(PictureRecipe::of_recipe(&recipe.to_recipe()), Some(recipe));
            }
            assert_eq!(hash.name().parse(), Ok(hash));
        }
        assert_eq!(PictureRecipe::of_recipe(&Recipe::external()), None);
        assert!("ahash".parse::<PictureHash>().unwrap_err().contains("expected phash or dhash"));
    }
}
