//! The values of the small segments of a snapshot, gathered in memory.
//!
//! A query pays for each segment that it asks, whatever the size of that is, and a store that grows
//! by small additions has several small ones. A searcher that asks the same state often gathers them
//! into one table for each of four blocks of 16 bits: of two values within k bits one block differs in
//! k / 4 bits at most (the pigeonhole of Norouzi, Punjani and Fleet, CVPR 2012).

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::base::error::Result;
use crate::base::section::{Rank, TableIndex};
use crate::bytes::permutation::Permuted;
use crate::search::snapshot::{OpenSegment, SegmentHit};
use fpstore_base::Fingerprint;

/// The most values of a segment that is gathered.
const SEGMENT_MAX: u64 = 1 << 17;
/// The most values that are gathered; each takes 56 bytes.
const VALUES_MAX: u64 = 1 << 18;
/// The largest distance that is answered: a block differs in up to 2 bits then, and is looked up under
/// 137 keys.
const K_MAX: u32 = 11;
/// The most values that a query like the stored ones may be compared with. Where values are crowded,
/// the segments choose other blocks.
const COMPARED_MAX: f64 = 1024.0;
/// A segment costs a query what gathering this many values costs.
const VALUES_PER_SEGMENT: u64 = 8;
/// No fewer queries are asked before.
const QUERIES_MIN: u64 = 256;
/// Values that are compared before the limits of a search are looked at again.
const STEP: u64 = 512;

const BLOCKS: u32 = 4;
const BLOCK_BITS: u32 = 64 / BLOCKS;
const KEYS: usize = 1 << BLOCK_BITS;

/// What is gathered of a snapshot, once that is worth it.
#[derive(Debug)]
pub(super) struct Gathering {
    /// The positions of the segments; empty if fewer than two are small.
    positions: Vec<usize>,
    /// How many queries make up for the work.
    query_count: u64,
    begun: AtomicBool,
    /// `None` if it is of no use, or a segment is damaged: the segments themselves are asked then.
    done: OnceLock<Option<Gathered>>,
}

impl Gathering {
    pub(super) fn of(segments: &[OpenSegment]) -> Self {
        let count = |at: usize| segments[at].segment.header().fingerprint_count;
        let mut positions: Vec<usize> =
            (0..segments.len()).filter(|&at| (1..=SEGMENT_MAX).contains(&count(at))).collect();
        positions.sort_by_key(|&at| count(at));
        let mut sum = 0;
        positions.retain(|&at| {
            sum += count(at);
            sum <= VALUES_MAX
        });
        positions.sort_unstable();
        if positions.len() < 2 {
            positions.clear();
        }
        let values: u64 = positions.iter().map(|&at| count(at)).sum();
        let spared = positions.len().saturating_sub(1).max(1) as u64;
        Gathering {
            positions,
            query_count: (values / (VALUES_PER_SEGMENT * spared)).max(QUERIES_MIN),
            begun: AtomicBool::new(false),
            done: OnceLock::new(),
        }
    }

    /// The table for a search within `k` bits by a searcher that has asked so often, if there is one.
    #[inline]
    pub(super) fn get(&self, segments: &[OpenSegment], k: u32, asked: u64) -> Option<&Gathered> {
        if k > K_MAX || asked < self.query_count || self.positions.is_empty() {
            return None;
        }
        self.made(segments)
    }

    fn made(&self, segments: &[OpenSegment]) -> Option<&Gathered> {
        if let Some(done) = self.done.get() {
            return done.as_ref();
        }
        // Other searchers do not wait for it.
        if self.begun.swap(true, Ordering::Relaxed) {
            return None;
        }
        let make = || Gathered::make(segments, &self.positions).ok().flatten();
        self.done.get_or_init(make).as_ref()
    }
}

/// The live values of some segments.
#[derive(Debug)]
pub(crate) struct Gathered {
    /// Whether the segment at each position is among them.
    is_in: Vec<bool>,
    /// Where each value is, by its number.
    places: Vec<(u32, u32)>,
    blocks: Vec<Block>,
}

/// All values by one of their blocks.
#[derive(Debug)]
struct Block {
    shift: u32,
    /// Where the values of each key begin.
    starts: Vec<u32>,
    values: Vec<u64>,
    numbers: Vec<u32>,
}

impl Gathered {
    fn make(segments: &[OpenSegment], positions: &[usize]) -> Result<Option<Self>> {
        let mut is_in = vec![false; segments.len()];
        let (mut values, mut places) = (Vec::new(), Vec::new());
        for &position in positions {
            let open = &segments[position];
            let Some(table) = open.segment.first_table() else { return Ok(None) };
            is_in[position] = true;
            let mut runs = table.values();
            while let Some((first, run)) = runs.next_run()? {
                for (rank, &value) in (first.0..).zip(run) {
                    if !open.is_deleted(Rank(rank)) {
                        values.push(table.permutation.invert(Permuted(value)).value());
                        places.push((position as u32, rank as u32));
                    }
                }
            }
        }
        let blocks: Vec<Block> =
            (0..BLOCKS).map(|at| Block::of(&values, at * BLOCK_BITS)).collect();
        let compared: f64 = blocks.iter().map(Block::expected_len).sum();
        Ok((compared <= COMPARED_MAX).then_some(Gathered { is_in, places, blocks }))
    }

