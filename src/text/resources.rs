//! What a recipe names and does not hold: lists of words, weights, document frequencies.

use std::collections::{BTreeMap, HashMap};

use crate::error::{Error, InputPlace, Result};
use crate::text::df::DfTable;
use crate::text::hash::FeatureHash;
use crate::text::recipe::Mark;
use crate::text::stop_words::StopWords;

/// What a recipe names and does not hold.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct TextResources {
    /// The words that are left out.
    pub stop_words: Option<StopWords>,
    /// In how many documents each feature occurs.
    pub df_table: Option<DfTable>,
    /// Weights of features.
    pub weights: Option<GivenWeights>,
}

/// Weights from 1 to 5 for features; what has none weighs 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenWeights {
    weights: BTreeMap<Box<str>, u8>,
    mark: Mark,
}

impl GivenWeights {
    /// The weights of a list: a line each, the feature, a tab, and a whole number from 1 to 5. Blank
    /// lines and lines that start with `#` do not count.
    ///
    /// # Errors
    ///
    /// [`Error::BadInput`] with `name` and the line for any other line, and for a feature that comes twice
    /// with different weights.
    pub fn from_list(list: &str, name: &str) -> Result<Self> {
        let mut weights: BTreeMap<Box<str>, u8> = BTreeMap::new();
        for (number, line) in content_lines(list) {
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
                other => return Err(bad(format!("weight '{other}', expected 1 to 5"))),
            };
            if weights.insert(feature.into(), weight).is_some_and(|before| before != weight) {
                return Err(bad(format!("'{feature}' has another weight further up")));
            }
        }
        let mut crc = crc32fast::Hasher::new();
        for (feature, weight) in &weights {
            crc.update(format!("{feature}\t{weight}\n").as_bytes());
        }
        let mark = Mark { crc: crc.finalize(), entry_count: weights.len() as u64 };
        Ok(GivenWeights { weights, mark })
    }

    /// What tells this list from others; order does not.
    pub fn mark(&self) -> Mark {
        self.mark
    }

    pub(crate) fn by_hash(&self, hash: FeatureHash) -> HashMap<u64, u8> {
        self.weights.iter().map(|(text, &weight)| (hash.of(text.as_bytes()), weight)).collect()
    }
}

/// Lines that are neither blank nor comments, with their numbers.
pub(crate) fn content_lines(list: &str) -> impl Iterator<Item = (u64, &str)> {
    let list = list.strip_prefix('\u{feff}').unwrap_or(list);
    (1..).zip(list.lines()).filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'))
}
