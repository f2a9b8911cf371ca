//! Remembers a bitmap of each set that was compared, to reject further comparisons with it.
//!
//! Each feature flips one bit of a bitmap, so sets whose bitmaps differ in `n` bits have at least `n`
//! features that are not common. Documents of one template that are not similar enough meet again
//! and again; this bound rejects most of these pairs without reading and comparing their features.
//!
//! # Source
//!
//! Sandes, Teodoro and Melo, "Bitmap Filter: Speeding up Exact Set Similarity Joins with Bitwise
//! Operations", Information Systems 88, 2020.

use crate::bytes::scramble::scramble;

/// The number of words of a bitmap: enough for sets of about 1 000 features.
const WORD_COUNT: usize = 32;
/// The number of remembered sets: 8 MiB for each thread.
const PLACE_COUNT: usize = if cfg!(test) { 16 } else { 1 << 15 };

type Bitmap = [u64; WORD_COUNT];

/// Bitmaps of sets by their numbers. Of the sets with one number modulo [`PLACE_COUNT`], the last one
/// is remembered.
#[derive(Default)]
pub(super) struct Bitmaps {
    /// Each bitmap with the number of its set plus 1; empty before the first set.
    places: Vec<(u32, Bitmap)>,
}

impl Bitmaps {
    pub(super) fn bitmap_of(features: &[u64]) -> Bitmap {
        let mut bitmap = [0; WORD_COUNT];
        for &feature in features {
            let hash = scramble(feature) as usize;
            bitmap[hash / 64 % WORD_COUNT] ^= 1 << (hash % 64);
        }
        bitmap
    }

    /// A lower bound for the number of features that are not common to the set `set` and a set with
    /// this bitmap; 0 if `set` is not remembered.
    pub(super) fn differing(&self, set: u32, own: &Bitmap) -> usize {
        match self.places.get(set as usize % PLACE_COUNT) {
            Some((number, bitmap)) if *number == set + 1 => {
                own.iter().zip(bitmap).map(|(a, b)| (a ^ b).count_ones() as usize).sum()
            }
            _ => 0,
        }
    }

    /// Remembers the bitmap of a set with these features.
    pub(super) fn remember(&mut self, set: u32, features: &[u64]) {
        if self.places.is_empty() {
            self.places.resize(PLACE_COUNT, (0, [0; WORD_COUNT]));
        }
        self.places[set as usize % PLACE_COUNT] = (set + 1, Self::bitmap_of(features));
    }
}
