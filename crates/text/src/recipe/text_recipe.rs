//! The recipe itself: a plain value that decides every step from a text to its fingerprint.

use super::parts::{Case, FeaturelessText, Method, Tokenizer, VoteRules};
use crate::features::hash::FeatureHash;
use crate::passages::PassageUnit;
use crate::resources::ResourceId;

/// The usual [`TextRecipe::letter_ngram`]. Words of Thai have four letters on average, so that six of
/// them differ between unrelated texts, and stay in an edited one, as often as pairs of words do.
const LETTER_NGRAM: u32 = 6;

/// The rules that decide the fingerprint of a text. A plain value: every field can be set.
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
    /// Whether texts are brought into normal form KC of Unicode.
    pub nfkc: bool,
    /// Whether marks of Hebrew and Arabic that most texts leave out are kept: vowels and accents.
    pub vowel_marks: bool,
    /// The case into which texts are then brought.
    pub case: Case,
    /// The way in which texts are cut into tokens.
    pub tokenizer: Tokenizer,
    /// The number of tokens in a feature that starts at a word, or at a letter of a script with
    /// spaces between words; at least 1.
    pub shingle: u32,
    /// The number of tokens in a feature that starts at a single character; at least 1.
    pub ngram: u32,
    /// The number of tokens in a feature that starts at a letter of a script with few letters and no
    /// spaces between words (Thai, Lao, Myanmar, Khmer, Javanese and others); at least 1. `None`, as
    /// in recipes that were stored before there was such a length: [`TextRecipe::ngram`] applies to
    /// the first four, and the others have words.
    pub letter_ngram: Option<u32>,
    /// The list of words that are left out before features are made, also where tokens are single
    /// letters.
    pub stop_words: Option<ResourceId>,
    /// The hash of features.
    pub hash: FeatureHash,
    /// The way from the hashes to the fingerprint.
    pub method: Method,
    /// What becomes of a text without features.
    pub featureless: FeaturelessText,
    /// What a passage is, where fingerprints are those of passages; `None` where they are of whole
    /// texts. It says which texts have fingerprints, and changes none of them: [`passages`] finds the
    /// passages, and a hasher takes each text as one.
    ///
    /// [`passages`]: crate::passages()
    pub unit: Option<PassageUnit>,
}

impl Default for TextRecipe {
    /// The recipe for texts in any language: MinHash of pairs of words; where a script puts no spaces
    /// between words, of pairs of signs (Han, Hiragana) or of six letters (Thai, Khmer).
    fn default() -> Self {
        TextRecipe {
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

    /// The same, to be changed.
    pub fn votes_mut(&mut self) -> Option<&mut VoteRules> {
        match &mut self.method {
            Method::SimHash(rules) => Some(rules),
            Method::MinHash => None,
        }
    }

    /// The recipe of features and weights that were made elsewhere: SimHash, because they have
    /// weights.
    pub fn of_given_features() -> Self {
        TextRecipe {
            tokenizer: Tokenizer::Given,
            method: Method::SimHash(VoteRules::default()),
            // There is no text.
            featureless: FeaturelessText::NoFingerprint,
            ..TextRecipe::default()
        }
    }
}
