//! Words to leave out.

use std::collections::HashSet;

use crate::error::Result;
use crate::text::recipe::{Mark, invalid};
use crate::text::resources::content_lines;

/// Words that are left out before features are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopWords {
    words: HashSet<Box<str>>,
    mark: Mark,
}

impl StopWords {
    /// The words of a list, one a line; blank lines and lines that start with `#` do not count. They
    /// are compared with tokens as the recipe makes them, so as a rule they should be in lower case.
    pub fn from_list(list: &str) -> Self {
        let mut words: Vec<&str> = content_lines(list).map(|(_, line)| line).collect();
        words.sort_unstable();
        words.dedup();
        let mut crc = crc32fast::Hasher::new();
        for word in &words {
            crc.update(word.as_bytes());
            crc.update(b"\n");
        }
        let mark = Mark { crc: crc.finalize(), entry_count: words.len() as u64 };
        StopWords { words: words.into_iter().map(Into::into).collect(), mark }
    }

    /// The list that this program brings for a language, by its two-letter code: those of `stopwords-iso`, as the crate
    /// stop-words 0.10.1 has them.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRecipe`](crate::Error::InvalidRecipe) with the codes there are.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpstore::StopWords;
    ///
    /// assert_eq!(StopWords::of_language("en")?.mark().entry_count, 1298);
    /// assert!(StopWords::of_language("xx").is_err());
    /// # Ok::<(), fpstore::Error>(())
    /// ```
    pub fn of_language(code: &str) -> Result<Self> {
        match stop_words::lookup(code).filter(|_| codes().any(|known| known == code)) {
            Some(words) => Ok(StopWords::from_list(&words.join("\n"))),
            None => {
                let known: Vec<String> = codes().collect();
                Err(invalid(format!(
                    "there is no list of stop words for '{code}', only for {}",
                    known.join(", ")
                )))
            }
        }
    }

    /// The list with this mark, if this program brings it.
    pub(crate) fn with_mark(mark: Mark) -> Option<Self> {
        codes()
            .filter_map(|code| StopWords::of_language(&code).ok())
            .find(|list| list.mark() == mark)
    }

    /// What tells this list from others; order and repeats do not.
    pub fn mark(&self) -> Mark {
        self.mark
    }

    pub(crate) fn contains(&self, word: &str) -> bool {
        self.words.contains(word)
    }
}

/// The codes of two letters for which there are lists.
fn codes() -> impl Iterator<Item = String> {
    let letters = || 'a'..='z';
    let pairs = letters().flat_map(move |a| letters().map(move |b| format!("{a}{b}")));
    pairs.filter(|code| stop_words::lookup(code).is_some())
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
            let found = StopWords::with_mark(list.mark());
            assert_eq!(found.map(|list| list.mark()), Some(list.mark()), "{code}");
        }
        // Another version of the lists would make other fingerprints; these are in recipes.
        assert_eq!(StopWords::of_language("en").unwrap().mark().to_string(), "b96033a3 1298");
        assert_eq!(StopWords::of_language("zh").unwrap().mark().to_string(), "0852a37b 794");
    }
}
