//! An inverted index in memory: for each token, the sets that contain it and its position in each.
//!
//! Tokens are hashed to slots, and each slot has a linked list of postings, the last added first. A
//! posting with its share of slots and sets takes [`POSTING_LEN`] bytes.

use super::prefixes::{Prefixes, Token};

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
pub(super) struct Indexed {
    pub(super) number: u32,
    len: u32,
}

/// The inverted index. Sets are added in ascending order of their numbers.
pub(super) struct Postings {
    /// The last added posting of each slot. The number of slots is a power of two.
    slots: Vec<u32>,
    postings: Vec<Posting>,
    sets: Vec<Indexed>,
    /// The maximum number of postings.
    most: usize,
}

/// Bytes of memory for each posting: the posting itself, its slots (old and new ones while they are
/// doubled), and its share of an [`Indexed`].
const POSTING_LEN: u64 = 16 + 12 + 4;

impl Postings {
    pub(super) fn new(memory: u64) -> Self {
        let most = usize::try_from(memory / POSTING_LEN).unwrap_or(usize::MAX);
        let most = most.clamp(1, NONE as usize - 1);
        Postings { slots: vec![NONE; 2], postings: Vec::new(), sets: Vec::new(), most }
    }

    /// Whether the postings of a set with these tokens fit into memory; always for the first set.
    pub(super) fn fits(&self, tokens: &[Token]) -> bool {
        self.sets.is_empty() || self.postings.len() + tokens.len() <= self.most
    }

    /// The number of indexed sets.
    pub(super) fn len(&self) -> u32 {
        self.sets.len() as u32
    }

    pub(super) fn push(&mut self, number: u32, len: usize, tokens: &[Token]) {
        let set = self.len();
        self.sets.push(Indexed { number, len: len as u32 });
        for &Token { check, place } in tokens {
            if self.postings.len() >= self.slots.len() {
                self.grow();
            }
            let slot = self.slot(check);
            let next = std::mem::replace(&mut self.slots[slot], self.postings.len() as u32);
            self.postings.push(Posting { check, set, place, next });
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

    /// Replaces `found` by the numbers of the indexed sets, from position `since` on, that may be
    /// similar to a set of `len` features with these tokens, ascending. Returns the number of
    /// postings with one of these tokens.
    pub(super) fn meet(
        &self,
        since: u32,
        (len, tokens): (usize, &[Token]),
        prefixes: Prefixes,
        found: &mut Vec<u32>,
    ) -> u64 {
        found.clear();
        let mut met = 0;
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
                    let Indexed { number, len: other } = self.sets[set as usize];
                    if prefixes.admit((len, token.place), (other as usize, place)) {
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
