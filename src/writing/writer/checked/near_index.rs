//! An index of fingerprints in memory that finds the fingerprint nearest to a needle.
//!
//! Exact for every distance, by hashing blocks of bits (Norouzi, Punjani and Fleet, "Fast Search in
//! Hamming Space with Multi-Index Hashing", CVPR 2012). `pending` searches it for each checked
//! record.
//!
//! The 64 bits are dealt out to `b` blocks in turn. With `k = b * r + a`, where `a < b`, two values
//! within `k` bits differ in at most `r` bits of one of the first `a + 1` blocks, or in at most
//! `r - 1` bits of one of the others. Otherwise they would differ in at least
//! `(a + 1) * (r + 1) + (b - a - 1) * r = k + 1` bits. So one hash table per block, in which the
//! search looks up every value within the radius of the block, yields all candidates. With 8 bits
//! and 2 blocks of 4 bits, `k = 2` is `r = 1, a = 0`: block 0 has radius 1, and block 1 radius 0.
//!
//! As the number of values grows, blocks become fewer and wider, so that a lookup yields at most 16
//! random values. If the lookups cost more than a pass over all values, as for a large `k`, the
//! search makes that pass.

use crate::base::steps::step;
use crate::bytes::scramble::scramble;
use fpstore_base::Fingerprint;

/// Up to this number of values, no hash tables are built.
const SCANNED_MAX: usize = 128;
/// The cost of a lookup, as a number of values that a pass compares in the same time.
const LOOKUP_COST: u64 = 8;
/// The bounds of the number of blocks.
const BLOCKS_MIN: u32 = 2;
const BLOCKS_MAX: u32 = 8;

/// The fingerprints in insertion order, with a hash table for each block of bits.
#[derive(Debug, Default)]
pub(super) struct NearIndex {
    values: Vec<Fingerprint>,
    /// The hash tables; empty while there are at most [`SCANNED_MAX`] values.
    blocks: Vec<Block>,
    /// The number of values for which the blocks were chosen.
    capacity: usize,
}

/// A hash table from the bits of a block to the positions of the values with these bits.
#[derive(Debug)]
struct Block {
    mask: u64,
    /// For each bucket the position of its last value plus one; 0 if it is empty.
    heads: Vec<u32>,
    /// For each value the position of the preceding value in its bucket plus one; 0 ends the chain.
    links: Vec<u32>,
}

impl NearIndex {
    /// The maximum number of values of an index.
    pub(super) const COUNT_MAX: usize = u32::MAX as usize;

    /// Removes all values except the first `len`.
    pub(super) fn truncate(&mut self, len: usize) {
        while self.values.len() > len {
            step();
            let Some(value) = self.values.pop() else { return };
            for block in &mut self.blocks {
                block.pop(value.value());
            }
        }
    }

    /// Adds a value. The caller ensures that there are at most [`NearIndex::COUNT_MAX`] values.
    pub(super) fn push(&mut self, value: Fingerprint) {
        step();
        self.values.push(value);
        if self.values.len() > self.capacity.max(SCANNED_MAX) {
            self.choose_blocks(2 * self.values.len());
        } else {
            for block in &mut self.blocks {
                block.push(value.value());
            }
        }
    }

    /// Chooses the blocks for up to `capacity` values, and fills their hash tables again.
    pub(super) fn choose_blocks(&mut self, capacity: usize) {
        let bits = capacity.ilog2();
        // Blocks are so wide that at most 16 of `capacity` random values have the same bits in a
        // block.
        let count = (64 / (bits - 3)).clamp(BLOCKS_MIN, BLOCKS_MAX);
        self.capacity = capacity;
        self.blocks = (0..count).map(|at| Block::new(at, count, bits)).collect();
        for block in &mut self.blocks {
            self.values.iter().for_each(|value| {
                step();
                block.push(value.value());
            });
        }
    }

