//! Prefix filtering: selects a few rare features of each set (its prefix), so that similar sets
//! have a feature of their prefixes in common.
//!
//! The features of all sets are sorted in one common order, rare features first. Example: set x has
//! 5 features, and a similar set y must have at least 4 of these. So y has at least one of the
//! first two features of x. An index of the first features of all sets thus finds every similar
//! pair, and as these features are rare, the lists of the index are short:
//!
//! ```text
//!     x    barn  goat | the  a  of        prefix of x: barn, goat
//!     y    barn  | the  a  of  in         prefix of y: barn       -> x and y meet at barn
//!     z    hill  lake | the  a  of        meets neither, although it shares three features
//! ```
//!
//! The result is exact with any order; only the cost depends on it. So features are counted
//! approximately, in a table of small counters that features with equal hashes share: a count is
//! never too low. A feature whose count is 1 occurs in one set only, and is left out of the prefix.
//! If the features are more than the counters, only a part of them is counted, by their hashes, and
//! the others count as frequent: then each set still has enough features that are known as rare.
//!
//! # Source
//!
//! Bayardo, Ma and Srikant, "Scaling Up All Pairs Similarity Search", WWW 2007; the lengths of the
//! probed and the indexed prefix, and the filter by position: Xiao, Wang, Lin, Yu and Wang,
//! "Efficient Similarity Joins for Near-Duplicate Detection", ACM TODS 36, 2011.

use std::ops::Range;
use std::sync::atomic::{AtomicU8, Ordering};

use super::likeness::Likeness;
use super::similarity::{least_common, least_contained};
use crate::base::error::Result;
use crate::base::side_by_side::{Part, side_by_side};
use crate::bytes::scramble::scramble;
use crate::join::options::JoinOptions;
use fpstore_base::watch::Phase;

/// Sets of features, by their numbers. Features are 64-bit hashes, ascending and distinct.
pub trait FeatureSets: Sync {
    /// The number of sets, below 2^32.
    fn count(&self) -> u32;

    /// The positions of the features of a set among all features, which are numbered from 0.
    fn range_of(&self, set: u32) -> Range<u64>;

    /// Fills `features` with the features from the position `start` on.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](crate::Error::Io) if the features cannot be read.
    fn read_at(&self, start: u64, features: &mut [u64]) -> Result<()>;
}

/// The number of features of a set.
pub(super) fn len_of(sets: &(impl FeatureSets + ?Sized), set: u32) -> usize {
    let range = sets.range_of(set);
    (range.end - range.start) as usize
}

/// Replaces the contents of `features` by the features of the sets, one after the other.
pub(super) fn read(
    sets: &(impl FeatureSets + ?Sized),
    numbers: &[u32],
    features: &mut Vec<u64>,
) -> Result<()> {
    features.resize(numbers.iter().map(|&set| len_of(sets, set)).sum(), 0);
    let mut left = features.as_mut_slice();
    // Sets that are neighbours are read at once.
    for run in numbers.chunk_by(|&one, &next| sets.range_of(one).end == sets.range_of(next).start) {
        let (start, end) = (sets.range_of(run[0]).start, sets.range_of(run[run.len() - 1]).end);
        let own;
        (own, left) = left.split_at_mut((end - start) as usize);
        sets.read_at(start, own)?;
    }
    Ok(())
}

/// Maximum number of features that are read at once, unless a single set has more.
const READ_LEN: usize = if cfg!(test) { 64 } else { 1 << 17 };

/// The number of sets, from the start of `numbers`, that together have at most `most` features; at
/// least 1.
pub(super) fn count_within(
    sets: &(impl FeatureSets + ?Sized),
    numbers: &[u32],
    most: usize,
) -> usize {
    let mut len = 0;
    let fits = |set: &&u32| {
        len += len_of(sets, **set);
        len <= most
    };
    numbers.iter().take_while(fits).count().max(1)
}

/// Calls `each` with each set of `numbers`, in this order, and its features.
pub(super) fn each_set(
    sets: &(impl FeatureSets + ?Sized),
    numbers: &[u32],
    mut each: impl FnMut(u32, &[u64]) -> Result<()>,
) -> Result<()> {
    let (mut rest, mut features) = (numbers, Vec::new());
    while !rest.is_empty() {
        let (now, later) = rest.split_at(count_within(sets, rest, READ_LEN));
        read(sets, now, &mut features)?;
        let mut left = features.as_slice();
        for &set in now {
            let (own, others) = left.split_at(len_of(sets, set));
            each(set, own)?;
            left = others;
        }
        rest = later;
    }
    Ok(())
}

