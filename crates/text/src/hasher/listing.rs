//! The features of a text as a list, to show people the effect of a recipe.

use std::collections::HashMap;

use super::TextHasher;
use super::feature::Feature;
use crate::recipe::{FeaturelessText, Method};
use crate::tokens::runs::each_piece;
use crate::tokens::windows::FeatureSink;
use crate::votes::weight::Weight;

impl TextHasher {
    /// The distinct features that determine the fingerprint of a text, in the order of their first
    /// occurrence.
    ///
    /// Takes several times the memory of [`TextHasher::fingerprint`], because the texts of the
    /// features are kept.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpstore_text::{TextHasher, TextRecipe, Tokenizer};
    ///
    /// let recipe =
    ///     TextRecipe { tokenizer: Tokenizer::Words, shingle: 2, ..TextRecipe::default() };
    /// let mut hasher = TextHasher::new(&recipe)?;
    /// let features = hasher.features("One two, one two three");
    /// let listed: Vec<(&str, u64)> = features.iter().map(|f| (f.text.as_str(), f.count)).collect();
    /// assert_eq!(listed, [("one two", 2), ("two one", 1), ("two three", 1)]);
    /// # Ok::<(), fpstore_text::Error>(())
    /// ```
    pub fn features(&mut self, text: &str) -> Vec<Feature> {
        let TextHasher { recipe, tokens, tables, features: hasher, .. } = self;
        let mut listing = Listing::default();
        let stop_words = tables.stop_words.as_ref();
        each_piece(text, &mut |piece| tokens.feed(piece, stop_words, &mut listing));
        tokens.finish(&mut listing);
        let has_empty = recipe.featureless == FeaturelessText::EmptyFeature;
        if listing.features.is_empty() && has_empty {
            listing.take(&[], 0);
        }
        let mut list = listing.features;
        for feature in &mut list {
            feature.hash = hasher.hash_of(&feature.text);
            if let Method::SimHash(rules) = &recipe.method {
                feature.weight = tables.weigh(rules.count.of(feature.count), feature.hash);
            }
        }
        if let Some(top) = recipe.votes().and_then(|rules| rules.top) {
            let mut heaviest: Vec<usize> = (0..list.len()).collect();
            let key = |&at: &usize| (std::cmp::Reverse(list[at].weight), list[at].hash);
            heaviest.sort_by_key(key);
            let mut is_kept = vec![false; list.len()];
            heaviest.iter().take(top as usize).for_each(|&at| is_kept[at] = true);
            let mut kept = is_kept.into_iter();
            list.retain(|_| kept.next().unwrap_or(false));
        }
        list
    }
}

/// Collects features and counts them.
#[derive(Default)]
struct Listing {
    features: Vec<Feature>,
    /// The index of each feature in the list.
    places: HashMap<String, usize>,
}

impl FeatureSink for Listing {
    fn take(&mut self, text: &[u8], len: usize) {
        let text = String::from_utf8_lossy(&text[..len]).into_owned();
        match self.places.get(&text) {
            Some(&place) => self.features[place].count += 1,
            None => {
                self.places.insert(text.clone(), self.features.len());
                self.features.push(Feature { text, hash: 0, count: 1, weight: Weight::ONE });
            }
        }
    }
}
