//! From a text to its fingerprint.

use std::sync::Arc;

use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::text::ballot::Ballot;
use crate::text::features::{Features, Mode};
use crate::text::recipe::{Factor, TextRecipe};
use crate::text::resources::TextResources;
use crate::text::stretches::each_piece;
use crate::text::tables::Tables;
use crate::text::tokens::Tokens;
use crate::text::weight::Weight;
use crate::text::windows::Make;

/// Makes fingerprints of texts by a recipe.
///
/// It keeps its memory from one text to the next, so one for each thread is best; clones share the
/// tables. The same recipe and text give the same fingerprint on every machine.
///
/// # Examples
///
/// ```
/// use fpstore::{SimHasher, TextRecipe};
///
/// let mut hasher = SimHasher::new(&TextRecipe::default())?;
/// let text = "The quick brown fox jumps over the lazy dog today, and the dog does not move at all";
/// let a = hasher.fingerprint(text).unwrap();
/// let b = hasher.fingerprint(&text.replace("lazy", "LAZY,")).unwrap();
/// assert_eq!(a, b);
/// let c = hasher.fingerprint(&text.replace("jumps", "jumped")).unwrap();
/// assert!(a.distance(c) < 20);
/// // What has no words has no fingerprint.
/// assert_eq!(hasher.fingerprint(" -- "), None);
/// # Ok::<(), fpstore::Error>(())
/// ```
///
/// # Source
///
/// Charikar, "Similarity Estimation Techniques from Rounding Algorithms", STOC 2002.
#[derive(Clone, Debug)]
pub struct SimHasher {
    recipe: Arc<TextRecipe>,
    tables: Arc<Tables>,
    tokens: Tokens,
    /// What was fed and not worked on: it may go on in the next feeding.
    pending: String,
    features: Features,
    ballot: Ballot,
}

impl SimHasher {
    /// A hasher for a recipe that needs no lists and no tables.
    ///
    /// # Errors
    ///
    /// As [`SimHasher::with_resources`].
    pub fn new(recipe: &TextRecipe) -> Result<Self> {
        SimHasher::with_resources(recipe, TextResources::default())
    }

    /// A hasher with the lists and tables that the recipe names.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRecipe`](crate::Error::InvalidRecipe) if one is missing or is not the one that the recipe names.
    pub fn with_resources(recipe: &TextRecipe, resources: TextResources) -> Result<Self> {
        Ok(SimHasher {
            tables: Arc::new(Tables::new(recipe, resources)?),
            tokens: Tokens::new(recipe),
            pending: String::new(),
            features: Features::new(recipe),
            ballot: Ballot::new(),
            recipe: Arc::new(recipe.clone()),
        })
    }

    /// The recipe.
    pub fn recipe(&self) -> &TextRecipe {
        &self.recipe
    }

    /// The fingerprint of a text, or `None` if it has no features.
    ///
    /// The time is linear in the text. The memory is that of its distinct features.
    pub fn fingerprint(&mut self, text: &str) -> Option<Fingerprint> {
        self.feed_whole(text);
        self.decide()
    }