/// Counts, up to 3, the sets with each feature: never too low, and exact for most rare features.
pub(super) struct Rarity {
    /// Counters of two bits, four to a byte.
    counts: Vec<AtomicU8>,
    /// The largest hash of a counted feature.
    last: u64,
}

/// The maximum of a counter: 3 stands for 3 or more sets.
const COUNT_MAX: u8 = 3;
const COUNTERS_PER_BYTE: usize = 4;
/// The part of the memory that the counters get at most.
const MEMORY_SHARE: (u64, u64) = (3, 8);
/// An odd factor that spreads the hashes of the counted features over all counters.
const HASH_FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
/// The number of counters for each feature, if memory allows.
const COUNTERS_PER_FEATURE: usize = 4;

impl Rarity {
    /// Counts the features of the sets `numbers`, in at most three eighths of `memory`.
    pub(super) fn of(
        sets: &(impl FeatureSets + ?Sized),
        numbers: &[u32],
        memory: u64,
        threads: usize,
        options: &JoinOptions,
    ) -> Result<Self> {
        let watch = options.watch(Phase::Join, Some(numbers.len() as u64));
        watch.report()?;
        let feature_count = numbers.iter().map(|&set| len_of(sets, set)).sum::<usize>().max(1);
        let most = memory / MEMORY_SHARE.1 * MEMORY_SHARE.0;
        let most = usize::try_from(most).unwrap_or(usize::MAX).max(1);
        let wanted = COUNTERS_PER_FEATURE * feature_count / COUNTERS_PER_BYTE;
        let mut counts = Vec::new();
        counts.resize_with(wanted.min(most), AtomicU8::default);
        // With more features than counters, few of the features that occur once would be known as
        // such. Their number is largest with as many counted features as counters.
        let part = COUNTERS_PER_BYTE as f64 * counts.len() as f64 / feature_count as f64;
        let rarity = Rarity { counts, last: (part * u64::MAX as f64) as u64 };
        side_by_side(&Part::all(threads), |part| {
            let own = &numbers[part.of_len(numbers.len())];
            each_set(sets, own, |_, features| {
                watch.tick(1)?;
                features.iter().for_each(|&feature| rarity.add(feature));
                Ok(())
            })
        })?;
        Ok(rarity)
    }

    /// The byte with the counter of a feature, and the first bit of the counter; `None` if the
    /// feature is not counted.
    fn place(&self, feature: u64) -> Option<(&AtomicU8, u8)> {
        let hash = scramble(feature);
        if hash > self.last {
            return None;
        }
        let spread = u128::from(hash.wrapping_mul(HASH_FACTOR));
        let at = (spread * self.counts.len() as u128) >> 64;
        Some((&self.counts[at as usize], (hash as usize % COUNTERS_PER_BYTE) as u8 * 2))
    }

    fn add(&self, feature: u64) {
        let Some((counters, bit)) = self.place(feature) else { return };
        let more = |old: u8| (old >> bit & COUNT_MAX < COUNT_MAX).then(|| old + (1 << bit));
        // A counter at its maximum is not changed: `more` returns `None`, and the update fails.
        let _ = counters.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
    }

    fn count(&self, feature: u64) -> u8 {
        self.place(feature).map_or(COUNT_MAX, |(counters, bit)| {
            counters.load(Ordering::Relaxed) >> bit & COUNT_MAX
        })
    }
}

/// The number of features of a set, and bits for a bound of its differences from other sets. The
/// bound rejects nearly all sets that share a few features by chance or are just below the threshold:
/// reading their features, at random places of a file, would take most of the time.
///
/// Each feature flips one bit. So sets that differ in `n` bits have at least `n` features that are
/// not common.
///
/// # Source
///
/// Sandes, Teodoro and Melo, "Bitmap Filter: Speeding up Exact Set Similarity Joins with Bitwise
/// Operations", Information Systems 88, 2020.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outline<'a> {
    /// The number of features.
    pub(super) len: usize,
    /// [`Outline::word_count`] words.
    pub(super) bits: &'a [u64],
}

/// The maximum number of words of an outline: enough for sets of about 1 000 features.
const WORD_COUNT_MAX: usize = 32;
/// The number of features for each word.
const FEATURES_PER_WORD: usize = 16;

impl<'a> Outline<'a> {
    /// The number of words for a set of `len` features: a power of two.
    pub(super) fn word_count(len: usize) -> usize {
        (len / FEATURES_PER_WORD).next_power_of_two().min(WORD_COUNT_MAX)
    }

