//! Hashes and counts the features of a text, and adds features of equal weight to the votes.
//!
//! `tokens` produces the features, [`TextHasher`](crate::TextHasher) takes the result. Hashes are
//! first collected in a batch: a branch on a hash is unpredictable, and each misprediction would
//! discard the work of the tokenizer that the processor has started ahead.

mod cache;
pub(crate) mod counts;
pub(crate) mod hash;
mod siphash;
mod siphash_lanes;

use crate::features::cache::HashCache;
use crate::features::counts::{FeatureCounts, SeenHashes};
use crate::features::hash::FeatureHash;
use crate::features::siphash::SipHash13;
use crate::features::siphash_lanes::ShortMessages;
use crate::minima::Minima;
use crate::recipe::{Factor, Method, TextRecipe};
use crate::tokens::windows::FeatureSink;
use crate::votes::bit_counts::BitCounts;
use crate::votes::weight::{CountWeight, Weight};
use crate::votes::{TieRule, Votes};
use fpstore_base::Fingerprint;

/// The hashes of the features of a text, with the votes or minima computed from them.
#[derive(Clone, Debug)]
pub(crate) struct Features {
    hash: FeatureHash,
    pub(crate) counts: FeatureCounts,
    seen: SeenHashes,
    hashing: Hashing,
    pub(crate) mode: Mode,
    /// Hashes that are not counted yet.
    pending: Vec<u64>,
    votes: Votes,
    group: BitCounts,
    minima: Minima,
    pub(crate) any: bool,
    /// The digest of all hashes in the order of the text, if requested.
    digest: Option<u64>,
}

/// The fastest implementation of a feature hash.
#[derive(Clone, Debug)]
enum Hashing {
    /// Short features are hashed in batches.
    SipHash13(SipHash13, ShortMessages),
    /// Hashes of short features are cached, because the hash is slow.
    Cached(HashCache),
    /// Features are hashed one by one.
    Plain,
}

/// How and when features are processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Features vote at each occurrence.
    Always,
    /// Features vote at their first occurrence.
    First,
    /// Features vote after all are counted, because weights depend on counts.
    Last,
    /// Features take part in the minima of MinHash.
    Minima,
}

impl Mode {
    pub(crate) fn of(recipe: &TextRecipe) -> Self {
        let Method::SimHash(rules) = &recipe.method else { return Mode::Minima };
        match rules.count {
            _ if rules.factor != Factor::None || rules.top.is_some() => Mode::Last,
            CountWeight::Count => Mode::Always,
            CountWeight::Once => Mode::First,
            CountWeight::Log => Mode::Last,
        }
    }
}

impl Features {
    /// An empty collection of features for `recipe`.
    pub(crate) fn new(recipe: &TextRecipe) -> Self {
        Features {
            hash: recipe.hash,
            counts: FeatureCounts::default(),
            seen: SeenHashes::default(),
            hashing: match recipe.hash {
                FeatureHash::SipHash13(key) => {
                    Hashing::SipHash13(SipHash13::new(key.0), ShortMessages::new())
                }
                FeatureHash::Md5Low64 => Hashing::Cached(HashCache::new()),
                _ => Hashing::Plain,
            },
            mode: Mode::of(recipe),
            pending: Vec::with_capacity(PENDING_MAX),
            votes: Votes::default(),
            group: BitCounts::default(),
            minima: Minima::default(),
            any: false,
            digest: None,
        }
    }

    /// Enables the digest of the hashes, which depends on their order.
    pub(crate) fn digesting(mut self) -> Self {
        self.digest = Some(0);
        self
    }

    /// The digest of the features since the last call; 0 if digests are not enabled.
    pub(crate) fn take_digest(&mut self) -> u64 {
        self.digest.as_mut().map_or(0, std::mem::take)
    }

