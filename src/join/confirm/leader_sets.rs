//! The features of leaders in memory, and the similarity of a document and a leader.
//!
//! Most leaders that are not similar to a document are rejected without their features: by the
//! number of features, and by a bitmap whose bits hold the parity of the number of features hashed
//! to them. Two sets differ in at least as many features as their bitmaps differ in bits, so no
//! similar pair is lost (Sandes, Teodoro and Melo, "Bitmap Filter: Speeding up Exact Set Similarity
//! Joins with Bitwise Operations", Information Systems 88, 2020).

use bytemuck::Pod;

use super::features::{FeatureFile, FeatureKind};
use super::likeness::Likeness;
use super::similarity::{
    common_at_least, jaccard_of, least_common, least_contained, sketch_similarity,
};
use crate::base::error::Result;
use crate::bytes::scramble::scramble;

/// The length of the longest bitmap in words.
const WORDS_MAX: usize = 1 << 8;
/// Marks a document that has not been loaded.
const NONE: u32 = u32::MAX;

/// The compared content of a document: the features of a set, or the bytes of a sketch.
#[derive(Debug, Default)]
struct Known<T> {
    /// `None` for a leader whose content does not fit into memory.
    content: Option<Vec<T>>,
    len: usize,
    bitmap: Vec<u64>,
}

/// A document by its position in the group, and its node.
type Document = (u32, u32);

/// The contents of the leaders of a group, and of the document compared last.
#[derive(Debug)]
pub(super) struct Cache<'a, T> {
    file: &'a FeatureFile,
    make_bitmap: fn(&[T], &mut Vec<u64>),
    /// The positions of leaders in `known`, by their positions in the group.
    places: Vec<u32>,
    known: Vec<Known<T>>,
    /// Bytes left for contents.
    free: usize,
    current: u32,
    own: Known<T>,
    /// The content of a leader that does not fit into memory.
    other: Vec<T>,
}

impl<'a, T: Pod + Default> Cache<'a, T> {
    fn new(
        file: &'a FeatureFile,
        count: usize,
        memory: u64,
        make_bitmap: fn(&[T], &mut Vec<u64>),
    ) -> Self {
        Cache {
            file,
            make_bitmap,
            places: vec![NONE; count],
            known: Vec::new(),
            free: usize::try_from(memory).unwrap_or(usize::MAX),
            current: NONE,
            own: Known::default(),
            other: Vec::new(),
        }
    }

    /// Loads a document and a leader, unless they are loaded already; returns the position of the
    /// leader in `known`.
    fn load(&mut self, one: Document, leader: Document) -> Result<usize> {
        if self.current != one.0 {
            let mut content = self.own.content.take().unwrap_or_default();
            self.file.read(one.1, &mut content)?;
            self.own.len = content.len();
            (self.make_bitmap)(&content, &mut self.own.bitmap);
            self.own.content = Some(content);
            self.current = one.0;
        }
        let place = self.places[leader.0 as usize];
        if place != NONE {
            return Ok(place as usize);
        }
        let mut content = Vec::new();
        self.file.read(leader.1, &mut content)?;
        let mut known = Known { len: content.len(), ..Known::default() };
        (self.make_bitmap)(&content, &mut known.bitmap);
        let fixed = size_of::<Known<T>>() + size_of_val(known.bitmap.as_slice());
        self.free = self.free.saturating_sub(fixed);
        if let Some(free) = self.free.checked_sub(size_of_val(content.as_slice())) {
            self.free = free;
            known.content = Some(content);
        }
        self.places[leader.0 as usize] = self.known.len() as u32;
        self.known.push(known);
        Ok(self.known.len() - 1)
    }

    /// The contents of the document and the leader loaded last.
    fn contents(&mut self, known: usize, leader: Document) -> Result<(&[T], &[T])> {
        let other = match &self.known[known].content {
            Some(content) => content,
            None => {
                self.file.read(leader.1, &mut self.other)?;
                &self.other
            }
        };
        Ok((self.own.content.as_deref().unwrap_or_default(), other))
    }
}

