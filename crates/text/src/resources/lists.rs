//! Lists named in a recipe: stop words, and weights of features.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::error::{Error, Result};
use crate::features::hash::FeatureHash;
use crate::resource_id::ResourceId;
use fpstore_base::{InputPlace, lists};

/// Words removed before features are formed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopWords {
    words: HashSet<Box<str>>,
    id: ResourceId,
}

impl StopWords {
    /// Parses a list with a word on each line; blank lines and lines that start with `#` are
    /// ignored. A recipe brings the words into the form of its tokens, so `The` is the token `the`.
    pub fn from_list(list: &str) -> Self {
        StopWords::of(lists::rows(list).map(|(_, line)| line.into()))
    }

    fn of(words: impl Iterator<Item = Box<str>>) -> Self {
        let words: BTreeSet<Box<str>> = words.collect();
        let mut crc = crc32fast::Hasher::new();
        for word in &words {
            crc.update(word.as_bytes());
            crc.update(b"\n");
        }
        let id = ResourceId { crc: crc.finalize(), entry_count: words.len() as u64 };
        StopWords { words: words.into_iter().collect(), id }
    }

    /// The built-in list for a language, by its two-letter code: the list of `stopwords-iso`, from
    /// the crate stop-words 0.10.1.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownName`] if the language has no list; the error contains the codes that have.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpstore_text::StopWords;
    ///
    /// assert_eq!(StopWords::of_language("en")?.id().entry_count, 1298);
    /// assert!(StopWords::of_language("xx").is_err());
    /// # Ok::<(), fpstore_text::Error>(())
    /// ```
    pub fn of_language(code: &str) -> Result<Self> {
        match stop_words::lookup(code).filter(|_| codes().any(|known| known == code)) {
            Some(words) => Ok(StopWords::from_list(&words.join("\n"))),
            None => Err(Error::UnknownName {
                kind: "list of stop words for",
                name: code.into(),
                expected: codes().collect::<Vec<String>>().join(", "),
            }),
        }
    }

    /// The built-in lists.
    pub(super) fn built_in() -> impl Iterator<Item = Self> {
        codes().filter_map(|code| StopWords::of_language(&code).ok())
    }

    /// These words, each replaced by the result of `form`, or kept if `form` returns `None`.
    pub(super) fn formed(&self, mut form: impl FnMut(&str) -> Option<String>) -> Self {
        StopWords::of(self.iter().map(|word| form(word).map_or_else(|| word.into(), Into::into)))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(|word| &**word)
    }

    /// The id of this list in recipes; independent of order and repetitions.
    pub fn id(&self) -> ResourceId {
        self.id
    }

    pub(crate) fn contains(&self, word: &str) -> bool {
        self.words.contains(word)
    }
}

/// The two-letter codes of languages with a built-in list.
fn codes() -> impl Iterator<Item = String> {
    let letters = || 'a'..='z';
    let pairs = letters().flat_map(move |a| letters().map(move |b| format!("{a}{b}")));
    pairs.filter(|code| stop_words::lookup(code).is_some())
}

/// Weights from 1 to 5 for features; unlisted features have weight 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenWeights {
    weights: BTreeMap<Box<str>, u8>,
    id: ResourceId,
}

impl GivenWeights {
    /// Parses a list. Each line contains a feature, a tab, and a whole number from 1 to 5. Blank
    /// lines and lines that start with `#` are ignored. A recipe brings the listed features into
    /// the form of its features, so `The Cat` is the feature `the cat`.
    ///
    /// # Errors
    ///
    /// [`Error::BadInput`], with `name` and the line number, if a line has another form, or if a
    /// feature is listed twice with different weights.
    pub fn from_list(list: &str, name: &str) -> Result<Self> {
        let mut weights: BTreeMap<Box<str>, u8> = BTreeMap::new();
        for (number, line) in lists::rows(list) {
            let bad = |reason: String| {
                let place = InputPlace::Line(number);
                Error::BadInput { name: name.into(), place, reason }
            };
            let (feature, weight) = line
                .rsplit_once('\t')
                .ok_or_else(|| bad("no tab, expected a word, a tab and a weight".into()))?;
            let weight = match weight.trim() {
                "1" => 1,
                "2" => 2,
                "3" => 3,
                "4" => 4,
                "5" => 5,
                other => return Err(bad(format!("weight is '{other}', expected 1 to 5"))),
            };
            if weights.insert(feature.into(), weight).is_some_and(|before| before != weight) {
                return Err(bad(format!("an earlier line gives '{feature}' another weight")));
            }
        }
        Ok(GivenWeights::of(weights))
    }

    fn of(weights: BTreeMap<Box<str>, u8>) -> Self {
        let mut crc = crc32fast::Hasher::new();
        for (feature, weight) in &weights {
            crc.update(format!("{feature}\t{weight}\n").as_bytes());
        }
        let id = ResourceId { crc: crc.finalize(), entry_count: weights.len() as u64 };
        GivenWeights { weights, id }
    }

    /// These weights, each feature replaced by the result of `form`, or kept if `form` returns
    /// `None`.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRecipe`] if features with different weights become equal.
    pub(super) fn formed(&self, mut form: impl FnMut(&str) -> Option<String>) -> Result<Self> {
        let mut weights: BTreeMap<Box<str>, u8> = BTreeMap::new();
        for (feature, &weight) in &self.weights {
            let formed = form(feature).map_or_else(|| feature.clone(), Into::into);
            let before = weights.insert(formed.clone(), weight).filter(|&before| before != weight);
            if let Some(before) = before {
                return Err(Error::InvalidRecipe {
                    reason: format!(
                        "'{feature}' has weight {weight} in the list of weights, but another \
                         spelling of '{formed}' has weight {before}"
                    ),
                });
            }
        }
        Ok(GivenWeights::of(weights))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.weights.keys().map(|feature| &**feature)
    }

    /// The id of this list in recipes; independent of the order of its lines.
    pub fn id(&self) -> ResourceId {
        self.id
    }

    pub(super) fn by_hash(&self, hash: FeatureHash) -> HashMap<u64, u8> {
        self.weights.iter().map(|(text, &weight)| (hash.of(text.as_bytes()), weight)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_lists_are_those_that_recipes_name() {
        let known: Vec<String> = codes().collect();
        assert!(
            known.len() > 50 && ["en", "zh", "de"].iter().all(|c| known.contains(&c.to_string()))
        );
        for code in known {
            let list = StopWords::of_language(&code).unwrap();
            assert!(StopWords::built_in().any(|found| found == list), "{code}");
        }
        // Recipes contain these ids, and another version of the lists would change fingerprints.
        assert_eq!(StopWords::of_language("en").unwrap().id().to_string(), "b96033a3 1298");
        assert_eq!(StopWords::of_language("zh").unwrap().id().to_string(), "0852a37b 794");
    }
}
