//! From a text to its fingerprint.

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::text::chinese::dictionary_words;
use crate::text::features::{Features, Mode};
use crate::text::normal::normalize;
use crate::text::recipe::{Factor, Segment, TextRecipe, invalid};
use crate::text::resources::{StopWords, TextResources};
use crate::text::votes::{BitCounts, Votes};
use crate::text::weight::Weight;
use crate::text::windows::Windows;
use crate::text::words::{Token, letters, python_word_characters, word_characters, words};

/// Texts are worked on in pieces of about this many bytes, so that what is read is still in the
/// cache and the memory stays small.
const PIECE_LEN: usize = 1 << 15;

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
/// let a = hasher.fingerprint("The quick brown fox jumps over the lazy dog today").unwrap();
/// let b = hasher.fingerprint("the quick brown fox jumped over the lazy dog today!").unwrap();
/// assert!(a.distance(b) < 16);
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
    folded: String,
    scratch: String,
    /// What was fed and not worked on: it may go on in the next feeding.
    pending: String,
    windows: Windows,
    features: Features,
    weighted: Vec<(Weight, u64)>,
    votes: Votes,
    groups: Vec<BitCounts>,
}

/// What is looked up while a text is worked on.
#[derive(Debug, Default)]
struct Tables {
    stop_words: Option<StopWords>,
    factor: FactorTable,
}

#[derive(Debug, Default)]
enum FactorTable {
    #[default]
    None,
    Idf(crate::text::df::DfTable),
    Given(HashMap<u64, u8>),
}

/// Features that occur up to so many times are added up by count, faster than one by one.
const GROUP_COUNT: usize = 8;

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
        let stop_words = match (recipe.stop_words, resources.stop_words) {
            (None, _) => None,
            (Some(mark), Some(list)) if list.mark() == mark => Some(list),
            (Some(mark), other) => {
                let found = other.map_or("none was given".into(), |list| list.mark().to_string());
                return Err(invalid(format!(
                    "it leaves out the words of list {mark} (checksum and count), {found}"
                )));
            }
        };
        let factor = factor_table(recipe, resources.df_table, resources.weights)?;
        Ok(SimHasher {
            tables: Arc::new(Tables { stop_words, factor }),
            folded: String::new(),
            scratch: String::new(),
            pending: String::new(),
            windows: Windows::new(
                recipe.shingle as usize,
                recipe.ngram as usize,
                recipe.segment != Segment::Letters,
            ),
            features: Features::new(recipe),
            weighted: Vec::new(),
            votes: Votes::default(),
            groups: vec![BitCounts::default(); GROUP_COUNT],
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
        self.windows.clear();
        self.features.clear();
    }

    /// The fingerprint of features that were made elsewhere, with their weights, by the hash, the tie rule and the
    /// number of heaviest features of the recipe. A feature that comes twice counts with both weights.
    pub fn fingerprint_of_features<'a>(
        &mut self,
        features: impl IntoIterator<Item = (&'a str, Weight)>,
    ) -> Option<Fingerprint> {
        let hash = self.recipe.hash;
        self.weighted.clear();
        let hashed = features.into_iter().map(|(text, weight)| (weight, hash.of(text.as_bytes())));
        self.weighted.extend(hashed.filter(|(weight, _)| *weight > Weight::ZERO));
        self.vote_heaviest();
        self.decide_votes()
    }

    /// Hands over the tokens of a text, as they are before features are made of them: how the recipe cuts it.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpstore::{SimHasher, TextRecipe};
    ///
    /// let mut tokens = Vec::new();
    /// let mut hasher = SimHasher::new(&TextRecipe::default())?;
    /// hasher.each_token("Don't panic!", |token| tokens.push(token.to_string()));
    /// assert_eq!(tokens, ["don't", "panic"]);
    /// # Ok::<(), fpstore::Error>(())
    /// ```
    pub fn each_token(&mut self, text: &str, mut take: impl FnMut(&str)) {
        let SimHasher { recipe, folded, scratch, tables, .. } = self;
        let stop_words = tables.stop_words.as_ref();
        each_piece(text, &mut |piece| {
            normalize(piece, recipe.nfkc, recipe.lower, folded, scratch);
            cut(folded, recipe.segment, &mut |token| {
                let (Token::Word(text) | Token::Character(text)) = token;
                if !stop_words.is_some_and(|words| words.contains(text)) {
                    take(text);
                }
            });
        });
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
        let features = &mut self.features;
        self.windows.finish(&mut |feature: &str| features.take(feature));
        features.settle();
    }

    /// Works on a text that is whole or cut before white space.
    fn feed_pieces(&mut self, text: &str) {
        each_piece(text, &mut |piece| self.feed_piece(piece));
    }

    fn feed_piece(&mut self, piece: &str) {
        let SimHasher { recipe, folded, scratch, windows, features, tables, .. } = self;
        normalize(piece, recipe.nfkc, recipe.lower, folded, scratch);
        let mut make = |feature: &str| features.take(feature);
        match &tables.stop_words {
            None => cut(folded, recipe.segment, &mut |token| windows.push(token, &mut make)),
            Some(stop_words) => cut(folded, recipe.segment, &mut |token| {
                let (Token::Word(text) | Token::Character(text)) = token;
                if !stop_words.contains(text) {
                    windows.push(token, &mut make);
                }
            }),
        }
    }

    /// Lets the features vote, and starts anew.
    fn decide(&mut self) -> Option<Fingerprint> {
        if !std::mem::take(&mut self.features.any) && self.recipe.empty_feature {
            self.features.take("");
            self.features.settle();
            self.features.any = false;
        }
        if self.features.mode != Mode::Last {
            self.features.empty_group();
            self.features.counts.clear();
            let decided = self.features.votes.decide(self.recipe.ties);
            self.features.votes.clear();
            return decided;
        }
        if self.recipe.factor == Factor::None && self.recipe.top.is_none() {
            self.vote_by_count();
        } else {
            let (tables, count_weight) = (&self.tables, self.recipe.count);
            let weight_of = |(hash, count): (u64, u64)| {
                let weight = count_weight.of(count);
                let weight = match &tables.factor {
                    FactorTable::None => weight,
                    FactorTable::Idf(table) => weight.times(table.idf(hash)),
                    FactorTable::Given(weights) => {
                        let given = weights.get(&hash).copied().unwrap_or(1);
                        weight.times(Weight::whole(given.into()))
                    }
                };
                (weight, hash)
            };
            self.weighted.clear();
            self.weighted.extend(self.features.counts.iter().map(weight_of));
            self.vote_heaviest();
        }
        self.features.counts.clear();
        self.decide_votes()
    }

    /// Votes where the weight depends on the count alone.
    fn vote_by_count(&mut self) {
        let rule = self.recipe.count;
        for (hash, count) in self.features.counts.iter() {
            match self.groups.get_mut((count - 1) as usize) {
                Some(group) if !group.is_full() => group.add(hash),
                _ => self.votes.add(hash, rule.of(count)),
            }
        }
        self.empty_groups(|count| rule.of(count));
    }

    /// Votes of the weighted features, of which only the heaviest may count.
    fn vote_heaviest(&mut self) {
        if let Some(top) = self.recipe.top.map(|top| top as usize)
            && top < self.weighted.len()
        {
            let heavier_first =
                |(weight, hash): &(Weight, u64)| (std::cmp::Reverse(*weight), *hash);
            self.weighted.select_nth_unstable_by_key(top, heavier_first);
            self.weighted.truncate(top);
        }
        for &(weight, hash) in &self.weighted {
            // Most weights that people give are small whole numbers.
            let whole = weight.raw() >> Weight::FRACTION_BITS;
            let place =
                if Weight::whole(whole) == weight { whole.wrapping_sub(1) } else { u64::MAX };
            match usize::try_from(place).ok().and_then(|place| self.groups.get_mut(place)) {
                Some(group) if !group.is_full() => group.add(hash),
                _ => self.votes.add(hash, weight),
            }
        }
        self.empty_groups(Weight::whole);
    }

    /// Adds up the groups; group 0 has count or weight 1.
    fn empty_groups(&mut self, weight_of: impl Fn(u64) -> Weight) {
        for (group, count) in self.groups.iter_mut().zip(1..) {
            let (counts, features) = group.take();
            if features > 0 {
                self.votes.add_counts(&counts, features, weight_of(count));
            }
        }
    }

    fn decide_votes(&mut self) -> Option<Fingerprint> {
        let decided = self.votes.decide(self.recipe.ties);
        self.votes.clear();
        decided
    }
}