/// The documents of one group, some of which are leaders. Each thread has its own.
#[derive(Debug)]
pub(super) enum LeaderSets<'a> {
    Sets(Cache<'a, u64>, Likeness),
    Sketches(Cache<'a, u8>, f64),
}

impl<'a> LeaderSets<'a> {
    /// For a group of `count` documents; the contents of leaders may take `memory` bytes.
    pub(super) fn new(
        file: &'a FeatureFile,
        count: usize,
        memory: u64,
        likeness: Likeness,
    ) -> Self {
        match file.kind() {
            FeatureKind::Sets => {
                LeaderSets::Sets(Cache::new(file, count, memory, make_bitmap), likeness)
            }
            FeatureKind::Sketches => {
                let cache = Cache::new(file, count, memory, |_, _| {});
                LeaderSets::Sketches(cache, likeness.similarity)
            }
        }
    }

    /// The similarity of a document and a leader, if it is large enough.
    pub(super) fn alike(&mut self, one: Document, leader: Document) -> Result<Option<f64>> {
        match self {
            LeaderSets::Sets(cache, likeness) => {
                let known = cache.load(one, leader)?;
                let (own, other) = (&cache.own, &cache.known[known]);
                let (a, b) = (own.len, other.len);
                let mut least = least_common(a, b, likeness.similarity);
                if let Some(part) = likeness.contained {
                    if b < a {
                        return Ok(None);
                    }
                    least = least.max(least_contained(a, part));
                }
                if least > a.min(b) {
                    return Ok(None);
                }
                let differ = differing_bits(&own.bitmap, &other.bitmap);
                if (a + b).saturating_sub(differ) / 2 < least {
                    return Ok(None);
                }
                let (own, other) = cache.contents(known, leader)?;
                Ok(common_at_least(own, other, least).map(|common| jaccard_of(common, a, b)))
            }
            LeaderSets::Sketches(cache, threshold) => {
                let known = cache.load(one, leader)?;
                let (own, other) = cache.contents(known, leader)?;
                let similarity = sketch_similarity(own, other);
                Ok((similarity >= *threshold).then_some(similarity))
            }
        }
    }
}

/// Makes a bitmap with about two bits for each feature.
fn make_bitmap(features: &[u64], bits: &mut Vec<u64>) {
    let words = (2 * features.len()).div_ceil(64).next_power_of_two().min(WORDS_MAX);
    bits.clear();
    bits.resize(words, 0);
    for &feature in features {
        let mixed = scramble(feature);
        // Words of a long bitmap with the same trailing index bits map to one word of a short
        // bitmap.
        bits[(mixed >> 32) as usize & (words - 1)] ^= 1 << (mixed & 63);
    }
}

/// The number of bits in which two bitmaps differ: at most the number of features in exactly one of
/// the sets.
fn differing_bits(one: &[u64], other: &[u64]) -> usize {
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    if short.len() == long.len() {
        return short.iter().zip(long).map(|(a, b)| (a ^ b).count_ones() as usize).sum();
    }
    // Adds the words of the long bitmap that map to one word of the short bitmap.
    let word = |at: usize| {
        (at..long.len()).step_by(short.len()).fold(short[at], |word, at| word ^ long[at])
    };
    (0..short.len()).map(|at| word(at).count_ones() as usize).sum()
}

#[cfg(test)]
mod tests {
    use proptest::collection::btree_set;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bitmaps_differ_in_no_more_bits_than_sets_in_features(
            one in btree_set(0_u64..2000, 0..300), other in btree_set(0_u64..2000, 0..3000)
        ) {
            let bitmap = |set: &std::collections::BTreeSet<u64>| {
                let mut bits = Vec::new();
                make_bitmap(&set.iter().copied().collect::<Vec<u64>>(), &mut bits);
                bits
            };
            let differ = one.symmetric_difference(&other).count();
            prop_assert!(differing_bits(&bitmap(&one), &bitmap(&other)) <= differ);
        }
    }
}
