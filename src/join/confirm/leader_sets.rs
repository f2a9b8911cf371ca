//! The features of leaders in memory, and how alike a document is to one.
//!
//! Most leaders that a document is not alike to are told without their features: by how many they
//! are, and by a bitmap that has for each bit the parity of the number of features that fall on it.
//! Two sets differ in at least as many features as their bitmaps differ in bits, so this loses no
//! pair (Sandes, Teodoro and Melo, "Bitmap Filter: Speeding up Exact Set Similarity Joins with
//! Bitwise Operations", Information Systems 88, 2020).

use super::features::{FeatureFile, FeatureKind};
use super::similarity::{common_at_least, jaccard_of, least_common, sketch_similarity};
use crate::base::error::Result;
use crate::bytes::scramble::scramble;

/// The longest bitmap in words.
const WORDS_MAX: usize = 1 << 8;
/// Says that nothing is known of a document yet.
const NONE: u32 = u32::MAX;

/// What is known of a leader.
#[derive(Debug, Default)]
struct Known {
    /// Its features, unless there is no memory left for them.
    features: Option<Vec<u64>>,
    sketch: Option<Vec<u8>>,
    bitmap: Vec<u64>,
    len: usize,
}

/// The documents of one group, of which some are leaders. Each thread has its own.
#[derive(Debug)]
pub(super) struct LeaderSets<'a> {
    file: &'a FeatureFile,
    threshold: f64,
    /// The positions of leaders in `known`, by their places in the group.
    places: Vec<u32>,
    known: Vec<Known>,
    /// Bytes that features may still take.
    free: usize,
    /// The document that was asked for last, and what is known of it.
    current: u32,
    own: Known,
    other: Vec<u64>,
    other_sketch: Vec<u8>,
}

impl<'a> LeaderSets<'a> {
    /// For a group of `count` documents, with `memory` bytes for features.
    pub(super) fn new(file: &'a FeatureFile, count: usize, memory: u64, threshold: f64) -> Self {
        LeaderSets {
            file,
            threshold,
            places: vec![NONE; count],
            known: Vec::new(),
            free: usize::try_from(memory).unwrap_or(usize::MAX),
            current: NONE,
            own: Known::default(),
            other: Vec::new(),
            other_sketch: Vec::new(),
        }
    }

    /// The similarity of a document and a leader, if it is large enough. Each is given by its place in
    /// the group, and its node.
    pub(super) fn alike(&mut self, one: (u32, u32), leader: (u32, u32)) -> Result<Option<f64>> {
        match self.file.kind() {
            FeatureKind::Sets => self.alike_sets(one, leader),
            FeatureKind::Sketches => self.alike_sketches(one, leader),
        }
    }

    fn alike_sets(&mut self, one: (u32, u32), leader: (u32, u32)) -> Result<Option<f64>> {
        if self.current != one.0 {
            let mut features = self.own.features.take().unwrap_or_default();
            self.file.read(one.1, &mut features)?;
            self.own.len = features.len();
            make_bitmap(&features, &mut self.own.bitmap);
            self.own.features = Some(features);
            self.current = one.0;
        }
        if self.places[leader.0 as usize] == NONE {
            let mut features = Vec::new();
            self.file.read(leader.1, &mut features)?;
            let mut known = Known { len: features.len(), ..Known::default() };
            make_bitmap(&features, &mut known.bitmap);
            let fixed = size_of::<Known>() + size_of_val(known.bitmap.as_slice());
            self.free = self.free.saturating_sub(fixed);
            if let Some(free) = self.free.checked_sub(size_of_val(features.as_slice())) {
                self.free = free;
                known.features = Some(features);
            }
            self.places[leader.0 as usize] = self.known.len() as u32;
            self.known.push(known);
        }
        let known = &self.known[self.places[leader.0 as usize] as usize];
        let (a, b) = (self.own.len, known.len);
        let least = least_common(a, b, self.threshold);
        if least > a.min(b) {
            return Ok(None);
        }
        let differ = differing_bits(&self.own.bitmap, &known.bitmap);
        if (a + b).saturating_sub(differ) / 2 < least {
            return Ok(None);
        }
        let others = match &known.features {
            Some(features) => features,
            None => {
                self.file.read(leader.1, &mut self.other)?;
                &self.other
            }
        };
        let own = self.own.features.as_deref().unwrap_or_default();
        Ok(common_at_least(own, others, least).map(|common| jaccard_of(common, a, b)))
    }

    fn alike_sketches(&mut self, one: (u32, u32), leader: (u32, u32)) -> Result<Option<f64>> {
        if self.current != one.0 {
            let mut sketch = self.own.sketch.take().unwrap_or_default();
            self.file.read(one.1, &mut sketch)?;
            self.own.sketch = Some(sketch);
            self.current = one.0;
        }
        if self.places[leader.0 as usize] == NONE {
            let mut sketch = Vec::new();
            self.file.read(leader.1, &mut sketch)?;
            let bytes = size_of::<Known>() + sketch.len();
            let mut known = Known::default();
            if let Some(free) = self.free.checked_sub(bytes) {
                self.free = free;
                known.sketch = Some(sketch);
            }
            self.places[leader.0 as usize] = self.known.len() as u32;
            self.known.push(known);
        }
        let known = &self.known[self.places[leader.0 as usize] as usize];
        let other = match &known.sketch {
            Some(sketch) => sketch,
            None => {
                self.file.read(leader.1, &mut self.other_sketch)?;
                &self.other_sketch
            }
        };
        let similarity = sketch_similarity(self.own.sketch.as_deref().unwrap_or_default(), other);
        Ok((similarity >= self.threshold).then_some(similarity))
    }
}

/// Makes the bitmap of some features, of about two bits for each.
fn make_bitmap(features: &[u64], bits: &mut Vec<u64>) {
    let words = (2 * features.len()).div_ceil(64).next_power_of_two().min(WORDS_MAX);
    bits.clear();
    bits.resize(words, 0);
    for &feature in features {
        let mixed = scramble(feature);
        // The words of a long bitmap that end with the same bits fall on one word of a short one.
        bits[(mixed >> 32) as usize & (words - 1)] ^= 1 << (mixed & 63);
    }
}

/// The bits in which two bitmaps differ: at most the number of features of one set alone.
fn differing_bits(one: &[u64], other: &[u64]) -> usize {
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    if short.len() == long.len() {
        return short.iter().zip(long).map(|(a, b)| (a ^ b).count_ones() as usize).sum();
    }
    // The words of a long bitmap that fall on one of the short bitmap are added to it.
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
