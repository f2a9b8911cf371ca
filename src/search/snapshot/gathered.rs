//! The values of a small segment, gathered in memory.
//!
//! A probe of a segment takes half a microsecond, whatever the size of that is, and a store that grows
//! by small additions has several small ones. A searcher that asks often gathers their values, each
//! segment by itself, so that the next state of the store has those of the segments that stay. They
//! are sorted by four blocks of 16 bits: of two values within k bits one block differs in k / 4 bits
//! at most (the pigeonhole of Norouzi, Punjani and Fleet, CVPR 2012).

use std::ops::Range;

use crate::base::error::Result;
use crate::base::section::{Rank, TableIndex};
use crate::bytes::permutation::Permuted;
use crate::search::probe::{Collector, TableHit};
use crate::segment::Segment;
use fpstore_base::Fingerprint;

/// The largest distance that is answered: a block differs in up to 2 bits then.
const K_MAX: u32 = 11;
/// The most values that a query like the stored ones may be compared with. Where values are crowded,
/// the segment chooses other blocks.
const COMPARED_MAX: f64 = 256.0;
/// Values that are compared before the limits of a search are looked at again.
const STEP: u64 = 512;

const BLOCKS: u32 = 4;
const BLOCK_BITS: u32 = 64 / BLOCKS;

/// All values of a segment.
#[derive(Debug)]
pub(crate) struct Gathered {
    blocks: [Block; BLOCKS as usize],
}

/// All values by the leading bits of one of their blocks, their key.
#[derive(Debug)]
struct Block {
    /// The bits below the key.
    shift: u32,
    key_bits: u32,
    /// Where the values of each key begin.
    starts: Vec<u32>,
    values: Vec<u64>,
    /// The rank of each in the first table.
    ranks: Vec<u32>,
}

impl Gathered {
    /// `None` if the values are crowded.
    pub(super) fn of(segment: &Segment) -> Result<Option<Self>> {
        let Some(table) = segment.first_table() else { return Ok(None) };
        let mut values = Vec::new();
        let mut runs = table.values();
        while let Some((_, run)) = runs.next_run()? {
            let value = |&permuted| table.permutation.invert(Permuted(permuted)).value();
            values.extend(run.iter().map(value));
        }
        let blocks = [0, 1, 2, 3].map(|at| Block::of(&values, at));
        let compared: f64 = blocks.iter().map(Block::expected_len).sum();
        Ok((compared <= COMPARED_MAX).then_some(Gathered { blocks }))
    }

    /// Whether a search within `k` bits can be answered.
    #[inline]
    pub(crate) fn answers(k: u32) -> bool {
        k <= K_MAX
    }

    /// Gives the values within `collector.k()` bits to the collector, each once, as query 0.
    pub(crate) fn search(&self, needle: Fingerprint, collector: &mut impl Collector) {
        let needle = needle.value();
        let radius = collector.k() / BLOCKS;
        if radius == 0 {
            // All are looked up before any is read, so that they do not wait for one another.
            let found = [0, 1, 2, 3].map(|at: usize| self.blocks[at].bucket(needle, 0));
            for (at, bucket) in found.into_iter().enumerate() {
                if !self.compare(at, bucket, needle, radius, collector) {
                    return;
                }
            }
            return;
        }
        for (at, block) in self.blocks.iter().enumerate() {
            for flipped in flips(block.key_bits, radius) {
                let bucket = block.bucket(needle, *flipped);
                if !self.compare(at, bucket, needle, radius, collector) {
                    return;
                }
            }
        }
    }

    /// Compares the values of a bucket of a block; returns whether the search goes on.
    #[inline(always)]
    fn compare(
        &self,
        at: usize,
        bucket: Range<usize>,
        needle: u64,
        radius: u32,
        collector: &mut impl Collector,
    ) -> bool {
        let (first, k) = (bucket.start, collector.k());
        let values = &self.blocks[at].values[bucket];
        let stats = collector.stats();
        stats.probes += 1;
        let before = stats.candidates;
        stats.candidates += values.len() as u64;
        let is_far = stats.candidates / STEP != before / STEP;
        for (place, value) in (first..).zip(values) {
            let differs = value ^ needle;
            if differs.count_ones() <= k {
                self.report(at, place, differs, radius, collector);
            }
        }
        !(is_far && collector.is_exhausted())
    }

