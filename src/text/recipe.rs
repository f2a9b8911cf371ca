//! All that decides the fingerprint of a text.

use std::fmt;

use crate::error::{Error, Result};
use crate::recipe::Recipe;
use crate::text::chinese::DictionaryMethod;
use crate::text::hash::FeatureHash;
use crate::text::recipe_text::{COUNTS, Lines, SEGMENTS, by_name, unknown};
use crate::text::votes::TieRule;
use crate::text::weight::CountWeight;

/// The version of all rules that have no line of their own.
pub(crate) const VERSION: u32 = 1;

/// How a text is cut into tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Segment {
    /// Words by UAX #29; the characters of scripts that put no spaces between words one by one.
    #[default]
    Words,
    /// Letters, marks and numbers one by one, whatever stands between them. The letters of scripts
    /// that put spaces between words are as words: as many as [`TextRecipe::shingle`] says make a feature.
    Letters,
    /// Letters, marks and numbers one by one, whatever stands between them.
    Characters,
    /// Letters, numbers and underscores one by one: what `\w` means in Python.
    PythonCharacters,
    /// Chinese by a dictionary, other words by UAX #29.
    Dictionary(DictionaryMethod),
    /// Not at all: features and weights are given.
    Given,
}

/// What else multiplies the weight of a feature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Factor {
    /// Nothing.
    #[default]
    None,
    /// `log2(1 + documents / documents that have the feature)`, by the table with this mark.
    Idf(Mark),
    /// The weight from 1 to 5 in the list with this mark, 1 for what is not in it.
    Given(Mark),
}

/// What tells one list or table from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mark {
    /// Its CRC-32.
    pub crc: u32,
    /// The number of its entries.
    pub entry_count: u64,
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x} {}", self.crc, self.entry_count)
    }
}

/// All that decides the fingerprint of a text.
///
/// # Examples
///
/// ```
/// use fpstore::{Segment, TextRecipe};
///
/// let recipe = TextRecipe { segment: Segment::Characters, ngram: 4, ..TextRecipe::default() };
/// let text = recipe.to_recipe();
/// assert!(text.text().contains("\nsegment=characters\nngram=4\n"));
/// assert_eq!(TextRecipe::from_recipe(&text).unwrap(), recipe);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TextRecipe {
    /// Whether texts are brought into normal form KC of Unicode.
    pub nfkc: bool,
    /// Whether texts are brought into lower case, after that.
    pub lower: bool,
    /// How texts are cut into tokens.
    pub segment: Segment,
    /// How many tokens make a feature that starts at a word, or at a letter of a script with spaces
    /// between words; at least 1.
    pub shingle: u32,
    /// How many tokens make a feature that starts at a single character, at least 1.
    pub ngram: u32,
    /// The words that are left out before features are made, also where tokens are single letters.
    pub stop_words: Option<Mark>,
    /// What the count of a feature is worth.
    pub count: CountWeight,
    /// What else multiplies its weight.
    pub factor: Factor,
    /// Only the so many heaviest features vote; of equal weight, those with smaller hashes.
    pub top: Option<u32>,
    /// The hash of features.
    pub hash: FeatureHash,
    /// What a tie of votes gives.
    pub ties: TieRule,
    /// Whether a text without features has the empty feature. Otherwise it has no fingerprint.
    pub empty_feature: bool,
}

impl Default for TextRecipe {
    /// The recipe for texts in any language: windows of seven letters, or of two characters where a script puts no
    /// spaces between words; each counts once.
    fn default() -> Self {
        TextRecipe {
            nfkc: true,
            lower: true,
            segment: Segment::Letters,
            shingle: 7,
            ngram: 2,
            stop_words: None,
            count: CountWeight::Once,
            factor: Factor::None,
            top: None,
            hash: FeatureHash::default(),
            ties: TieRule::Zero,
            empty_feature: false,
        }
    }
}

impl Segment {
    /// Whether some tokens are words.
    pub(crate) fn has_words(self) -> bool {
        matches!(self, Segment::Words | Segment::Letters | Segment::Dictionary(_))
    }

    /// Whether some tokens are single characters.
    pub(crate) fn has_characters(self) -> bool {
        matches!(
            self,
            Segment::Words | Segment::Letters | Segment::Characters | Segment::PythonCharacters
        )
    }

    /// The segment with this name.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRecipe`] with the names there are.
    pub fn named(name: &str) -> Result<Self> {
        by_name(SEGMENTS, name).ok_or_else(|| unknown("segment", name, SEGMENTS))
    }
}

impl CountWeight {
    /// The rule with this name.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRecipe`] with the names there are.
    pub fn named(name: &str) -> Result<Self> {
        by_name(COUNTS, name).ok_or_else(|| unknown("count", name, COUNTS))
    }
}

pub(crate) fn invalid(reason: impl Into<String>) -> Error {
    Error::InvalidRecipe { reason: reason.into() }
}

impl TextRecipe {
    /// The recipe of features and weights that were given ready-made.
    pub fn of_given_features() -> Self {
        TextRecipe { segment: Segment::Given, ..TextRecipe::default() }
    }

    /// Reads the canonical text, as `fpstore info` prints it.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRecipe`] if it is no recipe for texts, or one that this program cannot follow: of
    /// another version, dictionary, or version of Unicode. The message names the line.
    pub fn from_recipe(recipe: &Recipe) -> Result<Self> {
        let text_recipe = Lines::of(recipe.text())?.read()?;
        let canonical = text_recipe.to_recipe();
        if canonical == *recipe {
            return Ok(text_recipe);
        }
        let difference = recipe.difference(&canonical);
        Err(invalid(format!("this program cannot follow it: {difference}")))
    }
}
