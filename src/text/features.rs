//! The features of one text on their way to the vote.

use crate::text::counts::FeatureCounts;
use crate::text::hash::FeatureHash;
use crate::text::memo::HashMemo;
use crate::text::recipe::{Factor, TextRecipe};
use crate::text::siphash::SipHash13;
use crate::text::votes::{BitCounts, Votes};
use crate::text::weight::{CountWeight, Weight};

/// Takes the features of one text.
#[derive(Clone, Debug)]
pub(crate) struct Features {
    pub(crate) hash: FeatureHash,
    pub(crate) counts: FeatureCounts,
    way: Way,
    pub(crate) mode: Mode,
    /// Hashes on their way. Whether a feature is new cannot be foretold, so the processor would again and
    /// again have gone the wrong way; it is cheaper where no tokenizer has run ahead of it.
    waiting: Vec<u64>,
    pub(crate) votes: Votes,
    group: BitCounts,
    pub(crate) any: bool,
}

/// The fastest way to the hash of a feature.
#[derive(Clone, Debug)]
enum Way {
    SipHash13(SipHash13),
    /// For hashes that take long.
    Memo(HashMemo),
    Plain,
}

/// When features vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Each time they occur.
    Always,
    /// The first time they occur.
    First,
    /// When all are counted, since their weights differ.
    Last,
}

impl Mode {
    pub(crate) fn of(recipe: &TextRecipe) -> Self {
        match recipe.count {
            _ if recipe.factor != Factor::None || recipe.top.is_some() => Mode::Last,
            CountWeight::Count => Mode::Always,
            CountWeight::Once => Mode::First,
            CountWeight::Log => Mode::Last,
        }
    }
}

impl Features {
    /// The features of texts by `recipe`.
    pub(crate) fn new(recipe: &TextRecipe) -> Self {
        Features {
            hash: recipe.hash,
            counts: FeatureCounts::default(),
            way: match recipe.hash {
                FeatureHash::SipHash13(key) => Way::SipHash13(SipHash13::new(key.0)),
                FeatureHash::Md5Low64 => Way::Memo(HashMemo::new()),
                _ => Way::Plain,
            },
            mode: Mode::of(recipe),
            waiting: Vec::with_capacity(WAITING_COUNT),
            votes: Votes::default(),
            group: BitCounts::default(),
            any: false,
        }
    }

    #[inline]
    pub(crate) fn take(&mut self, feature: &str) {
        let bytes = feature.as_bytes();
        let hash = match &mut self.way {
            Way::SipHash13(siphash) => siphash.hash(bytes),
            Way::Memo(memo) => memo.hash(bytes, &self.hash),
            Way::Plain => self.hash.of(bytes),
        };
        self.waiting.push(hash);
        if self.waiting.len() == WAITING_COUNT {
            self.settle();
        }
    }

    /// Counts the hashes on their way.
    #[inline(never)]
    pub(crate) fn settle(&mut self) {
        for &hash in &self.waiting {
            let votes = match self.mode {
                Mode::Always => true,
                Mode::First => self.counts.add(hash),
                Mode::Last => {
                    self.counts.add(hash);
                    false
                }
            };
            if votes {
                self.group.add(hash);
            }
        }
        self.any |= !self.waiting.is_empty();
        self.waiting.clear();
        if self.group.is_full() {
            self.empty_group();
        }
    }

    #[cold]
    pub(crate) fn empty_group(&mut self) {
        let (counts, features) = self.group.take();
        self.votes.add_counts(&counts, features, Weight::ONE);
    }

    /// Forgets all features.
    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
        self.counts.clear();
        self.votes.clear();
        self.group.take();
        self.any = false;
    }
}

/// So many hashes are on their way at most.
const WAITING_COUNT: usize = 512;
