//! From a text to its fingerprint: the interface to tokens, features, minima and votes.
//!
//! Callers keep a [`TextHasher`] for each thread. It owns the buffers of all steps, so a text needs
//! no new memory after they have grown. It reads no files.

mod digesting;
mod digests;
mod feature;
mod listing;

use std::sync::Arc;

pub use digests::TextDigests;
pub use feature::Feature;

use crate::error::Result;
use crate::features::{Features, Mode};
use crate::passages::PassageUnit;
use crate::recipe::{Factor, FeaturelessText, Method, TextRecipe};
use crate::resources::{Tables, TextResources};
use crate::tokens::Tokens;
use crate::tokens::runs::each_piece;
use crate::tokens::windows::FeatureSink;
use crate::votes::accumulator::Accumulator;
use crate::votes::weight::Weight;
use fpstore_base::Fingerprint;
use siphasher::sip::SipHasher13;

/// Computes fingerprints of texts by a recipe.
///
/// It keeps its memory from text to text, so a hasher for each thread is best; clones share the
/// tables. The same recipe and text yield the same fingerprint on every machine.
///
/// # Examples
///
/// ```
/// use fpstore_text::{TextHasher, TextRecipe};
///
/// let mut hasher = TextHasher::new(&TextRecipe::default())?;
/// let text = "The quick brown fox jumps over the lazy dog today, and the dog does not move at all";
/// let a = hasher.fingerprint(text).unwrap();
/// let b = hasher.fingerprint(&text.replace("lazy", "LAZY,")).unwrap();
/// assert_eq!(a, b);
/// let c = hasher.fingerprint(&text.replace("jumps", "jumped")).unwrap();
/// assert!(a.distance(c) < 20);
/// // A text without words is one feature as a whole; a text of white space has no fingerprint.
/// assert_ne!(hasher.fingerprint(" -- "), hasher.fingerprint("++"));
/// assert_eq!(hasher.fingerprint("  "), None);
/// # Ok::<(), fpstore_text::Error>(())
/// ```
///
/// # Sources
///
/// SimHash: Charikar, "Similarity Estimation Techniques from Rounding Algorithms", STOC 2002. MinHash
/// of one bit: Li and Konig, "b-Bit Minwise Hashing", WWW 2010.
#[derive(Clone, Debug)]
pub struct TextHasher {
    recipe: Arc<TextRecipe>,
    tables: Arc<Tables>,
    tokens: Tokens,
    /// The end of the text so far, from its last white space on: its last word may continue in the
    /// next part.
    pending: String,
    features: Features,
    accumulator: Accumulator,
    /// The bytes of the text so far, if digests are enabled.
    bytes: Option<SipHasher13>,
}

impl TextHasher {
    /// A hasher for a recipe that needs no lists and no tables.
    ///
    /// # Errors
    ///
    /// The errors of [`TextHasher::with_resources`].
    pub fn new(recipe: &TextRecipe) -> Result<Self> {
        TextHasher::with_resources(recipe, TextResources::default())
    }

    /// A hasher with the lists and tables named in the recipe.
    ///
    /// # Errors
    ///
    /// * [`Error::WrongResource`](crate::Error::WrongResource) if a list or table is missing or has
    ///   another id than in the recipe.
    /// * [`Error::WrongFeatures`](crate::Error::WrongFeatures) if a table was counted on features
    ///   of another recipe.
    pub fn with_resources(recipe: &TextRecipe, resources: TextResources) -> Result<Self> {
        Ok(TextHasher {
            tables: Arc::new(Tables::new(recipe, resources)?),
            tokens: Tokens::new(recipe),
            pending: String::new(),
            features: Features::new(recipe),
            accumulator: Accumulator::new(),
            bytes: None,
            recipe: Arc::new(recipe.clone()),
        })
    }

    /// Sets the unit of passages in the recipe, or `None` for whole texts; see
    /// [`TextRecipe::unit`].
    #[must_use]
    pub fn of_unit(mut self, unit: Option<PassageUnit>) -> Self {
        if self.recipe.unit != unit {
            Arc::make_mut(&mut self.recipe).unit = unit;
        }
        self
    }

