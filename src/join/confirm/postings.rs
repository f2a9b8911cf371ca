//! An inverted index in memory: for each token, the sets that contain it and its position in each.
//!
//! Tokens are hashed to slots, and each slot has a linked list of postings, the last added first. A
//! posting with its share of slots and sets takes [`POSTING_LEN`] bytes.

use super::prefixes::{Outline, Prefixes, Token};
use crate::bytes::prefetch::prefetch;

/// Ends a list of postings.
const NONE: u32 = u32::MAX;

/// An entry of the index: a token of a set.
#[derive(Clone, Copy, Debug)]
struct Posting {
    check: u32,
    /// The position of the set among the indexed sets.
    set: u32,
    place: u32,
    /// The next posting in the list of the slot, which was added before this one.
    next: u32,
}

/// An indexed set.
#[derive(Clone, Copy, Debug)]
struct Indexed {
    number: u32,
    outline: Outline,
}

/// The inverted index. Sets are added in ascending order of their numbers.
pub(super) struct Postings {
    /// The last added posting of each slot. The number of slots is a power of two.
    slots: Vec<u32>,
    postings: Vec<Posting>,
    sets: Vec<Indexed>,
    /// The maximum number of postings.
    most: usize,
    /// A bit for each value of the first bits of `check`: set for the tokens indexed since
    /// [`Postings::begin_block`].
    fresh: Vec<u64>,
    /// The number of sets that were indexed before.
    before: u32,
}

/// The number of bits of `Postings::fresh`, as a power of two. They fit into the cache.
const FRESH_BITS: u32 = if cfg!(test) { 7 } else { 22 };

/// Bytes of memory for each posting: the posting itself, its slots (old and new ones while they are
/// doubled), and its share of an [`Indexed`].
const POSTING_LEN: u64 = 16 + 12 + 8;

impl Postings {
    pub(super) fn new(memory: u64) -> Self {
        let most = usize::try_from(memory / POSTING_LEN).unwrap_or(usize::MAX);
        let most = most.clamp(1, NONE as usize - 1);
        let fresh = vec![0; 1 << (FRESH_BITS - 6)];
        let (postings, sets) = (Vec::new(), Vec::new());
        Postings { slots: vec![NONE; 2], postings, sets, most, fresh, before: 0 }
    }

    /// Begins a block of sets, see [`Postings::meet_fresh`].
    pub(super) fn begin_block(&mut self) {
        self.fresh.fill(0);
        self.before = self.sets.len() as u32;
    }

    /// The position of the bit of a token in `fresh`: the word, and the bit in it.
    fn fresh_bit(check: u32) -> (usize, u64) {
        let at = check >> (32 - FRESH_BITS);
        ((at / 64) as usize, 1 << (at % 64))
    }

    /// Whether the postings of a set with these tokens fit into memory; always for the first set.
    pub(super) fn fits(&self, tokens: &[Token]) -> bool {
        self.sets.is_empty() || self.postings.len() + tokens.len() <= self.most
    }

    pub(super) fn push(&mut self, number: u32, (outline, tokens): (Outline, &[Token])) {
        let set = self.sets.len() as u32;
        self.sets.push(Indexed { number, outline });
        for &Token { check, place } in tokens {
            if self.postings.len() >= self.slots.len() {
                self.grow();
            }
            let slot = self.slot(check);
            let next = std::mem::replace(&mut self.slots[slot], self.postings.len() as u32);
            self.postings.push(Posting { check, set, place, next });
            let (word, bit) = Self::fresh_bit(check);
            self.fresh[word] |= bit;
        }
    }

    fn slot(&self, check: u32) -> usize {
        (check >> (32 - self.slots.len().ilog2().min(32))) as usize
    }

    /// Doubles the number of slots.
    fn grow(&mut self) {
        self.slots = vec![NONE; 2 * self.slots.len()];
        for at in 0..self.postings.len() {
            let slot = self.slot(self.postings[at].check);
            self.postings[at].next = std::mem::replace(&mut self.slots[slot], at as u32);
        }
    }

    /// Replaces `found` by the numbers of the indexed sets that may be similar to a set with this
    /// outline and these tokens, ascending. Returns the number of postings with one of these tokens.
    pub(super) fn meet(
        &self,
        known: (Outline, &[Token]),
        prefixes: Prefixes,
        found: &mut Vec<u32>,
    ) -> u64 {
        self.meet_since(0, known, prefixes, found)
    }

    /// Like [`Postings::meet`], but only with the sets indexed since [`Postings::begin_block`]. Few
    /// sets have a token in common with these, and for the others nothing is looked up.
    pub(super) fn meet_fresh(
        &self,
        (own, tokens): (Outline, &[Token]),
        prefixes: Prefixes,
        found: &mut Vec<u32>,
    ) -> u64 {
        found.clear();
        let is_fresh = |token: &Token| {
            let (word, bit) = Self::fresh_bit(token.check);
            self.fresh[word] & bit != 0
        };
        match tokens.iter().any(is_fresh) {
            true => self.meet_since(self.before, (own, tokens), prefixes, found),
            false => 0,
        }
    }

    fn meet_since(
        &self,
        since: u32,
        (own, tokens): (Outline, &[Token]),
        prefixes: Prefixes,
        found: &mut Vec<u32>,
    ) -> u64 {
        found.clear();
        let mut met = 0;
        // The index is larger than the cache, so all its lines are requested before they are read.
        for token in tokens {
            prefetch(&self.slots, self.slot(token.check));
        }
        for token in tokens {
            prefetch(&self.postings, self.slots[self.slot(token.check)] as usize);
        }
        for token in tokens {
            let mut at = self.slots[self.slot(token.check)];
            while at != NONE {
                let Posting { check, set, place, next } = self.postings[at as usize];
                // The first posting of a list is of the set that was added last, so all further
                // postings are of sets before `since`, too.
                if set < since {
                    break;
                }
                at = next;
                if check == token.check {
                    met += 1;
                    let Indexed { number, outline } = self.sets[set as usize];
                    if prefixes.admit((own, token.place), (outline, place)) {
                        found.push(number);
                    }
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        met
    }
}
