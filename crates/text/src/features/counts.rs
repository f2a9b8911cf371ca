//! Counts of the feature hashes of a document, and the set of its distinct hashes.
//!
//! Both keep their memory from document to document, except the memory of a huge document.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// The maximum number of counts whose memory is kept for the next document.
const COUNTS_KEPT_MAX: usize = 1 << 19;

/// The number of occurrences of each hash.
#[derive(Clone, Debug, Default)]
pub(crate) struct FeatureCounts(HashMap<u64, u32, BuildHasherDefault<Spread>>);

impl FeatureCounts {
    /// Counts one more occurrence.
    #[inline]
    pub(super) fn add(&mut self, hash: u64) {
        let count = self.0.entry(hash).or_default();
        *count = count.saturating_add(1);
    }

    /// The distinct hashes with their counts, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter().map(|(&hash, &count)| (hash, u64::from(count)))
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
        if self.0.capacity() > COUNTS_KEPT_MAX {
            *self = FeatureCounts::default();
        }
    }
}

/// The hasher of the map. Its keys are hashes already, so it only spreads them over the bits that
/// the map uses. If the feature hash has no key, a hostile text can choose the keys of the map.
#[derive(Clone, Copy, Debug, Default)]
struct Spread(u64);

impl Hasher for Spread {
    #[inline]
    fn write_u64(&mut self, hash: u64) {
        let product = spread(hash);
        self.0 = product ^ product >> 32;
    }

    fn write(&mut self, _bytes: &[u8]) {
        unreachable!("keys are whole numbers of 64 bits");
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

/// Multiplies by 2^64 over the golden ratio, which spreads a hash over the high bits.
#[inline]
fn spread(hash: u64) -> u64 {
    hash.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// A set of hashes that is cleared for each document.
///
/// Open addressing with linear probing; at least three quarters of the slots are free, so a slot
/// rarely contains another hash. The set of the standard library, with the same hasher, would make
/// fingerprints by the default recipe about 6 % slower: it has an unpredictable branch between new
/// and known hashes.
#[derive(Clone, Debug)]
pub(crate) struct SeenHashes {
    /// 0 is a free slot.
    slots: Vec<u64>,
    shift: u32,
    used_count: usize,
    /// Whether the hash 0 was added; it has no slot.
    zero: bool,
}

const SLOT_COUNT_MIN: usize = 256;

impl Default for SeenHashes {
    fn default() -> Self {
        let slots = vec![0; SLOT_COUNT_MIN];
        SeenHashes { slots, shift: 64 - SLOT_COUNT_MIN.ilog2(), used_count: 0, zero: false }
    }
}

impl SeenHashes {
    /// Adds `hashes`. Moves the new ones to the front, and returns their number.
    ///
    /// New and known hashes take the same path, because a branch between them is unpredictable.
    #[inline]
    pub(crate) fn keep_new(&mut self, hashes: &mut [u64]) -> usize {
        let mut new_count = 0;
        let mut start = 0;
        while start < hashes.len() {
            // With at most this many more hashes, three quarters of the slots stay free.
            let room = self.slots.len() / 4 - self.used_count;
            let end = hashes.len().min(start + room);
            let new_before = new_count;
            let mask = self.slots.len() - 1;
            let (slots, shift) = (self.slots.as_mut_slice(), self.shift);
            for number in start..end {
                let hash = hashes[number];
                hashes[new_count] = hash;
                if hash == 0 {
                    new_count += usize::from(!std::mem::replace(&mut self.zero, true));
                    continue;
                }
                let mut place = place(hash, shift);
                loop {
                    // The mask keeps the index in bounds, so the compiler omits the check.
                    let slot = &mut slots[place & mask];
                    let is_new = *slot == 0;
                    if is_new | (*slot == hash) {
                        *slot = hash;
                        new_count += usize::from(is_new);
                        break;
                    }
                    place += 1;
                }
            }
            self.used_count += new_count - new_before;
            start = end;
            if start < hashes.len() && self.used_count * 4 >= self.slots.len() {
                self.grow();
            }
        }
        new_count
    }

    #[cold]
    fn grow(&mut self) {
        let len = self.slots.len() * 2;
        let old = std::mem::replace(&mut self.slots, vec![0; len]);
        self.shift -= 1;
        for hash in old.into_iter().filter(|&hash| hash != 0) {
            let mut place = place(hash, self.shift);
            while self.slots[place & (len - 1)] != 0 {
                place += 1;
            }
            self.slots[place & (len - 1)] = hash;
        }
    }

    /// Clears all hashes. The next document gets up to four times the slots that this document
    /// needed: clearing slots costs little compared with filling them, and the documents of a
    /// collection are similar in size.
    pub(crate) fn clear(&mut self) {
        let len = (self.used_count * 16).next_power_of_two().max(SLOT_COUNT_MIN);
        self.slots.truncate(len);
        self.slots.fill(0);
        self.slots.shrink_to(len);
        self.shift = 64 - self.slots.len().ilog2();
        self.used_count = 0;
        self.zero = false;
    }
}

#[inline]
fn place(hash: u64, shift: u32) -> usize {
    (spread(hash) >> shift) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_survive_growth_and_are_forgotten() {
        let mut counts = FeatureCounts::default();
        for round in 1..=3_u64 {
            for hash in 0..5000_u64 {
                for _ in 0..1 + hash % round {
                    counts.add(hash << 40);
                }
            }
            let mut found: Vec<(u64, u64)> = counts.iter().collect();
            found.sort_unstable();
            assert_eq!(found.len(), 5000);
            for (number, (hash, count)) in (0_u64..).zip(found) {
                assert_eq!((hash, count), (number << 40, 1 + number % round));
            }
            counts.clear();
            assert_eq!(counts.iter().count(), 0);
        }
    }

    #[test]
    fn the_memory_of_a_huge_document_is_freed() {
        let mut counts = FeatureCounts::default();
        (0..=COUNTS_KEPT_MAX as u64).for_each(|hash| counts.add(hash));
        counts.clear();
        assert_eq!(counts.0.capacity(), 0);
    }

    #[test]
    fn each_hash_is_new_once() {
        let mut seen = SeenHashes::default();
        let mut state = 1_u64;
        for round in 0..200_u64 {
            let mut known = std::collections::HashSet::new();
            for _ in 0..round % 7 {
                let mut hashes: Vec<u64> = (0..round * round % 3000)
                    .map(|_| {
                        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        // Many repetitions, also of the hash 0, in the same region of the table.
                        ((state >> 33) % 700) << (round % 2 * 50)
                    })
                    .collect();
                let new: Vec<u64> =
                    hashes.iter().copied().filter(|&hash| known.insert(hash)).collect();
                let new_count = seen.keep_new(&mut hashes);
                assert_eq!(hashes[..new_count], new);
            }
            seen.clear();
        }
        // The memory of a large document is freed.
        seen.clear();
        assert_eq!(seen.slots.capacity(), SLOT_COUNT_MIN);
    }
}