/// Cuts a text before white space into pieces of about [`PIECE_LEN`].
fn each_piece(mut text: &str, take: &mut impl FnMut(&str)) {
    while text.len() > PIECE_LEN {
        let bytes = text.as_bytes();
        let before = bytes[..PIECE_LEN].iter().rposition(u8::is_ascii_whitespace);
        let after = || bytes[PIECE_LEN..].iter().position(u8::is_ascii_whitespace);
        let cut = match before.filter(|&cut| cut > 0) {
            Some(cut) => cut,
            None => after().map_or(text.len(), |cut| cut + PIECE_LEN),
        };
        let (piece, rest) = text.split_at(cut);
        take(piece);
        text = rest;
    }
    take(text);
}

fn cut<'a>(text: &'a str, segment: Segment, take: &mut impl FnMut(Token<'a>)) {
    match segment {
        Segment::Words => words(text, take),
        Segment::Letters => letters(text, take),
        Segment::Characters => word_characters(text, take),
        Segment::PythonCharacters => python_word_characters(text, take),
        Segment::Dictionary(method) => dictionary_words(text, method, take),
        // Refused when the hasher was made for texts; as features they come another way.
        Segment::Given => {}
    }
}

fn factor_table(
    recipe: &TextRecipe,
    df_table: Option<crate::text::df::DfTable>,
    weights: Option<crate::text::resources::GivenWeights>,
) -> Result<FactorTable> {
    let none = "none was given";
    match recipe.factor {
        Factor::None => Ok(FactorTable::None),
        Factor::Idf(mark) => match df_table {
            Some(table) if table.mark() == mark => {
                table.check(recipe)?;
                Ok(FactorTable::Idf(table))
            }
            other => {
                let found = other.map_or(none.into(), |table| format!("not {}", table.mark()));
                Err(invalid(format!(
                    "it needs the table of document frequencies {mark} (checksum and count), {found}"
                )))
            }
        },
        Factor::Given(mark) => match weights {
            Some(weights) if weights.mark() == mark => {
                Ok(FactorTable::Given(weights.by_hash(recipe.hash)))
            }
            other => {
                let found = other.map_or(none.into(), |list| format!("not {}", list.mark()));
                Err(invalid(format!(
                    "it needs the list of weights {mark} (checksum and count), {found}"
                )))
            }
        },
    }
}