    /// The outline of a set with these features. `bits` is a buffer.
    pub(super) fn of(features: &[u64], bits: &'a mut Vec<u64>) -> Self {
        let count = Self::word_count(features.len());
        bits.clear();
        bits.resize(count, 0);
        for &feature in features {
            let hash = scramble(feature);
            bits[hash as usize % count] ^= 1 << (hash >> 58);
        }
        Outline { len: features.len(), bits }
    }

    /// Whether the sets may have at least `least` common features.
    pub(super) fn may_share(self, other: Outline<'_>, least: usize) -> bool {
        let (few, many) = match self.bits.len() <= other.bits.len() {
            true => (self.bits, other.bits),
            false => (other.bits, self.bits),
        };
        let differing: u32 = if few.len() == many.len() {
            few.iter().zip(many).map(|(a, b)| (a ^ b).count_ones()).sum()
        } else {
            // With fewer words, a word is the exclusive or of several.
            let word = |at: usize| many[at..].iter().step_by(few.len()).fold(few[at], |a, b| a ^ b);
            (0..few.len()).map(|at| word(at).count_ones()).sum()
        };
        2 * least + differing as usize <= self.len + other.len
    }
}

/// A feature in the prefix of a set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    /// 32 bits of the hash of the feature: different features rarely have equal bits.
    pub(super) check: u32,
    /// The position of the feature among the features of its set, rare features first.
    pub(super) place: u32,
}

/// Computes the prefixes of sets for a condition of similarity.
///
/// If the condition is only `contained`, the common features can be at any position in the
/// containing set, so all features of a set are indexed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prefixes(pub(super) Likeness);

impl Prefixes {
    /// The length of the probed prefix of a set of `len` features: every similar set has at least
    /// one of the features in it.
    pub(super) fn probed(self, len: usize) -> usize {
        let Likeness { similarity, contained } = self.0;
        let part = if similarity > 0.0 { similarity } else { contained.unwrap_or(1.0) };
        // `part` is the minimum part of the features that a similar set also has.
        if len == 0 { 0 } else { len - least_contained(len, part) + 1 }
    }

    /// The length of the indexed prefix of a set of `len` features: at least one of the features in
    /// it is in the probed prefix of every similar set that has at least `len` features.
    pub(super) fn indexed(self, len: usize) -> usize {
        if len == 0 || self.0.similarity == 0.0 {
            return len;
        }
        len - least_common(len, len, self.0.similarity) + 1
    }

    /// A lower bound for the common features of a set of `own` features and a similar indexed set.
    #[inline]
    pub(super) fn least_common(self, own: usize, indexed: usize) -> usize {
        let Likeness { similarity, contained } = self.0;
        let least = if similarity > 0.0 {
            similarity / (1.0 + similarity) * (own + indexed) as f64
        } else {
            contained.unwrap_or(1.0) * own as f64
        };
        // Rounding errors must not raise the bound.
        let least = least - 1e-6;
        let whole = least as usize;
        whole + usize::from((whole as f64) < least)
    }

    /// Whether a set may be similar to an indexed set. Each set is given by the number of its
    /// features and the position of the first common feature among them.
    #[inline]
    pub(super) fn admit(self, own: (usize, u32), indexed: (usize, u32)) -> bool {
        let left = |(len, place): (usize, u32)| len - place as usize;
        left(own).min(left(indexed)) >= self.least_common(own.0, indexed.0)
    }

    /// Replaces `tokens` by the tokens of the prefix of a set, by which similar sets are found.
    /// `ordered` is a buffer.
    pub(super) fn tokens(
        self,
        features: &[u64],
        rarity: &Rarity,
        ordered: &mut Vec<(u8, u64)>,
        tokens: &mut Vec<Token>,
    ) {
        tokens.clear();
        let is_listed = self.0.similarity == 0.0;
        let len = if is_listed { features.len() } else { self.probed(features.len()) };
        if len > 0 {
            ordered.clear();
            ordered.extend(features.iter().map(|&feature| (rarity.count(feature), feature)));
            ordered.select_nth_unstable(len - 1);
            let first = &mut ordered[..len];
            first.sort_unstable();
            let shared = (0..).zip(&*first).filter(|(_, (count, _))| *count > 1);
            let check = |feature: u64| (scramble(feature) >> 32) as u32;
            tokens.extend(shared.map(|(place, &(_, it))| Token { check: check(it), place }));
        }
    }
}
