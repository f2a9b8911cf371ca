//! An index from shingles to items, to find the items that may be in a document.
//!
//! A passage that contains an item has at least `least` of the item's `count` distinct shingles. So
//! it has at least one of any `count - least + 1` of them. Only that many shingles of each item are
//! indexed: the rarest, those in the fewest items. Phrases shared by many items, such as "which of
//! the following", then select no item (the prefix filter of Bayardo, Ma and Srikant, "Scaling Up
//! All Pairs Similarity Search", WWW 2007).
//!
//! ```text
//! items            a: which of the two   b: which of the three    least = 2 of 2 shingles of 3 words
//! shingles         which of the: 2 items; of the two: 1; of the three: 1
//! looked up        of the two -> a; of the three -> b
//! ```

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::items::Item;

/// The size of the Bloom filter, in bits for each indexed shingle.
const BITS_EACH: usize = 16;

/// The indexed shingles of all items with the same shingle length.
#[derive(Debug)]
pub(super) struct Index {
    /// The number of words of a shingle.
    pub(super) shingle: usize,
    /// A Bloom filter with a single bit for each shingle, selected by the high bits of its hash. It
    /// rejects nearly all shingles of documents.
    filter: Vec<u64>,
    shift: u32,
    /// For each indexed shingle, the range of its items in `items`.
    ranges: HashMap<u64, (u32, u32), BuildHasherDefault<AsItIs>>,
    items: Vec<u32>,
}

/// A hasher that returns the number itself, which is already a hash.
#[derive(Clone, Copy, Debug, Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        // Not called: only numbers are hashed.
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

impl Index {
    /// An index for each shingle length of the items.
    pub(super) fn all(items: &[Item]) -> Vec<Self> {
        let mut lens: Vec<usize> = items.iter().map(|item| item.shingle).collect();
        lens.sort_unstable();
        lens.dedup();
        lens.into_iter().map(|shingle| Index::of(items, shingle)).collect()
    }

    fn of(items: &[Item], shingle: usize) -> Self {
        let own = || (0..).zip(items).filter(|(_, item)| item.shingle == shingle);
        let mut all: Vec<u64> = own().flat_map(|(_, item)| &item.shingles).copied().collect();
        all.sort_unstable();
        let item_count = |hash: u64| {
            let start = all.partition_point(|&other| other < hash);
            all[start..].partition_point(|&other| other == hash)
        };
        let mut entries: Vec<(u64, u32)> = Vec::new();
        for (number, item) in own() {
            let looked_up = item.shingles.len() - item.least + 1;
            let mut rarest: Vec<(usize, u64)> =
                item.shingles.iter().map(|&hash| (item_count(hash), hash)).collect();
            rarest.sort_unstable();
            entries.extend(rarest[..looked_up].iter().map(|&(_, hash)| (hash, number)));
        }
        drop(all);
        entries.sort_unstable();
        let bits = (entries.len().max(64) * BITS_EACH).next_power_of_two();
        let (mut filter, shift) = (vec![0_u64; bits / 64], 64 - bits.trailing_zeros());
        let mut ranges: HashMap<u64, (u32, u32), _> = HashMap::default();
        for (at, &(hash, _)) in (0..).zip(&entries) {
            let bit = (hash >> shift) as usize;
            filter[bit / 64] |= 1 << (bit % 64);
            ranges.entry(hash).or_insert((at, at)).1 = at + 1;
        }
        let items = entries.into_iter().map(|(_, item)| item).collect();
        Index { shingle, filter, shift, ranges, items }
    }

    /// The numbers of the items that are indexed under this shingle.
    #[inline]
    pub(super) fn items(&self, hash: u64) -> &[u32] {
        let bit = (hash >> self.shift) as usize;
        if self.filter[bit / 64] >> (bit % 64) & 1 == 0 {
            return &[];
        }
        let (start, end) = self.ranges.get(&hash).copied().unwrap_or_default();
        &self.items[start as usize..end as usize]
    }
}
