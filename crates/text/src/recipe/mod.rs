//! The recipe, which decides the fingerprint of a text: its parts, and the named recipes.
//!
//! Callers choose a recipe by name, or build one, and give it to
//! [`TextHasher`](crate::TextHasher). A store keeps the canonical text of the recipe (`spelling`).
//! A recipe never holds a list or a table; it names them by [`ResourceId`]. The meaning of a recipe
//! text never changes: a change of any rule needs a new line or a new version.

mod hash_names;
mod named;
mod spelling;

use std::fmt;

use crate::error::{Error, Result};
use crate::features::hash::FeatureHash;
use crate::tokens::dictionary::DictionaryMethod;
use crate::votes::TieRule;
use crate::votes::weight::CountWeight;
use fpstore_base::Recipe;
use spelling::{COUNTS, Lines, TOKENIZERS, by_name, names_of};

/// The version of all rules that have no line of their own.
const VERSION: u32 = 1;

/// What becomes of capitals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Case {
    /// They stay.
    Kept,
    /// They become small letters.
    Lower,
    /// Each character becomes the lower case of its upper case, so that sharp s is ss, too.
    #[default]
    Folded,
}

/// The way in which a text is cut into tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Tokenizer {
    /// Words by UAX #29; the characters of scripts that put no spaces between words one by one.
    #[default]
    Words,
    /// Source code: names and numbers, and all other characters but white space one by one.
    Code,
    /// Letters, marks and numbers one by one, whatever stands between them. In scripts that put
    /// spaces between words, [`TextRecipe::shingle`] letters make a feature.
    Letters,
    /// Letters, marks and numbers one by one, whatever stands between them.
    Characters,
    /// Letters, numbers and underscores one by one, like `\w` in Python.
    PythonCharacters,
    /// Chinese by a dictionary, other words by UAX #29.
    Dictionary(DictionaryMethod),
    /// No cutting: features and weights are given.
    Given,
}

/// The way from the hashes of the features to the fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// Each bit is the weighted majority of that bit in the hashes: the SimHash of Charikar and of
    /// Manku et al.
    SimHash(VoteRules),
    /// Each bit is one bit of a minimum over the hashes: 1-bit MinHash. The features are a set,
    /// without weights. Of two texts whose features have Jaccard similarity J, 32 (1 - J) bits
    /// differ on average.
    MinHash,
}

/// How much the features of a text weigh in the vote of SimHash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VoteRules {
    /// The weight of a feature by its count in the text.
    pub count: CountWeight,
    /// A second factor in the weight.
    pub factor: Factor,
    /// Only this number of features vote: the heaviest, and of equal weight those with smaller
    /// hashes.
    pub top: Option<u32>,
    /// The value of a bit on a tie of votes.
    pub ties: TieRule,
}

impl VoteRules {
    /// Each feature of a text votes once.
    const ONCE: VoteRules = VoteRules {
        count: CountWeight::Once,
        factor: Factor::None,
        top: None,
        ties: TieRule::Zero,
    };
}

impl Default for VoteRules {
    /// Each feature of a text votes once.
    fn default() -> Self {
        VoteRules::ONCE
    }
}

/// A factor in the weight of a feature, beside that of its count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Factor {
    /// Nothing.
    #[default]
    None,
    /// `log2(1 + documents / documents that have the feature)`, by the table with this id.
    Idf(ResourceId),
    /// The weight from 1 to 5 in the list with this id, 1 for a feature that is not in it.
    Given(ResourceId),
}

/// The id by which a recipe names a list or table: a checksum and a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ResourceId {
    /// Its CRC-32.
    pub crc: u32,
    /// The number of its entries.
    pub entry_count: u64,
}

impl fmt::Display for ResourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x} {}", self.crc, self.entry_count)
    }
}

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
    /// The list of words that are left out before features are made, also where tokens are single
    /// letters.
    pub stop_words: Option<ResourceId>,
    /// The hash of features.
    pub hash: FeatureHash,
    /// The way from the hashes to the fingerprint.
    pub method: Method,
    /// Whether a text without features has the empty feature. Otherwise it has no fingerprint.
    pub empty_feature: bool,
}

impl Default for TextRecipe {
    /// The recipe for texts in any language: MinHash of pairs of words, or of pairs of characters
    /// where a script puts no spaces between words.
    fn default() -> Self {
        TextRecipe {
            nfkc: true,
            vowel_marks: false,
            case: Case::Folded,
            tokenizer: Tokenizer::Words,
            shingle: 2,
            ngram: 2,
            stop_words: None,
            hash: FeatureHash::default(),
            method: Method::MinHash,
            empty_feature: false,
        }
    }
}

impl Tokenizer {
    /// Whether some tokens are words.
    pub(crate) fn has_words(self) -> bool {
        matches!(
            self,
            Tokenizer::Words | Tokenizer::Code | Tokenizer::Letters | Tokenizer::Dictionary(_)
        )
    }

    /// Whether some tokens are single characters.
    pub(crate) fn has_characters(self) -> bool {
        matches!(
            self,
            Tokenizer::Words
                | Tokenizer::Letters
                | Tokenizer::Characters
                | Tokenizer::PythonCharacters
        )
    }

    /// The tokenizer with this name: `words`, `code`, `letters`, `characters`, `python-characters`,
    /// `jieba`, `forward`, `backward`, `fewest` or `given`.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownName`] for any other name.
    pub fn named(name: &str) -> Result<Self> {
        by_name(TOKENIZERS, name).ok_or_else(|| unknown("tokenizer", name, names_of(TOKENIZERS)))
    }
}

impl CountWeight {
    /// The rule with this name: `once`, `log` or `count`.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownName`] for any other name.
    pub fn named(name: &str) -> Result<Self> {
        by_name(COUNTS, name).ok_or_else(|| unknown("rule for counts", name, names_of(COUNTS)))
    }
}

fn unknown(kind: &'static str, name: &str, expected: String) -> Error {
    Error::UnknownName { kind, name: name.into(), expected }
}

fn invalid(reason: impl Into<String>) -> Error {
    Error::InvalidRecipe { reason: reason.into() }
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
            ..TextRecipe::default()
        }
    }

    /// Reads the canonical text, as `fpstore info` prints it.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRecipe`] if it is no recipe for texts, or one of another version,
    /// dictionary, or version of Unicode than this release has. The message names the line.
    pub fn from_recipe(recipe: &Recipe) -> Result<Self> {
        let text_recipe = Lines::of(recipe.text())?.read()?;
        let canonical = text_recipe.to_recipe();
        if canonical == *recipe {
            return Ok(text_recipe);
        }
        let difference = recipe.difference(&canonical);
        Err(invalid(format!("this release cannot follow it: {difference}")))
    }
}
