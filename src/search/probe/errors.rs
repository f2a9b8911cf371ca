//! The errors named by a syndrome: all words with few set bits that have this syndrome.
//!
//! Words with one to three set bits, enough for nearly all queries, are in one list, sorted by
//! syndrome. For each number of set bits a bitmap marks the syndromes that have a word; most have
//! none. Lists of words with more set bits are made when a query first needs them.

use std::sync::OnceLock;

use crate::base::limits::ERRORS_MAX;
use crate::bytes::syndrome::{SYNDROME_BITS, SyndromeCode};
use crate::search::table_query::Flips;

/// Words with up to this many set bits share one list.
const SHARED_MAX: u32 = 3;

/// All words sorted by syndrome, for syndromes of one length.
#[derive(Debug)]
pub(super) struct ErrorTable {
    pub(super) code: &'static SyndromeCode,
    bits: u32,
    /// The list of words of up to [`SHARED_MAX`] set bits, then a list for each larger number.
    lists: [OnceLock<List>; (ERRORS_MAX - SHARED_MAX + 1) as usize],
}

/// Words sorted by syndrome, then by their number of set bits, then ascending.
#[derive(Debug)]
struct List {
    /// The start of the words of each syndrome; the last entry is the end of all words.
    starts: Vec<u32>,
    words: Vec<u32>,
    /// For each number of set bits, from `least` on, and each syndrome: whether the syndrome has a
    /// word with that many set bits.
    has: Vec<u64>,
    least: u32,
    bits: u32,
}

impl ErrorTable {
    /// The table for syndromes of `bits` bits. It is made once and kept until the process ends.
    pub(super) fn of(bits: u32) -> &'static ErrorTable {
        const COUNT: usize = (*SYNDROME_BITS.end() + 1) as usize;
        static TABLES: [OnceLock<ErrorTable>; COUNT] = [const { OnceLock::new() }; COUNT];
        let bits = bits.clamp(*SYNDROME_BITS.start(), *SYNDROME_BITS.end());
        TABLES[bits as usize].get_or_init(|| ErrorTable {
            code: SyndromeCode::of(bits),
            bits,
            lists: Default::default(),
        })
    }

    /// Calls `each(word, weight)` for every word with this syndrome and a weight (number of set
    /// bits) of `least` to `most`. `most` is at most [`ERRORS_MAX`].
    #[inline(always)]
    pub(super) fn for_each(
        &self,
        syndrome: u32,
        least: u32,
        most: u32,
        mut each: impl FnMut(u32, u32),
    ) {
        let mut at = least;
        while at <= most {
            let number = at.saturating_sub(SHARED_MAX);
            let end = if number == 0 { most.min(SHARED_MAX) } else { at };
            let list = self.list(number);
            if list.has(syndrome, at, end) {
                for &word in list.of(syndrome) {
                    let weight = word.count_ones();
                    if (at..=end).contains(&weight) {
                        each(word, weight);
                    }
                }
            }
            at = end + 1;
        }
    }

    #[inline(always)]
    fn list(&self, number: u32) -> &List {
        self.lists[number as usize].get_or_init(|| {
            let weights = if number == 0 { (0, SHARED_MAX) } else { (number + 3, number + 3) };
            List::new(self.code, self.bits, weights)
        })
    }
}

impl List {
    /// Makes the list of all words with `least` to `most` set bits.
    #[cold]
    fn new(code: &SyndromeCode, bits: u32, (least, most): (u32, u32)) -> Self {
        let count = 1_usize << bits;
        let words = || {
            let all = Flips::new(32, most).filter(|&(_, weight)| weight >= least);
            all.map(|(word, weight)| (word as u32, weight))
        };
        let mut starts = vec![0_u32; count + 1];
        let mut has = vec![0_u64; (count * (most - least + 1) as usize).div_ceil(64)];
        for (word, weight) in words() {
            let syndrome = code.syndrome(word) as usize;
            starts[syndrome + 1] += 1;
            let at = syndrome + count * (weight - least) as usize;
            has[at / 64] |= 1 << (at % 64);
        }
        for at in 0..count {
            starts[at + 1] += starts[at];
        }
        let mut next = starts.clone();
        let mut listed = vec![0; starts[count] as usize];
        for (word, _) in words() {
            let place = &mut next[code.syndrome(word) as usize];
            listed[*place as usize] = word;
            *place += 1;
        }
        List { starts, words: listed, has, least, bits }
    }

    /// Whether the syndrome has a word with `least` to `most` set bits.
    #[inline(always)]
    fn has(&self, syndrome: u32, least: u32, most: u32) -> bool {
        (least..=most).any(|weight| {
            let at = syndrome as usize + (((weight - self.least) as usize) << self.bits);
            self.has[at / 64] >> (at % 64) & 1 == 1
        })
    }

    #[inline(always)]
    fn of(&self, syndrome: u32) -> &[u32] {
        let at = syndrome as usize;
        &self.words[self.starts[at] as usize..self.starts[at + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_is_found_by_its_syndrome_once() {
        for bits in [6, 11, 12, 14, 21] {
            let table = ErrorTable::of(bits);
            for (least, most) in [(0, 0), (0, 3), (2, 3), (2, 2), (1, 4), (5, 5), (3, 5)] {
                let mut found = 0;
                for syndrome in 0..1 << bits {
                    table.for_each(syndrome, least, most, |word, weight| {
                        assert_eq!(table.code.syndrome(word), syndrome);
                        assert_eq!(word.count_ones(), weight);
                        found += 1;
                    });
                }
                let expected = Flips::new(32, most).filter(|&(_, weight)| weight >= least).count();
                assert_eq!(found, expected, "{bits} bits, {least} to {most}");
            }
        }
    }
}
