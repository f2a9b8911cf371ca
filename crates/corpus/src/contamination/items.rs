//! The items of a benchmark: their words and shingles.

use std::hash::Hasher;
use std::ops::Range;

use fpstore_text::PlacedWords;
use siphasher::sip::SipHasher13;

use super::rules::{SHORT_WORDS, ShingleRules};

/// The base of the polynomial hash of a run of words.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
/// The key of the hashes of words. It may change: the hashes are never stored in a file.
const KEYS: (u64, u64) = (0x636f_6e74_616d_696e, 0x6174_696f_6e5f_3031);

/// The hash and the byte range of each word of a text.
#[derive(Debug, Default)]
pub(super) struct TextWords {
    cutter: PlacedWords,
    pub(super) hashes: Vec<u64>,
    pub(super) places: Vec<Range<usize>>,
}

impl TextWords {
    /// Replaces the contents by the words of `text`.
    pub(super) fn take(&mut self, text: &str) {
        let TextWords { cutter, hashes, places } = self;
        hashes.clear();
        places.clear();
        cutter.each(text, |word, place| {
            let mut hasher = SipHasher13::new_with_keys(KEYS.0, KEYS.1);
            hasher.write(word.as_bytes());
            hashes.push(hasher.finish());
            places.push(place);
        });
    }
}

/// Calls `take` with the hash of each run of `len` words, in order; never if there are fewer words.
/// Equal runs have equal hashes; different runs collide with a probability of 2^-64.
pub(super) fn each_shingle(words: &[u64], len: usize, mut take: impl FnMut(u64)) {
    // A rolling polynomial in FACTOR: subtract the oldest word times its power of FACTOR, multiply
    // by FACTOR, add the next word.
    let Some(first) = words.get(..len) else { return };
    let push = |hash: u64, word: u64| hash.wrapping_mul(FACTOR).wrapping_add(word);
    let top = (1..len).fold(1_u64, |power, _| power.wrapping_mul(FACTOR));
    let mut hash = first.iter().fold(0, |hash, &word| push(hash, word));
    take(hash);
    for (&old, &new) in words.iter().zip(&words[len..]) {
        hash = push(hash.wrapping_sub(old.wrapping_mul(top)), new);
        take(hash);
    }
}

/// A benchmark item to search for.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) word_count: usize,
    /// The number of words of a shingle.
    pub(super) shingle: usize,
    /// The hashes of the distinct shingles of the item, ascending.
    pub(super) shingles: Vec<u64>,
    /// The least number of these shingles that a passage must contain.
    pub(super) least: usize,
}

impl Item {
    /// The item that consists of `words`; `None` if these are too few.
    pub(super) fn of(words: &[u64], rules: &ShingleRules) -> Option<Self> {
        let rule = rules.rule_for(words.len())?;
        let shingle = rule.shingle_of(words.len());
        let mut shingles = Vec::with_capacity(words.len());
        each_shingle(words, shingle, |hash| shingles.push(hash));
        shingles.sort_unstable();
        shingles.dedup();
        let (word_count, count) = (words.len(), shingles.len());
        let least = match word_count < SHORT_WORDS {
            true => rule.least_of_short(count),
            false => rule.least_of(count),
        };
        Some(Item { word_count, shingle, shingles, least })
    }

    /// Whether the item follows the rule for short items.
    pub(super) fn is_short(&self) -> bool {
        self.word_count < SHORT_WORDS
    }

    /// The maximum number of words of a passage that contains the item, from the first shingle to
    /// the last: one and a half times the item, to allow for added words.
    pub(super) fn span_max(&self) -> usize {
        self.word_count + self.word_count / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shingles_are_equal_where_their_words_are() {
        let mut seed = 3_u64;
        let words: Vec<u64> = (0..500)
            .map(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (seed >> 61).wrapping_mul(0x2545_f491_4f6c_dd1d)
            })
            .collect();
        for len in [1, 2, 3, 7, 499, 500] {
            let mut hashes = Vec::new();
            each_shingle(&words, len, |hash| hashes.push(hash));
            let runs: Vec<&[u64]> = words.windows(len).collect();
            assert_eq!(hashes.len(), runs.len());
            for (one, hash) in runs.iter().zip(&hashes) {
                for (other, other_hash) in runs.iter().zip(&hashes) {
                    assert_eq!(one == other, hash == other_hash);
                }
            }
        }
        each_shingle(&words, 501, |_| panic!("there are not as many words"));
    }
}
