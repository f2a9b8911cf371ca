//! The features of one text on their way to the vote.

use crate::text::counts::FeatureCounts;
use crate::text::hash::FeatureHash;
use crate::text::memo::HashMemo;
use crate::text::recipe::{Factor, TextRecipe};
use crate::text::votes::{BitCounts, Votes};
use crate::text::weight::{CountWeight, Weight};

/// Takes the features of one text.
#[derive(Clone, Debug)]
pub(crate) struct Features {
    pub(crate) hash: FeatureHash,
    pub(crate) counts: FeatureCounts,
    /// For hashes that take long.
    memo: Option<HashMemo>,
    pub(crate) mode: Mode,
    /// Hashes on their way. Whether a feature is new cannot be foretold, so the processor would again and
    /// again have gone the wrong way; it is cheaper where no tokenizer has run ahead of it.
    waiting: Vec<u64>,
    pub(crate) votes: Votes,
    group: BitCounts,
    pub(crate) any: bool,
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
            memo: (recipe.hash == FeatureHash::Md5Low64).then(HashMemo::new),
            mode: Mode::of(recipe),
            waiting: Vec::with_capacity(WAITING_COUNT),
            votes: Votes::default(),
            group: BitCounts::default(),
            any: false,
        }
    }

    #[inline]
    pub(crate) fn take(&mut self, feature: &str) {
        let hash = match &mut self.memo {
            None => self.hash.of(feature.as_bytes()),
            Some(memo) => memo.hash(feature.as_bytes(), &self.hash),
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