    /// Whether it has the values of the segment at a position.
    #[inline]
    pub(crate) fn has(&self, position: usize) -> bool {
        self.is_in[position]
    }

    /// Adds the values within `k` bits to `found`, each once, in no order. Now and then, and at the
    /// end, `go_on` is told how many keys were looked up and how many values compared since; the
    /// search ends where it returns `false`.
    pub(crate) fn near(
        &self,
        needle: Fingerprint,
        k: u32,
        found: &mut Vec<SegmentHit>,
        mut go_on: impl FnMut(u64, u64) -> bool,
    ) {
        let needle = needle.value();
        let radius = k / BLOCKS;
        let (mut probed, mut compared) = (0, 0);
        for (at, block) in self.blocks.iter().enumerate() {
            for &flipped in flips(radius) {
                let bucket = block.bucket(needle >> block.shift ^ u64::from(flipped));
                probed += 1;
                compared += bucket.len() as u64;
                for place in bucket {
                    let differs = block.values[place] ^ needle;
                    // A value is found in the first of the blocks that it is near in.
                    if differs.count_ones() <= k
                        && !self.blocks[..at].iter().any(|it| it.differs_in(differs) <= radius)
                    {
                        found.push(self.hit(block, place, needle));
                    }
                }
                if compared >= STEP {
                    if !go_on(probed, compared) {
                        return;
                    }
                    (probed, compared) = (0, 0);
                }
            }
        }
        go_on(probed, compared);
    }

    fn hit(&self, block: &Block, place: usize, needle: u64) -> SegmentHit {
        let value = block.values[place];
        let (segment, rank) = self.places[block.numbers[place] as usize];
        SegmentHit {
            distance: (value ^ needle).count_ones(),
            fingerprint: Fingerprint::new(value),
            segment: segment as usize,
            table: TableIndex(0),
            rank: Rank(rank.into()),
        }
    }
}

impl Block {
    fn of(values: &[u64], shift: u32) -> Self {
        let mut starts = vec![0_u32; KEYS + 1];
        for value in values {
            starts[key(value >> shift) + 1] += 1;
        }
        for at in 0..KEYS {
            starts[at + 1] += starts[at];
        }
        let mut next = starts.clone();
        let (mut sorted, mut numbers) = (vec![0; values.len()], vec![0; values.len()]);
        for (number, &value) in (0..).zip(values) {
            let place = &mut next[key(value >> shift)];
            sorted[*place as usize] = value;
            numbers[*place as usize] = number;
            *place += 1;
        }
        Block { shift, starts, values: sorted, numbers }
    }

    /// The places of the values with a key.
    #[inline(always)]
    fn bucket(&self, shifted: u64) -> std::ops::Range<usize> {
        let at = key(shifted);
        self.starts[at] as usize..self.starts[at + 1] as usize
    }

    /// The bits of this block in which two values differ.
    #[inline(always)]
    fn differs_in(&self, differs: u64) -> u32 {
        (key(differs >> self.shift) as u32).count_ones()
    }

    /// The mean number of values with the key of a value.
    fn expected_len(&self) -> f64 {
        let squares = self.starts.windows(2).map(|pair| f64::from(pair[1] - pair[0]).powi(2));
        squares.sum::<f64>() / self.values.len().max(1) as f64
    }
}

#[inline(always)]
fn key(shifted: u64) -> usize {
    shifted as usize % KEYS
}

/// All blocks of at most 2 bits, by their number of bits.
const FLIPS: [u16; 137] = {
    let mut flips = [0; 137];
    let (mut len, mut one) = (1, 0);
    while one < BLOCK_BITS {
        flips[len] = 1 << one;
        (len, one) = (len + 1, one + 1);
    }
    let mut one = 0;
    while one < BLOCK_BITS {
        let mut other = one + 1;
        while other < BLOCK_BITS {
            flips[len] = 1 << one | 1 << other;
            (len, other) = (len + 1, other + 1);
        }
        one += 1;
    }
    flips
};

/// The blocks of at most `radius` bits, which is at most 2.
fn flips(radius: u32) -> &'static [u16] {
    match radius {
        0 => &FLIPS[..1],
        1 => &FLIPS[..17],
        _ => &FLIPS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_blocks_of_a_radius_are_all_of_them_and_each_once() {
        for radius in 0..=K_MAX / BLOCKS {
            let mut flips = flips(radius).to_vec();
            flips.sort_unstable();
            let all: Vec<u16> = (0..=u16::MAX).filter(|it| it.count_ones() <= radius).collect();
            assert_eq!(flips, all);
        }
    }
}
