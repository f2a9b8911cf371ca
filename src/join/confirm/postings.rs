//! An inverted index in memory: for each token, the sets that contain it and its position in each.
//!
//! Tokens are hashed to slots. Each slot has two linked lists of postings, the last added first: one
//! of early tokens, which are in the indexed prefix of their set ([`Prefixes::indexed`]), and one of
//! late tokens. Two sets that meet at a token late in both are not similar, so a late token is
//! looked up in the first list only. Documents of one template that are not similar have many
//! features of their own, and share only late tokens: most of them never meet.

use std::marker::PhantomData;

use bytemuck::Pod;
use memmap2::MmapMut;

use super::prefixes::{Outline, Prefixes, Token};
use crate::base::error::{Error, Result};
use crate::bytes::prefetch::prefetch;

/// An entry of the index, a token of a set: the position of the set among the indexed sets; the next
/// posting in its list, which was added before this one, as its position plus 1, or 0; the position
/// of the token, at most [`PLACE_MAX`], plus [`LATE`] if the token is late, after the last bits of
/// `Token::check`.
type Posting = [u32; 3];

/// The bit of late tokens in the position of a token.
const LATE: u16 = 1 << 15;
/// Stands for all larger positions: a filter that uses it admits more sets.
const PLACE_MAX: u32 = LATE as u32 - 1;

/// An indexed set.
#[derive(Clone, Copy, Debug)]
struct Indexed {
    number: u32,
    /// The number of features.
    len: u32,
    /// The position of the first word of the outline in `Postings::bits`.
    start: u32,
}

/// The inverted index. Sets are added in ascending order of their numbers.
pub(super) struct Postings {
    prefixes: Prefixes,
    /// The last added posting of each list: its position plus 1, or 0. The two lists of a slot are
    /// neighbours.
    lists: HugePages<u32>,
    postings: HugePages<Posting>,
    posting_count: usize,
    sets: Vec<Indexed>,
    /// The outlines of the sets.
    bits: Vec<u64>,
    /// The maximum number of bytes of the postings, the sets and the outlines.
    memory: u64,
    /// A bit for each value of the first bits of `check`: set for the tokens indexed since
    /// [`Postings::begin_block`].
    fresh: Vec<u64>,
    /// The number of sets that were indexed before.
    before: u32,
}

/// The outline and the tokens of a set.
pub(super) type Known<'a> = (Outline<'a>, &'a [Token]);

/// The sets that [`Postings::meet`] found.
#[derive(Default)]
pub(super) struct Found {
    /// Their numbers, ascending.
    pub(super) sets: Vec<u32>,
    /// A bit for each indexed set, which is set while the set is being found.
    seen: Vec<u64>,
}

/// The number of bits of `Postings::fresh`, as a power of two. They fit into the cache.
const FRESH_BITS: u32 = if cfg!(test) { 7 } else { 22 };

/// The lists get the memory divided by this number.
const LISTS_DIVISOR: u64 = 4;

