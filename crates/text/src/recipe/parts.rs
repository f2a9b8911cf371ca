//! Parts of a recipe with a few named values.

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

/// Methods and their names in recipes; the rules of a vote have lines of their own.
pub(super) const METHODS: &[(Method, &str)] =
    &[(Method::SimHash(VoteRules::ONCE), "simhash"), (Method::MinHash, "minhash")];

/// Values for texts without features, and their names in recipes.
pub(super) const EMPTY: &[(FeaturelessText, &str)] = &[
    (FeaturelessText::NoFingerprint, "nothing"),
    (FeaturelessText::EmptyFeature, "feature"),
    (FeaturelessText::WholeText, "text"),
];

/// The treatment of a text without words and letters, such as a text of signs and emoji.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FeaturelessText {
    /// It has no fingerprint.
    NoFingerprint,
    /// It has the empty feature, so that all these texts are equal.
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
    /// Upper case is kept.
    Kept,
    /// Upper case is converted to lower case.
    Lower,
    /// Each character is converted to the lower case of its upper case, so that sharp s equals ss,
    /// too.
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
    /// Source code: names and numbers, and every other character except white space by itself.
    Code,
    /// Single letters, marks and numbers; other characters are skipped. In scripts with spaces
    /// between words, [`TextRecipe::shingle`](crate::TextRecipe::shingle) letters make a feature.
    Letters,
    /// Single letters, marks and numbers; other characters are skipped.
    Characters,
    /// Single letters, numbers and underscores, like `\w` in Python.
    PythonCharacters,
    /// Chinese by a dictionary, other words by UAX #29.
    Dictionary(DictionaryMethod),
    /// No cutting: features and weights are given.
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

    /// Whether some tokens are letters of scripts without spaces, which may have a feature length
    /// of their own.
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
