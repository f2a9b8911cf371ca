//! The parts of a recipe that have a few named values each.

use super::name_tables::{by_name, names_of, unknown};
use crate::error::Result;
use crate::resource_id::ResourceId;
use crate::tokens::dictionary::DictionaryMethod;
use crate::votes::TieRule;
use crate::votes::weight::CountWeight;

/// Tokenizers and their names in recipes.
pub(super) const TOKENIZERS: &[(Tokenizer, &str)] = &[
    (Tokenizer::Words, "words"),
    (Tokenizer::Code, "code"),
    (Tokenizer::Letters, "letters"),
    (Tokenizer::Characters, "characters"),
    (Tokenizer::PythonCharacters, "python-characters"),
    (Tokenizer::Dictionary(DictionaryMethod::Jieba), "jieba"),
    (Tokenizer::Dictionary(DictionaryMethod::ForwardMaximum), "forward"),
    (Tokenizer::Dictionary(DictionaryMethod::BackwardMaximum), "backward"),
    (Tokenizer::Dictionary(DictionaryMethod::FewestWords), "fewest"),
    (Tokenizer::Given, "given"),
];

pub(super) const COUNTS: &[(CountWeight, &str)] =
    &[(CountWeight::Once, "once"), (CountWeight::Log, "log"), (CountWeight::Count, "count")];

/// Methods and their names in recipes. The rules of a vote are separate lines of a recipe, so their
/// values here have no effect.
pub(super) const METHODS: &[(Method, &str)] =
    &[(Method::SimHash(VoteRules::ONCE), "simhash"), (Method::MinHash, "minhash")];

/// Treatments of texts without features, and their names in recipes.
pub(super) const EMPTY: &[(FeaturelessText, &str)] = &[
    (FeaturelessText::NoFingerprint, "nothing"),
    (FeaturelessText::EmptyFeature, "feature"),
    (FeaturelessText::WholeText, "text"),
];

/// The treatment of a text without words and letters, such as a text of signs and emoji.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FeaturelessText {
    /// The text has no fingerprint.
    NoFingerprint,
    /// The text has one empty feature, so that all these texts are equal.
    EmptyFeature,
    /// The whole text is its only feature, in the form of the recipe and without white space at
    /// both ends, so that equal texts are equal and others are not. A text of white space alone has
    /// no fingerprint.
    #[default]
    WholeText,
}

/// The treatment of capitals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Case {
    /// Capitals are kept.
    Kept,
    /// Capitals are converted to lower case.
    Lower,
    /// Case folding: each character is converted to upper case and the result to lower case, so
    /// that sharp s equals ss, too.
    #[default]
    Folded,
}

/// The method of cutting a text into tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Tokenizer {
    /// Words by UAX #29; in scripts without spaces between words, single characters.
    #[default]
    Words,
    /// Source code: each name, each number, and each other character except white space is a token.
    Code,
    /// Single letters, marks and numbers; other characters are skipped. In scripts with spaces
    /// between words, [`TextRecipe::shingle`](crate::TextRecipe::shingle) letters make a feature.
    Letters,
    /// Single letters, marks and numbers; other characters are skipped.
    Characters,
    /// Single letters, numbers and underscores, like `\w` in Python.
    PythonCharacters,
    /// Chinese words of a dictionary; words in other scripts by UAX #29.
    Dictionary(DictionaryMethod),
    /// No cutting: the caller gives the features and their weights.
    Given,
}

/// The computation of the fingerprint from the hashes of the features.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// Each bit is the weighted majority of that bit in the hashes: the SimHash of Charikar and of
    /// Manku et al.
    SimHash(VoteRules),
    /// Each bit is a bit of a minimum over the hashes: 1-bit MinHash. The features are a set,
    /// without weights. Of two texts whose features have Jaccard similarity J, 32 (1 - J) bits
    /// differ on average.
    MinHash,
}

/// The weights of the features of a text in the vote of SimHash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VoteRules {
    /// The weight of a feature by its count in the text.
    pub count: CountWeight,
    /// A second factor in the weight.
    pub factor: Factor,
    /// Limits the vote to this number of features: the heaviest, and among equal weights the
    /// smallest hashes.
    pub top: Option<u32>,
    /// The value of a bit on a tie of votes.
    pub ties: TieRule,
}

impl VoteRules {
    /// Each feature of a text votes once.
    pub(super) const ONCE: VoteRules = VoteRules {
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

/// A factor of the weight of a feature, in addition to the weight of its count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Factor {
    /// No factor.
    #[default]
    None,
    /// `log2(1 + documents / documents with the feature)`, by the table with this id.
    Idf(ResourceId),
    /// The weight from 1 to 5 in the list with this id, 1 for a feature that is not listed.
    Given(ResourceId),
}

impl Tokenizer {
    /// Whether tokens can be words.
    pub(crate) fn has_words(self) -> bool {
        matches!(
            self,
            Tokenizer::Words | Tokenizer::Code | Tokenizer::Letters | Tokenizer::Dictionary(_)
        )
    }

    /// Whether tokens can be single characters.
    pub(crate) fn has_characters(self) -> bool {
        matches!(
            self,
            Tokenizer::Words
                | Tokenizer::Letters
                | Tokenizer::Characters
                | Tokenizer::PythonCharacters
        )
    }

    /// Whether tokens can be letters of scripts without spaces, for which a recipe may have a
    /// separate feature length.
    pub(crate) fn has_letters(self) -> bool {
        matches!(self, Tokenizer::Words | Tokenizer::Letters | Tokenizer::Dictionary(_))
    }

    /// The tokenizer with this name: `words`, `code`, `letters`, `characters`, `python-characters`,
    /// `jieba`, `forward`, `backward`, `fewest` or `given`.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownName`](crate::Error::UnknownName) for any other name.
    pub fn named(name: &str) -> Result<Self> {
        by_name(TOKENIZERS, name).ok_or_else(|| unknown("tokenizer", name, names_of(TOKENIZERS)))
    }
}

impl CountWeight {
    /// The rule with this name: `once`, `log` or `count`.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownName`](crate::Error::UnknownName) for any other name.
    pub fn named(name: &str) -> Result<Self> {
        by_name(COUNTS, name).ok_or_else(|| unknown("rule for counts", name, names_of(COUNTS)))
    }
}

impl Method {
    /// The method with this name: `simhash`, in which each feature votes once, or `minhash`.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownName`](crate::Error::UnknownName) for any other name.
    pub fn named(name: &str) -> Result<Self> {
        by_name(METHODS, name).ok_or_else(|| unknown("method", name, names_of(METHODS)))
    }

    /// The name of the method.
    pub fn name(&self) -> &'static str {
        match self {
            Method::SimHash(_) => "simhash",
            Method::MinHash => "minhash",
        }
    }
}