    /// The position and distance of the nearest value within `k` bits whose position `counts`
    /// accepts; of equally near values the first.
    pub(super) fn nearest(
        &self,
        needle: Fingerprint,
        k: u32,
        counts: impl Fn(usize) -> bool,
    ) -> Option<(usize, u32)> {
        let mut nearest: Option<(u32, usize)> = None;
        self.each_candidate(needle, k, |at| {
            let found = (self.values[at].distance(needle), at);
            let is_nearer = found.0 <= k && nearest.is_none_or(|nearest| found < nearest);
            if is_nearer && counts(at) {
                nearest = Some(found);
            }
        });
        nearest.map(|(distance, at)| (at, distance))
    }

    /// Calls `visit` with the positions of all values within `k` bits, and of some other values;
    /// possibly several times for a position.
    pub(super) fn each_candidate(&self, needle: Fingerprint, k: u32, mut visit: impl FnMut(usize)) {
        let len = self.values.len();
        let lookups: u64 = self.radii(k).map(|(block, radius)| block.lookups(radius)).sum();
        if self.blocks.is_empty() || lookups.saturating_mul(LOOKUP_COST) >= len as u64 {
            return (0..len).for_each(visit);
        }
        for (block, radius) in self.radii(k) {
            each_within(needle.value(), block.mask, radius, &mut |value| {
                block.each(value, &mut visit);
            });
        }
    }

    /// The blocks to search, and the radius of each.
    fn radii(&self, k: u32) -> impl Iterator<Item = (&Block, u32)> {
        let count = self.blocks.len().max(1) as u32;
        let (radius, rest) = (k / count, k % count);
        let radius_of =
            move |at: u32| if at <= rest { Some(radius) } else { radius.checked_sub(1) };
        (0..).zip(&self.blocks).filter_map(move |(at, block)| Some((block, radius_of(at)?)))
    }
}

impl Block {
    /// Block `at` of `count`, with `2^bits` buckets.
    fn new(at: u32, count: u32, bits: u32) -> Self {
        let mask = (at..64).step_by(count as usize).fold(0, |mask, bit| mask | 1 << bit);
        Block { mask, heads: vec![0; 1 << bits], links: Vec::new() }
    }

    fn bucket(&self, value: u64) -> usize {
        scramble(value & self.mask) as usize & (self.heads.len() - 1)
    }

    fn push(&mut self, value: u64) {
        let bucket = self.bucket(value);
        self.links.push(self.heads[bucket]);
        self.heads[bucket] = self.links.len() as u32;
    }

    /// Removes the value that was pushed last.
    fn pop(&mut self, value: u64) {
        let bucket = self.bucket(value);
        self.heads[bucket] = self.links.pop().unwrap_or_default();
    }

    /// Calls `visit` with the positions of all values that agree with `value` in this block, and
    /// possibly of others.
    fn each(&self, value: u64, visit: &mut impl FnMut(usize)) {
        let mut link = self.heads[self.bucket(value)];
        while let Some(at) = link.checked_sub(1) {
            visit(at as usize);
            link = self.links[at as usize];
        }
    }

    /// The number of bit patterns of this block within a radius, which a search looks up.
    fn lookups(&self, radius: u32) -> u64 {
        let width = u64::from(self.mask.count_ones());
        let mut combinations = 1;
        let mut sum = 1;
        for bits in 1..=u64::from(radius).min(width) {
            combinations = combinations * (width - bits + 1) / bits;
            sum += combinations;
        }
        sum
    }
}

/// Calls `visit` with `value` and all values that differ from it in 1 to `radius` bits of `mask`.
fn each_within(value: u64, mask: u64, radius: u32, visit: &mut impl FnMut(u64)) {
    visit(value);
    if radius == 0 {
        return;
    }
    let mut rest = mask;
    while rest != 0 {
        let bit = rest & rest.wrapping_neg();
        rest ^= bit;
        each_within(value ^ bit, rest, radius - 1, visit);
    }
}