impl Postings {
    /// An index of sets with `feature_count` features in all, within `memory`.
    pub(super) fn new(memory: u64, prefixes: Prefixes, feature_count: usize) -> Result<Self> {
        let most = usize::try_from(memory / LISTS_DIVISOR / 4).unwrap_or(usize::MAX);
        // Usually fewer than an eighth of the features are indexed.
        let slots = most.min(feature_count / 8).max(2) / 2;
        let memory = memory.saturating_sub(8 * slots as u64);
        let most = usize::try_from(memory).unwrap_or(usize::MAX) / size_of::<Posting>();
        Ok(Postings {
            prefixes,
            lists: HugePages::new(2 * slots)?,
            postings: HugePages::new(most.min(feature_count))?,
            posting_count: 0,
            sets: Vec::new(),
            bits: Vec::new(),
            memory,
            fresh: vec![0; 1 << (FRESH_BITS - 6)],
            before: 0,
        })
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

    /// Whether the postings of a set fit into memory; always for the first set.
    pub(super) fn fits(&self, (outline, tokens): Known<'_>) -> bool {
        let (postings, sets) = (self.posting_count + tokens.len(), self.sets.len());
        let words = self.bits.len() + outline.bits.len();
        let len = size_of::<Posting>() * postings + size_of::<Indexed>() * (sets + 1) + 8 * words;
        let most = u32::MAX as usize;
        sets == 0 || len as u64 <= self.memory && postings < most && words < most
    }

    pub(super) fn push(&mut self, number: u32, (outline, tokens): Known<'_>) -> Result<()> {
        if self.posting_count + tokens.len() > self.postings.all().len() {
            // Only the first set can have more tokens than fit into memory.
            self.postings = HugePages::new(tokens.len())?;
        }
        let set = self.sets.len() as u32;
        let (len, start) = (outline.len as u32, self.bits.len() as u32);
        self.sets.push(Indexed { number, len, start });
        self.bits.extend_from_slice(outline.bits);
        let early = self.prefixes.indexed(outline.len);
        for &Token { check, place } in tokens {
            let is_late = place as usize >= early;
            let list = self.first_list(check) + usize::from(is_late);
            let place = place.min(PLACE_MAX) as u16 | if is_late { LATE } else { 0 };
            let last = &mut self.lists.all_mut()[list];
            let posting = [set, *last, u32::from(place) << 16 | check & 0xFFFF];
            self.postings.all_mut()[self.posting_count] = posting;
            self.posting_count += 1;
            *last = self.posting_count as u32;
            let (word, bit) = Self::fresh_bit(check);
            self.fresh[word] |= bit;
        }
        Ok(())
    }

    /// The position of the list of early tokens with these bits; the list of late ones follows.
    fn first_list(&self, check: u32) -> usize {
        let slots = self.lists.all().len() as u64 / 2;
        2 * ((u64::from(check) * slots) >> 32) as usize
    }

    /// Replaces `found` by the numbers of the indexed sets that may be similar to a set with this
    /// outline and these tokens, ascending. Returns the number of postings with one of these tokens.
    pub(super) fn meet(&self, known: Known<'_>, found: &mut Found) -> u64 {
        self.meet_since(0, known, found)
    }

    /// Like [`Postings::meet`], but only with the sets indexed since [`Postings::begin_block`]. Few
    /// sets have a token in common with these, and for the others nothing is looked up.
    pub(super) fn meet_fresh(&self, (own, tokens): Known<'_>, found: &mut Found) -> u64 {
        let is_fresh = |token: &Token| {
            let (word, bit) = Self::fresh_bit(token.check);
            self.fresh[word] & bit != 0
        };
        let tokens = if tokens.iter().any(is_fresh) { tokens } else { &[] };
        self.meet_since(self.before, (own, tokens), found)
    }

    fn meet_since(&self, since: u32, (own, tokens): Known<'_>, found: &mut Found) -> u64 {
        let Found { sets: found, seen } = found;
        let (first_of, postings) = (self.lists.all(), self.postings.all());
        found.clear();
        seen.resize(self.sets.len().div_ceil(64), 0);
        let mut met = 0;
        let own_len = own.len;
        let early = self.prefixes.indexed(own_len);
        let lists = |token: &Token| {
            let first = self.first_list(token.check);
            if (token.place as usize) < early { first..first + 2 } else { first..first + 1 }
        };
        // If all features of a set are indexed, only sets in which it is contained are wanted.
        let probed = self.prefixes.probed(own_len);
        let tokens = &tokens[..tokens.partition_point(|token| (token.place as usize) < probed)];
        let least_len = if self.prefixes.0.similarity > 0.0 { 0 } else { own_len };
        // The index is larger than the cache, so all its lists are requested before they are read.
        for token in tokens {
            prefetch(first_of, self.first_list(token.check));
        }
        for list in tokens.iter().flat_map(lists) {
            prefetch(postings, (first_of[list] as usize).saturating_sub(1));
        }
        for token in tokens {
            let is_own_early = (token.place as usize) < early;
            for list in lists(token) {
                let mut at = first_of[list];
                while let Some(last) = at.checked_sub(1) {
                    let [set, next, bits] = postings[last as usize];
                    let (check, place) = (bits as u16, (bits >> 16) as u16);
                    // The first posting of a list is of the set that was added last, so all
                    // further postings are of sets before `since`, too.
                    if set < since {
                        break;
                    }
                    at = next;
                    if check == token.check as u16 {
                        met += 1;
                        let len = self.sets[set as usize].len as usize;
                        // The token must be early in the smaller one of the two sets.
                        let is_early = if own_len <= len { is_own_early } else { place < LATE };
                        let indexed = (len, u32::from(place & !LATE));
                        if is_early
                            && len >= least_len
                            && self.prefixes.admit((own_len, token.place), indexed)
                        {
                            // Sets of one template meet at many tokens.
                            let (word, bit) = (&mut seen[set as usize / 64], 1 << (set % 64));
                            if *word & bit == 0 {
                                *word |= bit;
                                found.push(set);
                            }
                        }
                    }
                }
            }
        }
        found.retain_mut(|set| {
            seen[*set as usize / 64] = 0;
            let Indexed { number, len, start } = self.sets[*set as usize];
            let (len, bits) = (len as usize, &self.bits[start as usize..]);
            let bits = &bits[..Outline::word_count(len)];
            *set = number;
            own.may_share(Outline { len, bits }, self.prefixes.least_common(own_len, len))
        });
        found.sort_unstable();
        met
    }
}

/// Zeroed memory in huge pages, if the system provides them. The index is read at random: with small
/// pages, most of the time would be spent on finding the pages, above all in a virtual machine.
struct HugePages<T>(MmapMut, PhantomData<T>);

impl<T: Pod> HugePages<T> {
    /// Memory for `count` values. The system takes memory only for those that are written.
    fn new(count: usize) -> Result<Self> {
        let map = MmapMut::map_anon(size_of::<T>().saturating_mul(count.max(1)));
        let map = map.map_err(Error::io("take memory for", "an index of features"))?;
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        Ok(HugePages(map, PhantomData))
    }

    #[inline(always)]
    fn all(&self) -> &[T] {
        bytemuck::cast_slice(&self.0)
    }

    #[inline(always)]
    fn all_mut(&mut self) -> &mut [T] {
        bytemuck::cast_slice_mut(&mut self.0)
    }
}
