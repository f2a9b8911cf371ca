//! Compares two texts: the similarity of their fingerprints and of their features.
//!
//! `fpstore compare` and Python show a [`Comparison`]. It is independent of files, stores and
//! formats.

use std::collections::HashSet;

use crate::error::{Error, Result};
use crate::hasher::{Feature, TextHasher};
use crate::recipe::{Method, TextRecipe};
use fpstore_base::Fingerprint;

/// The similarity of two texts, and their differences.
///
/// # Examples
///
/// ```
/// use fpstore_text::{Comparison, TextHasher, TextRecipe};
///
/// let mut hasher = TextHasher::new(&TextRecipe::default())?;
/// let alike = Comparison::of(&mut hasher, ["one two three", "one two six"])?;
/// assert_eq!((alike.common_count, alike.jaccard), (1, 1.0 / 3.0));
/// assert_eq!(alike.only[0][0].text, "two three");
/// assert_eq!(alike.only[1][0].text, "two six");
/// // A text without features cannot be compared.
/// assert!(Comparison::of(&mut hasher, ["one two three", ""]).is_err());
/// # Ok::<(), fpstore_text::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The fingerprints of the texts.
    pub fingerprints: [Fingerprint; 2],
    /// The distance between the fingerprints in bits.
    pub distance: u32,
    /// The similarity estimated from the distance: [`TextRecipe::similarity_at`].
    pub estimate: f64,
    /// The exact Jaccard similarity of the sets of features.
    pub jaccard: f64,
    /// The number of distinct features in both texts.
    pub common_count: usize,
    /// The features of only one of the texts, in the order of the text.
    pub only: [Vec<Feature>; 2],
}

impl Comparison {
    /// Compares two texts by the recipe of a hasher.
    ///
    /// # Errors
    ///
    /// [`Error::NoFeatures`] if one of the texts has no features.
    pub fn of(hasher: &mut TextHasher, texts: [&str; 2]) -> Result<Self> {
        let mut fingerprint =
            |at: usize| hasher.fingerprint(texts[at]).ok_or(Error::NoFeatures { number: at + 1 });
        let [a, b] = [fingerprint(0)?, fingerprint(1)?];
        let features = texts.map(|text| hasher.features(text));
        let sets: [HashSet<u64>; 2] =
            features.each_ref().map(|list| list.iter().map(|feature| feature.hash).collect());
        let common_count = sets[0].intersection(&sets[1]).count();
        let all_count = sets[0].len() + sets[1].len() - common_count;
        let [mut only_a, mut only_b] = features;
        only_a.retain(|feature| !sets[1].contains(&feature.hash));
        only_b.retain(|feature| !sets[0].contains(&feature.hash));
        let distance = a.distance(b);
        Ok(Comparison {
            fingerprints: [a, b],
            distance,
            estimate: hasher.recipe().similarity_at(distance),
            jaccard: common_count as f64 / all_count as f64,
            common_count,
            only: [only_a, only_b],
        })
    }
}

impl TextRecipe {
    /// The similarity estimated from a distance of fingerprints. With MinHash it is the Jaccard
    /// similarity of the features, `1 - distance / 32`, at least 0; with SimHash the cosine of the
    /// angle between the weighted features, `cos(pi * distance / 64)`.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpstore_text::TextRecipe;
    ///
    /// assert_eq!(TextRecipe::default().similarity_at(8), 0.75);
    /// assert_eq!(TextRecipe::named("simhash")?.similarity_at(64), -1.0);
    /// # Ok::<(), fpstore_text::Error>(())
    /// ```
    pub fn similarity_at(&self, distance: u32) -> f64 {
        match self.method {
            Method::MinHash => (1.0 - f64::from(distance) / 32.0).max(0.0),
            Method::SimHash(_) => (std::f64::consts::PI * f64::from(distance) / 64.0).cos(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_are_those_of_the_methods() {
        let of = |name: &str, distances: [u32; 4]| {
            let recipe = TextRecipe::named(name).unwrap();
            distances.map(|distance| (recipe.similarity_at(distance) * 1000.0).round())
        };
        assert_eq!(of("simhash", [0, 16, 32, 64]), [1000.0, 707.0, 0.0, -1000.0]);
        assert_eq!(of("minhash", [0, 8, 32, 40]), [1000.0, 750.0, 0.0, 0.0]);
    }
}
