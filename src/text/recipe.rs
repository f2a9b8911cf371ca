//! All that decides the fingerprint of a text, and its spelling as a recipe.

use std::fmt::{self, Write};

use crate::error::{Error, Result};
use crate::recipe::Recipe;
use crate::text::chinese::{DICTIONARY, DictionaryMethod};
use crate::text::hash::{FeatureHash, HashKey};
use crate::text::recipe_text::Lines;
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
    /// The words that are left out before features are made.
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
    /// The recipe for texts in any language: pairs of words, or of characters where there are no
    /// spaces between words; each counts once.
    fn default() -> Self {
        TextRecipe {
            nfkc: true,
            lower: true,
            segment: Segment::Words,
            shingle: 2,
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

/// Segments and their names in recipes.
pub(crate) const SEGMENTS: &[(Segment, &str)] = &[
    (Segment::Words, "words"),
    (Segment::Letters, "letters"),
    (Segment::Characters, "characters"),
    (Segment::PythonCharacters, "python-characters"),
    (Segment::Dictionary(DictionaryMethod::Jieba), "jieba"),
    (Segment::Dictionary(DictionaryMethod::ForwardMaximum), "forward"),
    (Segment::Dictionary(DictionaryMethod::BackwardMaximum), "backward"),
    (Segment::Dictionary(DictionaryMethod::FewestWords), "fewest"),
    (Segment::Given, "given"),
];

pub(crate) const COUNTS: &[(CountWeight, &str)] =
    &[(CountWeight::Once, "once"), (CountWeight::Log, "log"), (CountWeight::Count, "count")];

pub(crate) const TIES: &[(TieRule, &str)] = &[(TieRule::Zero, "zero"), (TieRule::One, "one")];

fn name_of<T: PartialEq + Copy>(names: &[(T, &'static str)], value: T) -> &'static str {
    names.iter().find(|(named, _)| *named == value).map_or("?", |(_, name)| name)
}

pub(crate) fn by_name<T: Copy>(names: &[(T, &'static str)], name: &str) -> Option<T> {
    names.iter().find(|(_, known)| *known == name).map(|(value, _)| *value)
}

impl Segment {
    /// Whether some tokens are words.
    fn has_words(self) -> bool {
        matches!(self, Segment::Words | Segment::Letters | Segment::Dictionary(_))
    }

    /// Whether some tokens are single characters.
    fn has_characters(self) -> bool {
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

pub(crate) fn unknown<T>(what: &str, name: &str, names: &[(T, &str)]) -> Error {
    let names: Vec<&str> = names.iter().map(|(_, name)| *name).collect();
    invalid(format!("{what}={name}, expected {}", names.join(", ")))
}

pub(crate) fn invalid(reason: impl Into<String>) -> Error {
    Error::InvalidRecipe { reason: reason.into() }
}

impl TextRecipe {
    /// The names of the recipes that [`TextRecipe::named`] knows.
    pub const NAMES: &'static [&'static str] = &["auto", "en", "zh", "1e0ng"];

    /// A recipe by name: `auto` for texts in any language, the default, which `en` and `zh` are other names of; `1e0ng`
    /// gives what the Python package `simhash` of 1e0ng gives with its defaults.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRecipe`] with the names there are.
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "auto" | "en" | "zh" => Ok(TextRecipe::default()),
            "1e0ng" => Ok(TextRecipe {
                nfkc: false,
                segment: Segment::PythonCharacters,
                ngram: 4,
                count: CountWeight::Count,
                hash: FeatureHash::Md5Low64,
                empty_feature: true,
                ..TextRecipe::default()
            }),
            name => {
                let names = TextRecipe::NAMES.join(", ");
                Err(invalid(format!("there is no recipe '{name}', expected {names}")))
            }
        }
    }

    /// The recipe for texts in a language, by its code (`en`, `zh-TW`), or `auto`.
    ///
    /// One recipe serves them all: it goes by the script at each place of a text, and of those measured it was the best or within a
    /// hair of it for texts with spaces between words and for Chinese alike (`benches/recipes.md`). So texts in several
    /// languages can share a store.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRecipe`] if that is no code.
    pub fn for_language(code: &str) -> Result<Self> {
        let language = code.split(['-', '_']).next().unwrap_or_default();
        let is_code =
            matches!(language.len(), 2 | 3) && language.bytes().all(|b| b.is_ascii_alphabetic());
        match is_code || code == "auto" {
            true => Ok(TextRecipe::default()),
            false => {
                let reason = format!("'{code}' is no code of a language, expected one as en or zh");
                Err(invalid(reason))
            }
        }
    }

    /// The recipe of features and weights that were given ready-made.
    pub fn of_given_features() -> Self {
        TextRecipe { segment: Segment::Given, ..TextRecipe::default() }
    }

    /// The canonical text: lines of `name=value` in fixed order, of which those that have no
    /// meaning here are left out.
    pub fn to_recipe(&self) -> Recipe {
        let mut text = format!("fpstore-text={VERSION}\n");
        self.write_features(&mut text);
        if self.segment != Segment::Given {
            let count = name_of(COUNTS, self.count);
            let _ = writeln!(text, "count={count}");
            let _ = match self.factor {
                Factor::None => writeln!(text, "factor=none"),
                Factor::Idf(mark) => writeln!(text, "factor=idf {mark}"),
                Factor::Given(mark) => writeln!(text, "factor=given {mark}"),
            };
        }
        let _ = match self.top {
            None => writeln!(text, "top=all"),
            Some(count) => writeln!(text, "top={count}"),
        };
        let ties = name_of(TIES, self.ties);
        let empty = if self.empty_feature { "feature" } else { "nothing" };
        let _ = write!(text, "tie={ties}\nempty={empty}");
        Recipe::from_text(&text).expect("short, and has no control characters but line feeds")
    }

    /// The lines that decide what features there are and what their hashes are. Tables of document
    /// frequencies hold for these.
    pub(crate) fn feature_text(&self) -> String {
        let mut text = String::new();
        self.write_features(&mut text);
        text
    }

    fn write_features(&self, text: &mut String) {
        let segment = self.segment;
        if segment != Segment::Given {
            let yes_no = |yes| if yes { "yes" } else { "no" };
            if let Some(versions) = self.unicode_versions() {
                let _ = writeln!(text, "unicode={versions}");
            }
            let _ = writeln!(text, "nfkc={}\nlower={}", yes_no(self.nfkc), yes_no(self.lower));
        }
        let _ = writeln!(text, "segment={}", name_of(SEGMENTS, segment));
        if let Segment::Dictionary(_) = segment {
            let _ = writeln!(text, "dictionary={DICTIONARY}");
        }
        if segment.has_words() {
            let _ = writeln!(text, "shingle={}", self.shingle);
        }
        if segment.has_characters() {
            let _ = writeln!(text, "ngram={}", self.ngram);
        }
        if segment != Segment::Given {
            let _ = match self.stop_words {
                None => writeln!(text, "stop=none"),
                Some(mark) => writeln!(text, "stop={mark}"),
            };
        }
        let _ = match self.hash {
            FeatureHash::SipHash13(key) => writeln!(text, "hash=siphash-1-3 {}", spell_key(key)),
            FeatureHash::SipHash24(key) => writeln!(text, "hash=siphash-2-4 {}", spell_key(key)),
            FeatureHash::Md5Low64 => writeln!(text, "hash=md5-low-64"),
            FeatureHash::Fnv1 => writeln!(text, "hash=fnv-1"),
        };
    }

    /// The versions of the tables that this program cuts and folds texts by, as far as they matter here.
    fn unicode_versions(&self) -> Option<String> {
        let mut versions = Vec::new();
        match self.segment {
            Segment::Words | Segment::Dictionary(_) => {
                let (major, minor, _) = unicode_segmentation::UNICODE_VERSION;
                versions.push(format!("words {major}.{minor}"));
            }
            Segment::Letters | Segment::Characters | Segment::PythonCharacters => {
                let (major, minor, _) = unicode_properties::UNICODE_VERSION;
                versions.push(format!("categories {major}.{minor}"));
            }
            Segment::Given => {}
        }
        if self.nfkc {
            let (major, minor, _) = unicode_normalization::UNICODE_VERSION;
            versions.push(format!("nfkc {major}.{minor}"));
        }
        if self.lower {
            let (major, minor, _) = char::UNICODE_VERSION;
            versions.push(format!("lower {major}.{minor}"));
        }
        (!versions.is_empty()).then(|| versions.join(", "))
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

fn spell_key(key: HashKey) -> String {
    key.0.iter().flat_map(|word| word.to_le_bytes()).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
