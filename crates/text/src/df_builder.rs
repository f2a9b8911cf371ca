//! Counts document frequencies over a corpus.

use std::collections::HashMap;

use crate::hasher::TextHasher;
use crate::recipe::TextRecipe;
use crate::resources::df::DfTable;

/// Counts for each feature the documents that contain it.
///
/// Needs about 20 bytes of memory for each distinct feature of the corpus.
///
/// # Examples
///
/// ```
/// use fpstore_text::{DfBuilder, TextHasher, TextRecipe};
///
/// let recipe = TextRecipe::named("simhash")?;
/// let mut hasher = TextHasher::new(&recipe)?;
/// let mut builder = DfBuilder::new(&recipe);
/// for text in ["the cat", "the dog", "the the mouse"] {
///     builder.add(&mut hasher, text);
/// }
/// let table = builder.finish(1);
/// assert_eq!((table.document_count(), table.entry_count()), (3, 7));
/// # Ok::<(), fpstore_text::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct DfBuilder {
    feature_text: String,
    document_count: u64,
    frequencies: HashMap<u64, u32>,
}

impl DfBuilder {
    /// Makes a builder for the features of `recipe`; the weights of the recipe have no effect.
    pub fn new(recipe: &TextRecipe) -> Self {
        DfBuilder {
            feature_text: recipe.feature_text(),
            document_count: 0,
            frequencies: HashMap::new(),
        }
    }

    /// Counts a document, unless it has no features.
    pub fn add(&mut self, hasher: &mut TextHasher, text: &str) {
        let hashes = hasher.distinct_features(text);
        self.add_hashes(&hashes);
    }

    /// Counts a document by the hashes of its distinct features, unless it has no features.
    pub fn add_hashes(&mut self, hashes: &[u64]) {
        if hashes.is_empty() {
            return;
        }
        self.document_count += 1;
        for &hash in hashes {
            let frequency = self.frequencies.entry(hash).or_default();
            *frequency = frequency.saturating_add(1);
        }
    }

    /// The number of documents counted so far.
    pub fn document_count(&self) -> u64 {
        self.document_count
    }

    /// The table of the features that occur in at least `frequency_min` documents.
    pub fn finish(self, frequency_min: u32) -> DfTable {
        let kept = self.frequencies.into_iter().filter(|&(_, count)| count >= frequency_min);
        let mut entries: Vec<(u64, u32)> = kept.collect();
        entries.sort_unstable();
        DfTable::of_entries(self.feature_text, self.document_count, entries)
    }
}