    /// The recipe.
    pub fn recipe(&self) -> &TextRecipe {
        &self.recipe
    }

    /// The fingerprint of a text, or `None` if it has no features.
    ///
    /// Takes time linear in the length of the text, and memory for its distinct features.
    pub fn fingerprint(&mut self, text: &str) -> Option<Fingerprint> {
        self.digest_bytes(text);
        self.feed_whole(text);
        self.decide()
    }

    /// Adds the next part of a text that is too long to be held as a whole; [`TextHasher::finish`]
    /// ends the text.
    ///
    /// The parts may be cut anywhere; the result is the fingerprint of the whole text. The end of a
    /// part, from its last white space on, is held until the next part.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpstore_text::{TextHasher, TextRecipe};
    ///
    /// let mut hasher = TextHasher::new(&TextRecipe::default())?;
    /// let whole = hasher.fingerprint("one two three");
    /// hasher.feed("one tw");
    /// hasher.feed("o three");
    /// assert_eq!(hasher.finish(), whole);
    /// # Ok::<(), fpstore_text::Error>(())
    /// ```
    pub fn feed(&mut self, part: &str) {
        self.digest_bytes(part);
        let Some(cut) = part.bytes().rposition(|b| b.is_ascii_whitespace()) else {
            return self.pending.push_str(part);
        };
        let (head, tail) = part.split_at(cut);
        if self.pending.is_empty() {
            self.feed_pieces(head);
        } else {
            self.pending.push_str(head);
            let pending = std::mem::take(&mut self.pending);
            self.feed_pieces(&pending);
            self.pending = pending;
            self.pending.clear();
        }
        self.pending.push_str(tail);
    }

    /// Ends the text of [`TextHasher::feed`] and returns its fingerprint, or `None` if it has no
    /// features.
    pub fn finish(&mut self) -> Option<Fingerprint> {
        let pending = std::mem::take(&mut self.pending);
        self.feed_whole(&pending);
        self.decide()
    }

    /// Discards the text of [`TextHasher::feed`].
    pub fn reset(&mut self) {
        self.forget();
        self.take_digests();
    }

    /// Like [`TextHasher::reset`], but keeps the digests.
    fn forget(&mut self) {
        self.pending.clear();
        self.tokens.clear();
        self.features.clear();
    }

    /// The fingerprint of features made elsewhere, with their weights. Of the recipe, only the hash
    /// and the method apply, and for a vote the tie rule and the number of heaviest features that
    /// vote. A repeated feature counts with the sum of its weights; a feature of weight 0 is
    /// dropped. With MinHash, weights above 0 have no effect.
    pub fn fingerprint_of_features<'a>(
        &mut self,
        features: impl IntoIterator<Item = (&'a str, Weight)>,
    ) -> Option<Fingerprint> {
        let TextHasher { recipe, accumulator, features: hasher, .. } = self;
        let hashed = features.into_iter().map(|(text, weight)| (weight, hasher.hash_of(text)));
        let hashed = hashed.filter(|(weight, _)| *weight > Weight::ZERO);
        match &recipe.method {
            Method::SimHash(rules) => accumulator.vote_heaviest(hashed, rules.top, rules.ties),
            Method::MinHash => {
                let hashes: Vec<u64> = hashed.map(|(_, hash)| hash).collect();
                hasher.minima_of(hashes)
            }
        }
    }

    /// Calls `take` with the tokens into which the recipe cuts a text.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpstore_text::{TextHasher, TextRecipe, Tokenizer};
    ///
    /// let mut tokens = Vec::new();
    /// let recipe = TextRecipe { tokenizer: Tokenizer::Words, ..TextRecipe::default() };
    /// let mut hasher = TextHasher::new(&recipe)?;
    /// hasher.each_token("Don't panic!", |token| tokens.push(token.to_string()));
    /// assert_eq!(tokens, ["don't", "panic"]);
    /// # Ok::<(), fpstore_text::Error>(())
    /// ```
    pub fn each_token(&mut self, text: &str, mut take: impl FnMut(&str)) {
        let TextHasher { tokens, tables, .. } = self;
        let stop_words = tables.stop_words.as_ref();
        each_piece(text, &mut |piece| tokens.each(piece, stop_words, &mut take));
    }