    /// Gives a near value to the collector, if its block is the first in which it is near.
    #[cold]
    fn report(
        &self,
        at: usize,
        place: usize,
        differs: u64,
        radius: u32,
        collector: &mut impl Collector,
    ) {
        let is_near_in = |block: &Block| block.differs_in(differs) <= radius;
        let block = &self.blocks[at];
        if is_near_in(block) && !self.blocks[..at].iter().any(is_near_in) {
            collector.push(
                0,
                TableHit {
                    distance: differs.count_ones(),
                    fingerprint: Fingerprint::new(block.values[place]),
                    table: TableIndex(0),
                    rank: Rank(block.ranks[place].into()),
                },
            );
        }
    }
}

impl Block {
    fn of(values: &[u64], at: u32) -> Self {
        // One or two values for each key.
        let key_bits = (values.len().max(2) as u64).ilog2().min(BLOCK_BITS);
        let shift = (at + 1) * BLOCK_BITS - key_bits;
        let mut block =
            Block { shift, key_bits, starts: Vec::new(), values: Vec::new(), ranks: Vec::new() };
        let mut next = vec![0_u32; (1 << key_bits) + 1];
        for &value in values {
            next[block.key(value) + 1] += 1;
        }
        for key in 1..next.len() {
            next[key] += next[key - 1];
        }
        block.starts.clone_from(&next);
        (block.values, block.ranks) = (vec![0; values.len()], vec![0; values.len()]);
        for (rank, &value) in (0..).zip(values) {
            let place = &mut next[block.key(value)];
            block.values[*place as usize] = value;
            block.ranks[*place as usize] = rank;
            *place += 1;
        }
        block
    }

    #[inline(always)]
    fn key(&self, value: u64) -> usize {
        (value >> self.shift) as usize & ((1 << self.key_bits) - 1)
    }

    /// The places of the values whose key differs from that of a value in these bits.
    #[inline(always)]
    fn bucket(&self, value: u64, flipped: u16) -> Range<usize> {
        let key = self.key(value) ^ usize::from(flipped);
        self.starts[key] as usize..self.starts[key + 1] as usize
    }

    /// The bits of the whole block in which two values differ.
    #[inline(always)]
    fn differs_in(&self, differs: u64) -> u32 {
        let first = self.shift + self.key_bits - BLOCK_BITS;
        ((differs >> first) as u16).count_ones()
    }

    /// The mean number of values with the key of a value.
    fn expected_len(&self) -> f64 {
        let squares = self.starts.windows(2).map(|pair| f64::from(pair[1] - pair[0]).powi(2));
        squares.sum::<f64>() / self.values.len().max(1) as f64
    }
}

/// No bit, each bit, and each two bits of a block, the latter by the higher one.
const PATTERNS: [u16; 137] = {
    let mut flips = [0; 137];
    let (mut len, mut high) = (1, 0);
    while high < BLOCK_BITS {
        flips[len] = 1 << high;
        (len, high) = (len + 1, high + 1);
    }
    let mut high = 1;
    while high < BLOCK_BITS {
        let mut low = 0;
        while low < high {
            flips[len] = 1 << high | 1 << low;
            (len, low) = (len + 1, low + 1);
        }
        high += 1;
    }
    flips
};

/// The patterns of at most `radius` bits among the lowest `bits`. The radius is at most 2.
fn flips(bits: u32, radius: u32) -> impl Iterator<Item = &'static u16> {
    let bits = bits as usize;
    let (singles, pairs) = match radius {
        0 => (0, 0),
        1 => (bits, 0),
        _ => (bits, bits * (bits - 1) / 2),
    };
    let first_pair = 1 + BLOCK_BITS as usize;
    PATTERNS[..1 + singles].iter().chain(&PATTERNS[first_pair..first_pair + pairs])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_patterns_are_all_of_the_radius_and_each_once() {
        for (bits, radius) in (1..=BLOCK_BITS).flat_map(|bits| [(bits, 0), (bits, 1), (bits, 2)]) {
            let mut found: Vec<u16> = flips(bits, radius).copied().collect();
            found.sort_unstable();
            let all = 0..=u16::MAX >> (BLOCK_BITS - bits);
            assert!(found.into_iter().eq(all.filter(|it| it.count_ones() <= radius)));
        }
    }
}
