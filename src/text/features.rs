//! The features of one text on their way to the vote.

use crate::fingerprint::Fingerprint;
use crate::text::counts::FeatureCounts;
use crate::text::hash::FeatureHash;
use crate::text::memo::HashMemo;
use crate::text::recipe::{Factor, TextRecipe};
use crate::text::seen::SeenHashes;
use crate::text::siphash::SipHash13;
use crate::text::siphash_lanes::ShortMessages;
use crate::text::votes::{BitCounts, TieRule, Votes};
use crate::text::weight::{CountWeight, Weight};
use crate::text::windows::Make;

/// Takes the features of one text.
#[derive(Clone, Debug)]
pub(crate) struct Features {
    hash: FeatureHash,
    pub(crate) counts: FeatureCounts,
    seen: SeenHashes,
    way: Way,
    pub(crate) mode: Mode,
    /// Hashes on their way. Whether a feature is new cannot be foretold, so the processor would again and
    /// again have gone the wrong way; it is cheaper where no tokenizer has run ahead of it.
    waiting: Vec<u64>,
    votes: Votes,
    group: BitCounts,
    pub(crate) any: bool,
}

/// The fastest way to the hash of a feature.
#[derive(Clone, Debug)]
enum Way {
    /// Many at a time where they are short.
    SipHash13(SipHash13, ShortMessages),
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
            seen: SeenHashes::default(),
            way: match recipe.hash {
                FeatureHash::SipHash13(key) => {
                    Way::SipHash13(SipHash13::new(key.0), ShortMessages::new())
                }
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

    /// Counts the hashes on their way.
    #[inline(never)]
    pub(crate) fn settle(&mut self) {
        if let Way::SipHash13(siphash, short) = &mut self.way {
            short.hash_all(siphash, &mut self.waiting);
        }
        match self.mode {
            Mode::Always => self.waiting.iter().for_each(|&hash| self.group.add(hash)),
            Mode::First => {
                let new_count = self.seen.keep_new(&mut self.waiting);
                self.waiting[..new_count].iter().for_each(|&hash| self.group.add(hash));
            }
            Mode::Last => self.waiting.iter().for_each(|&hash| self.counts.add(hash)),
        }
        self.any |= !self.waiting.is_empty();
        self.waiting.clear();
        if self.group.is_full() {
            self.empty_group();
        }
    }

    /// The hash of a feature.
    #[inline]
    pub(crate) fn hash_of(&mut self, feature: &str) -> u64 {
        match &mut self.way {
            Way::SipHash13(siphash, _) => siphash.hash(feature.as_bytes()),
            Way::Memo(memo) => memo.hash(feature.as_bytes(), feature.len(), &self.hash),
            Way::Plain => self.hash.of(feature.as_bytes()),
        }
    }

    /// What the features decided that voted as they came; starts anew.
    pub(crate) fn decide(&mut self, ties: TieRule) -> Option<Fingerprint> {
        self.empty_group();
        self.seen.clear();
        let decided = self.votes.decide(ties);
        self.votes.clear();
        decided
    }

    #[cold]
    fn empty_group(&mut self) {
        let (counts, features) = self.group.take();
        self.votes.add_counts(&counts, features, Weight::ONE);
    }

    /// Forgets all features.
    pub(crate) fn clear(&mut self) {
        if let Way::SipHash13(_, short) = &mut self.way {
            short.clear();
        }
        self.waiting.clear();
        self.counts.clear();
        self.seen.clear();
        self.votes.clear();
        self.group.take();
        self.any = false;
    }
}

impl Make for Features {
    #[inline(always)]
    fn make(&mut self, text: &[u8], len: usize) {
        let hash = match &mut self.way {
            Way::SipHash13(siphash, short) => match text.first_chunk() {
                Some(block) if len < 16 => {
                    if short.push(*block, len) {
                        self.settle();
                    }
                    return;
                }
                _ => siphash.hash(&text[..len]),
            },
            Way::Memo(memo) => memo.hash(text, len, &self.hash),
            Way::Plain => self.hash.of(&text[..len]),
        };
        self.waiting.push(hash);
        if self.waiting.len() == WAITING_COUNT {
            self.settle();
        }
    }
}

/// So many hashes are on their way at most.
const WAITING_COUNT: usize = 512;
