//! The recipe itself: a plain value that determines every step from a text to its fingerprint.

use super::parts::{Case, FeaturelessText, Method, Tokenizer, VoteRules};
use crate::features::hash::FeatureHash;
use crate::passages::PassageUnit;
use crate::resource_id::ResourceId;

/// The default [`TextRecipe::letter_ngram`]. Words of Thai have four letters on average. Sequences
/// of six letters are about as rarely shared by unrelated texts as pairs of words, and survive
/// edits as often.
const LETTER_NGRAM: u32 = 6;

/// The rules that determine the fingerprint of a text. A plain value: every field can be set.
///
/// # Examples
///
/// ```
/// use fpstore_text::{TextRecipe, Tokenizer};
///
/// let recipe = TextRecipe { tokenizer: Tokenizer::Characters, ngram: 4, ..TextRecipe::default() };
/// let text = recipe.to_recipe();
/// assert!(text.text().contains("\nsegment=characters\nngram=4\n"));
/// assert_eq!(TextRecipe::from_recipe(&text).unwrap(), recipe);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TextRecipe {
    /// Whether characters without a glyph are kept: soft hyphens, joiners, variation selectors and
    /// all others with the Unicode property `Default_Ignorable_Code_Point`.
    pub ignorables: bool,
    /// Whether the forms of the apostrophe (U+2019, U+02BC and others) are kept. Otherwise they
    /// become the plain apostrophe.
    pub apostrophes: bool,
    /// Whether texts are converted to Unicode normal form KC.
    pub nfkc: bool,
    /// Whether the marks of Hebrew and Arabic that most texts omit are kept: vowels and accents.
    pub vowel_marks: bool,
    /// The case to which texts are converted.
    pub case: Case,
    /// The method of cutting texts into tokens.
    pub tokenizer: Tokenizer,
    /// The number of tokens in a feature that starts at a word, or at a letter of a script with
    /// spaces between words; at least 1.
    pub shingle: u32,
    /// The number of tokens in a feature that starts at a single character; at least 1.
    pub ngram: u32,
    /// The number of tokens in a feature that starts at a letter of a script with few letters and
    /// no spaces between words (Thai, Lao, Myanmar, Khmer, Javanese and others); at least 1. `None`
    /// in recipes of earlier stores: then [`TextRecipe::ngram`] applies to the first four scripts,
    /// and runs of letters of the other scripts are words.
    pub letter_ngram: Option<u32>,
    /// The list of words removed before features are formed, even where tokens are single letters.
    pub stop_words: Option<ResourceId>,
    /// The hash of features.
    pub hash: FeatureHash,
    /// The computation of the fingerprint from the hashes.
    pub method: Method,
    /// The treatment of a text without features.
    pub featureless: FeaturelessText,
    /// The unit of passages, if the fingerprints are of passages; `None` if they are of whole
    /// texts. It determines which texts have fingerprints, and does not change fingerprints:
    /// [`passages`] finds the passages, and a hasher treats each text as a single passage.
    ///
    /// [`passages`]: crate::passages()
    pub unit: Option<PassageUnit>,
}

impl Default for TextRecipe {
    /// The recipe for texts in any language: MinHash of pairs of words; in scripts without spaces
    /// between words, of pairs of signs (Han, Hiragana) or of six letters (Thai, Khmer).
    fn default() -> Self {
        TextRecipe {
            ignorables: false,
            apostrophes: false,
            nfkc: true,
            vowel_marks: false,
            case: Case::Folded,
            tokenizer: Tokenizer::Words,
            shingle: 2,
            ngram: 2,
            letter_ngram: Some(LETTER_NGRAM),
            stop_words: None,
            hash: FeatureHash::default(),
            method: Method::MinHash,
            featureless: FeaturelessText::WholeText,
            unit: None,
        }
    }
}

impl TextRecipe {
    /// The rules of the vote, or `None` for a method without weights.
    pub fn votes(&self) -> Option<&VoteRules> {
        match &self.method {
            Method::SimHash(rules) => Some(rules),
            Method::MinHash => None,
        }
    }

    /// The rules of the vote, mutably.
    pub fn votes_mut(&mut self) -> Option<&mut VoteRules> {
        match &mut self.method {
            Method::SimHash(rules) => Some(rules),
            Method::MinHash => None,
        }
    }

    /// The recipe for features and weights made elsewhere: SimHash, because MinHash ignores
    /// weights.
    pub fn of_given_features() -> Self {
        TextRecipe {
            tokenizer: Tokenizer::Given,
            method: Method::SimHash(VoteRules::default()),
            // This field has no effect, because no text is processed.
            featureless: FeaturelessText::NoFingerprint,
            ..TextRecipe::default()
        }
    }
}