    /// Counts the pending hashes.
    #[inline(never)]
    pub(crate) fn flush(&mut self) {
        if let Hashing::SipHash13(siphash, short) = &mut self.hashing {
            short.hash_all(siphash, &mut self.pending);
        }
        if let Some(digest) = &mut self.digest {
            *digest = mixed_all(*digest, &self.pending);
        }
        match self.mode {
            Mode::Always => self.pending.iter().for_each(|&hash| self.group.add(hash)),
            Mode::First => {
                let new_count = self.seen.keep_new(&mut self.pending);
                self.pending[..new_count].iter().for_each(|&hash| self.group.add(hash));
            }
            Mode::Last => self.pending.iter().for_each(|&hash| self.counts.add(hash)),
            Mode::Minima => self.minima.add(&mut self.pending),
        }
        self.any |= !self.pending.is_empty();
        self.pending.clear();
        if self.group.is_full() {
            self.empty_group();
        }
    }

    /// The hash of a feature.
    #[inline]
    pub(crate) fn hash_of(&mut self, feature: &str) -> u64 {
        match &mut self.hashing {
            Hashing::SipHash13(siphash, _) => siphash.hash(feature.as_bytes()),
            Hashing::Cached(cache) => cache.hash(feature.as_bytes(), feature.len(), &self.hash),
            Hashing::Plain => self.hash.of(feature.as_bytes()),
        }
    }

    /// The fingerprint of the minima, which are then cleared.
    pub(crate) fn take_minima(&mut self) -> Option<Fingerprint> {
        self.minima.decide()
    }

    /// The fingerprint of the minima of these hashes alone.
    pub(crate) fn minima_of(&mut self, mut hashes: Vec<u64>) -> Option<Fingerprint> {
        self.minima.clear();
        self.minima.add(&mut hashes);
        self.minima.decide()
    }

    /// The fingerprint by the votes of all added features. Clears the votes.
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

    pub(crate) fn clear(&mut self) {
        if let Hashing::SipHash13(_, short) = &mut self.hashing {
            short.clear();
        }
        self.pending.clear();
        self.counts.clear();
        self.seen.clear();
        self.votes.clear();
        self.minima.clear();
        self.group.take();
        self.any = false;
    }
}

impl FeatureSink for Features {
    #[inline(always)]
    fn take(&mut self, text: &[u8], len: usize) {
        let hash = match &mut self.hashing {
            Hashing::SipHash13(siphash, short) => match text.first_chunk() {
                Some(block) if len < 16 => {
                    if short.push(*block, len) {
                        self.flush();
                    }
                    return;
                }
                _ if len < 16 => {
                    // `text` is shorter than a block.
                    let mut block = [0; 16];
                    block[..len].copy_from_slice(&text[..len]);
                    if short.push(block, len) {
                        self.flush();
                    }
                    return;
                }
                _ => {
                    // The digest covers the order of long and short features. Pending short ones
                    // are hashed after this long one, so their number is included now.
                    if let Some(digest) = &mut self.digest {
                        *digest = mixed(*digest, short.len() as u64);
                    }
                    siphash.hash(&text[..len])
                }
            },
            Hashing::Cached(cache) => cache.hash(text, len, &self.hash),
            Hashing::Plain => self.hash.of(&text[..len]),
        };
        self.pending.push(hash);
        if self.pending.len() == PENDING_MAX {
            self.flush();
        }
    }
}

/// Extends a digest by a number; the result depends on the order of the numbers.
fn mixed(digest: u64, number: u64) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    (digest.rotate_left(5) ^ number).wrapping_mul(ODD)
}

/// Extends a digest by numbers in their order. Four parts are computed in parallel, because within
/// a part each step waits for the step before.
fn mixed_all(digest: u64, numbers: &[u64]) -> u64 {
    if numbers.is_empty() {
        return digest;
    }
    let mut parts = [digest, 1, 2, 3];
    let (fours, rest) = numbers.as_chunks::<4>();
    for four in fours {
        for (part, &number) in parts.iter_mut().zip(four) {
            *part = mixed(*part, number);
        }
    }
    parts.into_iter().chain(rest.iter().copied()).fold(numbers.len() as u64, mixed)
}

/// The number of pending hashes at which they are counted.
const PENDING_MAX: usize = 512;
