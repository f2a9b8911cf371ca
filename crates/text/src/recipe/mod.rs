//! The recipe, which decides the fingerprint of a text: its parts, and the named recipes.
//!
//! Callers choose a recipe by name or language, or build one, and give it to
//! [`SimHasher`](crate::SimHasher). A store keeps the canonical text of the recipe (`spelling`).
//! A recipe never holds a list or a table; it names them by [`ResourceId`]. The meaning of a recipe
//! text never changes: a change of any rule needs a new line or a new version.

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

/// The way in which a text is cut into tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Tokenizer {
    /// Words by UAX #29; the characters of scripts that put no spaces between words one by one.
    #[default]
    Words,
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
    /// Whether texts are then brought into lower case.
    pub lower: bool,
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
    /// The weight of a feature by its count in the text.
    pub count: CountWeight,
    /// A second factor in the weight.
    pub factor: Factor,
    /// Only this number of features vote: the heaviest, and of equal weight those with smaller
    /// hashes.
    pub top: Option<u32>,
    /// The hash of features.
    pub hash: FeatureHash,
    /// The value of a bit on a tie of votes.
    pub ties: TieRule,
    /// Whether a text without features has the empty feature. Otherwise it has no fingerprint.
    pub empty_feature: bool,
}

impl Default for TextRecipe {
    /// The recipe for texts in any language: windows of seven letters, or of two characters where a
    /// script puts no spaces between words; each counts once.
    fn default() -> Self {
        TextRecipe {
            nfkc: true,
            lower: true,
            tokenizer: Tokenizer::Letters,
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

impl Tokenizer {
    /// Whether some tokens are words.
    pub(crate) fn has_words(self) -> bool {
        matches!(self, Tokenizer::Words | Tokenizer::Letters | Tokenizer::Dictionary(_))
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

    /// The tokenizer with this name: `words`, `letters`, `characters`, `python-characters`,
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
    /// The recipe of features and weights that were made elsewhere.
    pub fn of_given_features() -> Self {
        TextRecipe { tokenizer: Tokenizer::Given, ..TextRecipe::default() }
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

/// The codes of ISO 639-1. An unknown code is an error, because it is most likely a slip.
const LANGUAGES: &str = "\
    aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy \
    da de dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu \
    hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb \
    lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om \
    or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg sh si sk sl sm sn so sq sr ss st su sv \
    sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu";
/// Languages of scripts that put no spaces between words.
const DENSE_LANGUAGES: &[&str] = &[
    "bo", "cmn", "dz", "ja", "jpn", "khm", "km", "lao", "lo", "mya", "my", "tha", "th", "wuu",
    "yue", "zh", "zho",
];

impl TextRecipe {
    /// The names that [`TextRecipe::named`] takes.
    pub const NAMES: &'static [&'static str] = &["auto", "en", "zh", "1e0ng"];

    /// A recipe by name.
    ///
    /// The recipes `auto`, `en` and `zh` won the measurement in
    /// `docs/measurements/2026-11-21-recipes.md`.
    ///
    /// * `auto`, the default, for texts in any language: best over all labelled sets of texts.
    /// * `en`: best over the sets that are not mostly in Han.
    /// * `zh`: best over the sets that are mostly in Han.
    /// * `1e0ng` gives what the Python package `simhash` of 1e0ng gives with its defaults.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownName`] for any other name.
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "auto" => Ok(TextRecipe::default()),
            "en" => Ok(TextRecipe { ngram: 3, ..TextRecipe::default() }),
            "zh" => {
                Ok(TextRecipe { tokenizer: Tokenizer::Words, shingle: 3, ..TextRecipe::default() })
            }
            "1e0ng" => Ok(TextRecipe {
                nfkc: false,
                tokenizer: Tokenizer::PythonCharacters,
                ngram: 4,
                count: CountWeight::Count,
                hash: FeatureHash::Md5Low64,
                empty_feature: true,
                ..TextRecipe::default()
            }),
            name => Err(unknown("recipe", name, TextRecipe::NAMES.join(", "))),
        }
    }

    /// The recipe for texts in a language, by its code (`en`, `zh-TW`), or `auto`.
    ///
    /// Chinese and other languages whose scripts put no spaces between words get the recipe `zh`,
    /// others the recipe `en`. For texts in several languages there is `auto`: it follows the
    /// script at each place of a text, so that they can share a store.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownName`] if `code` does not start with two or three letters.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpstore_text::TextRecipe;
    ///
    /// assert_eq!(TextRecipe::for_language("ja")?, TextRecipe::named("zh")?);
    /// assert_eq!(TextRecipe::for_language("pt-BR")?, TextRecipe::named("en")?);
    /// # Ok::<(), fpstore_text::Error>(())
    /// ```
    pub fn for_language(code: &str) -> Result<Self> {
        let language = code.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase();
        let is_code = LANGUAGES.split_ascii_whitespace().any(|code| code == language);
        match language.as_str() {
            "auto" => TextRecipe::named("auto"),
            dense if DENSE_LANGUAGES.contains(&dense) => TextRecipe::named("zh"),
            _ if is_code => TextRecipe::named("en"),
            _ => Err(unknown(
                "language",
                code,
                "auto or a code of ISO 639-1, such as en or zh".into(),
            )),
        }
    }
}
