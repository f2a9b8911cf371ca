//! The hashes of pictures, and the recipes that a store keeps.
//!
//! `phash` resizes a grey picture to 32 x 32 pixels, takes its cosine transform, and compares the
//! 64 coefficients of the lowest frequencies with their median. `dhash` resizes it to 9 x 8 pixels,
//! and compares each pixel with the pixel to its left. Both give 64 bits; resizing takes most of
//! the time.

use std::fmt;
use std::str::FromStr;

use fpstore_base::{Fingerprint, Recipe};

use crate::dct::{LEN as SIDE, cosine_transform, sums};
use crate::gray::Gray;
use crate::resize::{resized, resized_rows_first};

/// The number of lowest frequencies of each direction that the hash uses.
const LOW: usize = 8;

fpstore_base::named! {
    /// A hash of pictures.
    ///
    /// For the same pixels both hashes equal the hashes of the Python package imagehash with its
    /// defaults, bit for bit; the most significant bit is the first bit of the first row in
    /// imagehash. The transform has the roundings of scipy on x86-64, so the hashes of pictures of
    /// one colour, mirrored pictures and drawn gradients are equal, too.
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
        /// Whether the coefficient of each of the 64 lowest frequencies is above their median:
        /// `imagehash.phash`.
        PHash = "phash",
        /// Whether each of 8 times 8 pixels is brighter than the pixel to its left:
        /// `imagehash.dhash`.
        DHash = "dhash",
    }
}

/// The version of the rules that turn pixels into a fingerprint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PictureVersion {
    /// Sums in floating point, whose rounding errors decide the fingerprints of pictures of one
    /// colour, mirrored pictures and gradients. For existing stores.
    One,
    /// The operations of scipy and Pillow 13.
    #[default]
    Two,
}

impl PictureHash {
    /// All hashes.
    pub const ALL: [PictureHash; 2] = [PictureHash::PHash, PictureHash::DHash];

    /// The distance that includes most resized, compressed and slightly cropped versions of a
    /// picture, and hardly any other picture (docs/images.md).
    pub fn usual_k(self) -> u32 {
        match self {
            PictureHash::PHash => 10,
            PictureHash::DHash => 8,
        }
    }

    /// The fingerprint of a picture, by the newest rules.
    pub fn fingerprint(self, picture: &Gray) -> Fingerprint {
        PictureRecipe::new(self, Orientation::Stored).fingerprint(picture)
    }
}

/// The orientation of a picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Orientation {
    /// The picture is rotated according to its EXIF data, as in picture viewers.
    #[default]
    Exif,
    /// The picture is not rotated, as in imagehash unless its caller rotates the picture.
    Stored,
}

/// The recipe of fingerprints of picture files, which a store keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PictureRecipe {
    /// The hash.
    pub hash: PictureHash,
    /// The orientation.
    pub orientation: Orientation,
    /// The version of the rules.
    pub version: PictureVersion,
}

impl PictureRecipe {
    /// The newest recipe for a hash.
    pub fn new(hash: PictureHash, orientation: Orientation) -> Self {
        PictureRecipe { hash, orientation, version: PictureVersion::default() }
    }

    /// The fingerprint of a picture that already has its final orientation.
    pub fn fingerprint(self, picture: &Gray) -> Fingerprint {
        Fingerprint::new(match self.hash {
            PictureHash::PHash => phash(picture, self.version),
            PictureHash::DHash => dhash(picture, self.version),
        })
    }

    /// Converts to the recipe of a store.
    pub fn to_recipe(self) -> Recipe {
        let PictureRecipe { hash, orientation, version } = self;
        let size = match hash {
            PictureHash::PHash => "32x32",
            PictureHash::DHash => "9x8",
        };
        let up = match orientation {
            Orientation::Exif => "exif",
            Orientation::Stored => "stored",
        };
        let version = match version {
            PictureVersion::One => 1,
            PictureVersion::Two => 2,
        };
        let text = format!(
            "fpstore-images={version}\nhash={hash}\nresize=lanczos-{size}\norientation={up}"
        );
        Recipe::from_text(&text).expect("it is a short text")
    }

    /// Converts from the recipe of a store; `None` if it is not a recipe of pictures.
    pub fn of_recipe(recipe: &Recipe) -> Option<Self> {
        let all = PictureHash::ALL.into_iter().flat_map(|hash| {
            [Orientation::Exif, Orientation::Stored]
                .map(|orientation| PictureRecipe::new(hash, orientation))
        });
        let all = all.flat_map(|it| {
            [PictureVersion::One, PictureVersion::Two]
                .map(|version| PictureRecipe { version, ..it })
        });
        all.into_iter().find(|it| it.to_recipe() == *recipe)
    }
}

fn phash(picture: &Gray, version: PictureVersion) -> u64 {
    let low = low_frequencies(small(picture, SIDE, SIDE, version).pixels(), version);
    let mut sorted = low;
    sorted.sort_by(f64::total_cmp);
    let median = (sorted[31] + sorted[32]) / 2.0;
    bits(low.iter().map(|&coefficient| coefficient > median))
}

fn small(picture: &Gray, width: usize, height: usize, version: PictureVersion) -> Gray {
    match version {
        PictureVersion::One => resized_rows_first(picture, width, height),
        PictureVersion::Two => resized(picture, width, height),
    }
}

/// The coefficients of the lowest frequencies in both directions, a row for each vertical
/// frequency. Columns are transformed first, as in imagehash.
fn low_frequencies(pixels: &[u8], version: PictureVersion) -> [f64; LOW * LOW] {
    let transform = match version {
        PictureVersion::One => sums,
        PictureVersion::Two => cosine_transform,
    };
    let pixel = |x: usize, y: usize| f64::from(pixels[y * SIDE + x]);
    let columns: [_; SIDE] =
        std::array::from_fn(|x| transform(std::array::from_fn(|y| pixel(x, y))));
    let rows: [_; LOW] = std::array::from_fn(|y| transform(std::array::from_fn(|x| columns[x][y])));
    std::array::from_fn(|at| rows[at / LOW][at % LOW])
}

fn dhash(picture: &Gray, version: PictureVersion) -> u64 {
    let small = small(picture, 9, 8, version);
    bits(
        small.pixels().chunks_exact(9).flat_map(|row| row.windows(2).map(|pair| pair[1] > pair[0])),
    )
}

/// Packs 64 bits; the first bit is the most significant.
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
        found.ok_or_else(|| format!("'{text}' is not a picture hash, expected phash or dhash"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipes_name_one_hash_each() {
        for hash in PictureHash::ALL {
            for orientation in [Orientation::Exif, Orientation::Stored] {
                for version in [PictureVersion::One, PictureVersion::Two] {
                    let recipe = PictureRecipe { hash, orientation, version };
                    assert_eq!(PictureRecipe::of_recipe(&recipe.to_recipe()), Some(recipe));
                }
            }
            assert_eq!(hash.name().parse(), Ok(hash));
        }
        assert_eq!(PictureRecipe::of_recipe(&Recipe::external()), None);
        assert!("ahash".parse::<PictureHash>().unwrap_err().contains("expected phash or dhash"));
    }
}