    /// The hashes of the distinct features of a text, in no particular order. The Jaccard
    /// similarity of two texts is the similarity of these sets.
    pub fn distinct_features(&mut self, text: &str) -> Vec<u64> {
        let mode = std::mem::replace(&mut self.features.mode, Mode::Last);
        self.feed_whole(text);
        let hashes = self.take_distinct();
        self.features.mode = mode;
        hashes
    }

    /// A hasher of the same recipe whose only results are those of
    /// [`TextHasher::finish_distinct`] and [`TextHasher::finish_both`].
    pub fn counting(&self) -> Self {
        let mut counting = self.clone();
        counting.features.mode = Mode::Last;
        counting
    }

    /// Ends the text of [`TextHasher::feed`] and returns the hashes of its distinct features, in no
    /// particular order. For a hasher created by [`TextHasher::counting`].
    pub fn finish_distinct(&mut self) -> Vec<u64> {
        let pending = std::mem::take(&mut self.pending);
        self.feed_whole(&pending);
        self.take_distinct()
    }

    /// Ends the text of [`TextHasher::feed`]. Returns its fingerprint, or `None` if it has no
    /// features, and the hashes of its distinct features, ascending. For a hasher created by
    /// [`TextHasher::counting`].
    pub fn finish_both(&mut self) -> (Option<Fingerprint>, Vec<u64>) {
        let pending = std::mem::take(&mut self.pending);
        self.feed_whole(&pending);
        self.take_empty_feature();
        let mut hashes: Vec<u64> = self.features.counts.iter().map(|(hash, _)| hash).collect();
        hashes.sort_unstable();
        let fingerprint = match self.recipe.method {
            Method::SimHash(_) => self.decide(),
            Method::MinHash => self.features.minima_of(hashes.clone()),
        };
        self.forget();
        (fingerprint, hashes)
    }

    fn take_distinct(&mut self) -> Vec<u64> {
        let hashes = self.features.counts.iter().map(|(hash, _)| hash).collect();
        self.forget();
        hashes
    }

    fn feed_whole(&mut self, text: &str) {
        self.feed_pieces(text);
        self.tokens.finish(&mut self.features);
        self.features.flush();
    }

    /// Adds the features of a whole text, or of a part that was cut before white space.
    fn feed_pieces(&mut self, text: &str) {
        let TextHasher { tokens, features, tables, .. } = self;
        let stop_words = tables.stop_words.as_ref();
        each_piece(text, &mut |piece| tokens.feed(piece, stop_words, features));
    }

    /// Adds the empty feature to a text without features, if the recipe requires it.
    fn take_empty_feature(&mut self) {
        let has_one = self.recipe.featureless == FeaturelessText::EmptyFeature;
        if !self.features.any && has_one {
            self.features.take(&[], 0);
            self.features.flush();
        }
    }

    /// Computes the fingerprint of the features, and clears them.
    fn decide(&mut self) -> Option<Fingerprint> {
        self.take_empty_feature();
        let TextHasher { recipe, tables, features, accumulator, .. } = self;
        features.any = false;
        let Method::SimHash(rules) = &recipe.method else { return features.take_minima() };
        let counts = &features.counts;
        let decided = if features.mode != Mode::Last {
            features.decide(rules.ties)
        } else if rules.factor == Factor::None && rules.top.is_none() {
            accumulator.vote_by_count(counts, rules.count, rules.ties)
        } else {
            let weigh = |(hash, count)| (tables.weigh(rules.count.of(count), hash), hash);
            accumulator.vote_heaviest(counts.iter().map(weigh), rules.top, rules.ties)
        };
        features.counts.clear();
        decided
    }
}