    /// Takes the next part of a text that is too long to be held whole; [`SimHasher::finish`] ends it.
    ///
    /// The parts may be cut anywhere: what they give is the fingerprint of the whole. What is
    /// after the last white space of a part is held until more comes.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpstore::{SimHasher, TextRecipe};
    ///
    /// let mut hasher = SimHasher::new(&TextRecipe::default())?;
    /// let whole = hasher.fingerprint("one two three");
    /// hasher.feed("one tw");
    /// hasher.feed("o three");
    /// assert_eq!(hasher.finish(), whole);
    /// # Ok::<(), fpstore::Error>(())
    /// ```
    pub fn feed(&mut self, part: &str) {
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

    /// Ends the text that was fed, and gives its fingerprint, or `None` if it has no features.
    pub fn finish(&mut self) -> Option<Fingerprint> {
        let pending = std::mem::take(&mut self.pending);
        self.feed_whole(&pending);
        self.decide()
    }

    /// Forgets the text that was fed.
    pub fn reset(&mut self) {
        self.pending.clear();
        self.tokens.clear();
        self.features.clear();
    }

    /// The fingerprint of features that were made elsewhere, with their weights, by the hash, the tie rule and the
    /// number of heaviest features of the recipe. A feature that comes twice counts with both weights.
    pub fn fingerprint_of_features<'a>(
        &mut self,
        features: impl IntoIterator<Item = (&'a str, Weight)>,
    ) -> Option<Fingerprint> {
        let SimHasher { recipe, ballot, features: hasher, .. } = self;
        let hashed = features.into_iter().map(|(text, weight)| (weight, hasher.hash_of(text)));
        let hashed = hashed.filter(|(weight, _)| *weight > Weight::ZERO);
        ballot.vote_heaviest(hashed, recipe.top, recipe.ties)
    }

    /// Hands over the tokens of a text, as they are before features are made of them: how the recipe cuts it.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpstore::{Segment, SimHasher, TextRecipe};
    ///
    /// let mut tokens = Vec::new();
    /// let recipe = TextRecipe { segment: Segment::Words, ..TextRecipe::default() };
    /// let mut hasher = SimHasher::new(&recipe)?;
    /// hasher.each_token("Don't panic!", |token| tokens.push(token.to_string()));
    /// assert_eq!(tokens, ["don't", "panic"]);
    /// # Ok::<(), fpstore::Error>(())
    /// ```
    pub fn each_token(&mut self, text: &str, mut take: impl FnMut(&str)) {
        let SimHasher { tokens, tables, .. } = self;
        let stop_words = tables.stop_words.as_ref();
        each_piece(text, &mut |piece| tokens.each(piece, stop_words, &mut take));
    }

    /// The hashes of the distinct features of a text, in no order that means anything.
    pub fn distinct_features(&mut self, text: &str) -> Vec<u64> {
        let mode = std::mem::replace(&mut self.features.mode, Mode::Last);
        self.feed_whole(text);
        let hashes = self.take_distinct();
        self.features.mode = mode;
        hashes
    }

    /// A hasher of the same recipe for [`SimHasher::finish_distinct`] alone.
    #[cfg(feature = "documents")]
    pub(crate) fn counting(&self) -> Self {
        let mut counting = self.clone();
        counting.features.mode = Mode::Last;
        counting
    }

    /// Ends the text that was fed, and gives the hashes of its distinct features.
    #[cfg(feature = "documents")]
    pub(crate) fn finish_distinct(&mut self) -> Vec<u64> {
        let pending = std::mem::take(&mut self.pending);
        self.feed_whole(&pending);
        self.take_distinct()
    }

    fn take_distinct(&mut self) -> Vec<u64> {
        let hashes = self.features.counts.iter().map(|(hash, _)| hash).collect();
        self.reset();
        hashes
    }

    fn feed_whole(&mut self, text: &str) {
        self.feed_pieces(text);
        self.tokens.finish(&mut self.features);
        self.features.settle();
    }

    /// Works on a text that is whole or cut before white space.
    fn feed_pieces(&mut self, text: &str) {
        let SimHasher { tokens, features, tables, .. } = self;
        let stop_words = tables.stop_words.as_ref();
        each_piece(text, &mut |piece| tokens.feed(piece, stop_words, features));
    }

    /// Lets the features vote, and starts anew.
    fn decide(&mut self) -> Option<Fingerprint> {
        let SimHasher { recipe, tables, features, ballot, .. } = self;
        if !std::mem::take(&mut features.any) && recipe.empty_feature {
            features.make(&[], 0);
            features.settle();
            features.any = false;
        }
        let counts = &features.counts;
        let decided = if features.mode != Mode::Last {
            features.decide(recipe.ties)
        } else if recipe.factor == Factor::None && recipe.top.is_none() {
            ballot.vote_by_count(counts, recipe.count, recipe.ties)
        } else {
            let weigh = |(hash, count)| (tables.weigh(recipe.count.of(count), hash), hash);
            ballot.vote_heaviest(counts.iter().map(weigh), recipe.top, recipe.ties)
        };
        features.counts.clear();
        decided
    }
}
