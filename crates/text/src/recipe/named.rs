//! The named recipes, and the usual distance of each method.

use super::changes::USUAL_SHINGLE_OF_LETTERS;
use super::name_tables::unknown;
use super::parts::{Case, FeaturelessText, Method, Tokenizer, VoteRules};
use super::text_recipe::TextRecipe;
use crate::error::Result;
use crate::features::hash::FeatureHash;
use crate::votes::weight::CountWeight;

/// See [`TextRecipe::usual_k`].
const USUAL_K_SIMHASH: u32 = 10;
const USUAL_K_MINHASH: u32 = 7;

/// The fraction of pairs that [`TextRecipe::candidate_k`] may miss.
const MISSED: f64 = 0.01;

impl TextRecipe {
    /// The names for [`TextRecipe::named`].
    pub const NAMES: &'static [&'static str] = &["minhash", "simhash", "code", "1e0ng"];

    /// The name of the default recipe.
    pub const DEFAULT_NAME: &'static str = "minhash";

    /// A recipe by name.
    ///
    /// `minhash` and `simhash` are the best recipes of their methods in the measurement in
    /// `docs/measurements/texts.md`.
    ///
    /// * `minhash`, the default, for texts in any language.
    /// * `simhash`, the method of Manku et al.
    /// * `code`, for source code: it keeps operators, quotes, capitals and names unchanged.
    /// * `1e0ng`, compatible with the Python package `simhash` of 1e0ng with its defaults.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownName`](crate::Error::UnknownName) for any other name.
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "minhash" => Ok(TextRecipe::default()),
            "simhash" => Ok(TextRecipe {
                tokenizer: Tokenizer::Letters,
                shingle: USUAL_SHINGLE_OF_LETTERS,
                method: Method::SimHash(VoteRules::default()),
                ..TextRecipe::default()
            }),
            "code" => Ok(TextRecipe {
                apostrophes: true,
                nfkc: false,
                vowel_marks: true,
                case: Case::Kept,
                tokenizer: Tokenizer::Code,
                shingle: 4,
                ..TextRecipe::default()
            }),
            "1e0ng" => Ok(TextRecipe {
                ignorables: true,
                apostrophes: true,
                nfkc: false,
                vowel_marks: true,
                case: Case::Lower,
                tokenizer: Tokenizer::PythonCharacters,
                ngram: 4,
                hash: FeatureHash::Md5Low64,
                method: Method::SimHash(VoteRules {
                    count: CountWeight::Count,
                    ..VoteRules::default()
                }),
                featureless: FeaturelessText::EmptyFeature,
                ..TextRecipe::default()
            }),
            name => Err(unknown("recipe", name, TextRecipe::NAMES.join(", "))),
        }
    }

    /// The usual `k` for finding duplicates: the distance with the highest mean F1 on the texts of
    /// `docs/measurements/texts.md`. A large collection may need a smaller distance.
    pub fn usual_k(&self) -> u32 {
        match self.method {
            Method::SimHash(_) => USUAL_K_SIMHASH,
            Method::MinHash => USUAL_K_MINHASH,
        }
    }

    /// Whether a distance is far from [`TextRecipe::usual_k`]: less than half of it or more than
    /// twice as much. Distance 0 is not unusual: it selects equal fingerprints.
    ///
    /// ```
    /// use fpstore_text::TextRecipe;
    ///
    /// let unusual = (0..=64).filter(|&k| TextRecipe::default().is_unusual_k(k));
    /// assert_eq!(unusual.take(4).collect::<Vec<u32>>(), [1, 2, 3, 15]);
    /// ```
    pub fn is_unusual_k(&self, k: u32) -> bool {
        let usual = self.usual_k();
        k > 0 && (2 * k < usual || k > 2 * usual)
    }

    /// The smallest distance that contains 99 of 100 pairs of documents with this Jaccard
    /// similarity: the smallest `k` for which at most 1 % of pairs differ in more than `k` of 64
    /// bits, if each bit differs independently.
    ///
    /// With MinHash a bit differs with probability (1 - J) / 2. With SimHash the probability is the
    /// angle between the feature vectors over pi (Charikar, STOC 2002), here for sets of equal size
    /// and equal weights, whose cosine is 2 J / (1 + J).
    ///
    /// # Examples
    ///
    /// ```
    /// use fpstore_text::TextRecipe;
    ///
    /// assert_eq!(TextRecipe::default().candidate_k(0.8), 12);
    /// assert_eq!(TextRecipe::default().candidate_k(1.0), 0);
    /// ```
    pub fn candidate_k(&self, similarity: f64) -> u32 {
        let similarity = similarity.clamp(0.0, 1.0);
        let differs = match self.method {
            Method::MinHash => (1.0 - similarity) / 2.0,
            Method::SimHash(_) => {
                (2.0 * similarity / (1.0 + similarity)).acos() / std::f64::consts::PI
            }
        };
        // The probability of exactly k ones, computed from the probability of k - 1.
        let mut exactly = (1.0 - differs).powi(64);
        let mut at_most = exactly;
        let mut k = 0;
        while at_most < 1.0 - MISSED && k < 64 {
            exactly *= f64::from(64 - k) / f64::from(k + 1) * differs / (1.0 - differs);
            at_most += exactly;
            k += 1;
        }
        k
    }
}
