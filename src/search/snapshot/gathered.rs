//! The values of small segments, gathered in memory.
//!
//! A probe of a segment takes half a microsecond, whatever its size, and a store that grows by
//! small additions has several small segments. A searcher with many queries gathers their values in
//! one table. The next snapshot reuses the table and skips values of removed segments. The values
//! are grouped four times, each time by another block of 16 bits: two values within k bits differ
//! in at most k / 4 bits of some block (the pigeonhole of Norouzi, Punjani and Fleet, CVPR 2012).

use std::ops::Range;
use std::sync::{Arc, Weak};

use super::open_segment::OpenSegment;
use crate::base::error::Result;
use crate::base::section::{Rank, TableIndex};
use crate::bytes::permutation::Permuted;
use crate::bytes::prefetch::prefetch;
use crate::search::kernel::{Kernel, Task, Vector};
use crate::search::probe::collector::{Collector, TableHit};
use crate::segment::Segment;
use fpstore_base::Fingerprint;

/// The largest `k` of a search in gathered values: a block then differs in up to 2 bits.
const K_MAX: u32 = 11;
/// The largest mean number of values compared for a query that is near a stored value. If values
/// are so clustered that it is exceeded, their segments are probed instead.
const COMPARED_MAX: f64 = 256.0;
/// Number of values compared between two checks of the limits of a search.
const STEP: u64 = 512;
/// Number of values compared by one call of [`Vector::near_words`]: one cache line.
const LINE_LEN: usize = 8;

const BLOCKS: u32 = 4;
const BLOCK_BITS: u32 = 64 / BLOCKS;

/// The gathered values of some segments: one table.
#[derive(Debug)]
pub(crate) struct Gathered {
    parts: Vec<Part>,
    blocks: [Block; BLOCKS as usize],
}

/// A segment whose values are in a table, and the range of the numbers of these values.
#[derive(Clone, Debug)]
struct Part {
    segment: Weak<Segment>,
    /// The number of the first value of this part, counted over the values of all parts.
    first: u32,
    len: u32,
}

/// All values of a table, grouped by key: the leading bits of one block of 16 bits.
#[derive(Debug)]
struct Block {
    /// The number of value bits below the key.
    shift: u32,
    key_bits: u32,
    /// For each key, the position of the first value with this key in `values`.
    starts: Vec<u32>,
    values: Vec<u64>,
    /// The number of each value, counted part by part; within a part in the order of the first
    /// table of its segment.
    numbers: Vec<u32>,
}

/// The collected values of a future table.
#[derive(Debug, Default)]
pub(crate) struct Gathering {
    parts: Vec<Part>,
    values: Vec<u64>,
}

impl Gathering {
    /// Adds all values of a segment; if one cannot be read, adds none.
    pub(crate) fn add_segment(&mut self, segment: &Arc<Segment>) -> Result<()> {
        let Some(table) = segment.first_table() else { return Ok(()) };
        let first = self.values.len();
        let mut runs = table.values();
        loop {
            match runs.next_run() {
                Ok(Some((_, run))) => {
                    let value = |&permuted| table.permutation.invert(Permuted(permuted)).value();
                    self.values.extend(run.iter().map(value));
                }
                Ok(None) => break,
                Err(error) => {
                    self.values.truncate(first);
                    return Err(error);
                }
            }
        }
        self.add_part(Arc::downgrade(segment), first);
        Ok(())
    }

    /// From another table, adds the parts whose segments are among `segments`.
    pub(crate) fn add_table(&mut self, table: &Gathered, segments: &[OpenSegment]) {
        let [block, ..] = &table.blocks;
        let mut values = vec![0; block.numbers.len()];
        for (&number, &value) in block.numbers.iter().zip(&block.values) {
            values[number as usize] = value;
        }
        for part in &table.parts {
            if part.position(segments).is_some() {
                let first = self.values.len();
                self.values.extend(&values[part.first as usize..][..part.len as usize]);
                self.add_part(Weak::clone(&part.segment), first);
            }
        }
    }

    fn add_part(&mut self, segment: Weak<Segment>, first: usize) {
        let len = (self.values.len() - first) as u32;
        self.parts.push(Part { segment, first: first as u32, len });
    }

    /// Builds the table; `None` if the values are too clustered, or if there are no values.
    pub(crate) fn finish(self) -> Option<Gathered> {
        if self.values.is_empty() {
            return None;
        }
        let blocks = [0, 1, 2, 3].map(|at| Block::of(&self.values, at));
        let compared: f64 = blocks.iter().map(Block::expected_len).sum();
        (compared <= COMPARED_MAX).then_some(Gathered { parts: self.parts, blocks })
    }
}

impl Part {
    /// The position of the segment of this part in `segments`.
    fn position(&self, segments: &[OpenSegment]) -> Option<usize> {
        let is_same = |open: &OpenSegment| Arc::as_ptr(&open.segment) == self.segment.as_ptr();
        segments.iter().position(is_same)
    }
}

impl Gathered {
    /// For each part, the position of its segment in `segments`, or `None` if it is not there.
    pub(crate) fn positions(&self, segments: &[OpenSegment]) -> Vec<Option<usize>> {
        self.parts.iter().map(|part| part.position(segments)).collect()
    }

    /// The number of values of all parts.
    pub(crate) fn len(&self) -> u64 {
        self.parts.iter().map(|part| u64::from(part.len)).sum()
    }

    /// Whether gathered values can answer a search within `k` bits.
    #[inline]
    pub(crate) fn answers(k: u32) -> bool {
        k <= K_MAX
    }

    /// Prefetches the bytes that [`Gathered::look_up`] reads.
    #[inline]
    pub(crate) fn announce(&self, needle: Fingerprint) {
        for block in &self.blocks {
            prefetch(&block.starts, block.key(needle.value()));
        }
    }

    /// For each block, the positions of the values with the key of the needle. Prefetches the
    /// values.
    #[inline]
    pub(crate) fn look_up(&self, needle: Fingerprint) -> Places {
        let mut places = Places::default();
        for (block, place) in self.blocks.iter().zip(&mut places.0) {
            let bucket = block.bucket(needle.value(), 0);
            // Most buckets end in the cache line in which they start, or in the next one.
            prefetch(&block.values, bucket.start);
            prefetch(&block.values, bucket.end);
            *place = (bucket.start as u32, bucket.end as u32);
        }
        places
    }

    /// Passes the values within `collector.k()` bits of the needle to the collector, each once,
    /// with the number of its part in place of the number of a query.
    pub(crate) fn search(
        &self,
        kernel: Kernel,
        needle: Fingerprint,
        places: Places,
        collector: &mut impl Collector,
    ) {
        let radius = collector.k() / BLOCKS;
        kernel.run(Search { gathered: self, needle: needle.value(), places, radius, collector });
    }

    /// Compares the values of a bucket one by one; returns whether the search continues.
    #[cold]
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

    /// Reports a near value if its block is the first with at most `radius` differing bits.
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
            let number = block.numbers[place];
            let part = self.parts.partition_point(|part| part.first + part.len <= number);
            let rank = number - self.parts[part].first;
            collector.push(
                part as u32,
                TableHit {
                    distance: differs.count_ones(),
                    fingerprint: Fingerprint::new(block.values[place]),
                    table: TableIndex(0),
                    rank: Rank(rank.into()),
                },
            );
        }
    }
}

/// For each block, the positions of the values that have the key of a needle.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Places([(u32, u32); BLOCKS as usize]);

/// A search of all values of a table.
struct Search<'a, C> {
    gathered: &'a Gathered,
    needle: u64,
    places: Places,
    radius: u32,
    collector: &'a mut C,
}

impl<C: Collector> Task for Search<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self, vector: V) {
        let Search { gathered, needle, places, radius, collector } = self;
        let k = collector.k();
        for (at, block) in gathered.blocks.iter().enumerate() {
            let (mut probes, mut compared) = (0, 0);
            for flipped in flips(block.key_bits, radius) {
                let bucket = match flipped {
                    0 => places.0[at].0 as usize..places.0[at].1 as usize,
                    _ => block.bucket(needle, *flipped),
                };
                probes += 1;
                // Buckets of up to `LINE_LEN` values are compared in the same way, because a branch
                // on their length would be unpredictable.
                if !block.is_far(vector, &bucket, needle, k) {
                    if !gathered.compare(at, bucket, needle, radius, collector) {
                        collector.stats().probes += probes;
                        return;
                    }
                } else {
                    compared += bucket.len() as u64;
                }
            }
            let stats = collector.stats();
            stats.probes += probes;
            let before = stats.candidates;
            stats.candidates += compared;
            if stats.candidates / STEP != before / STEP && collector.is_exhausted() {
                return;
            }
        }
    }
}

impl Block {
    fn of(values: &[u64], at: u32) -> Self {
        // With this many bits, one or two values share a key on average.
        let key_bits = (values.len().max(2) as u64).ilog2().min(BLOCK_BITS);
        let shift = (at + 1) * BLOCK_BITS - key_bits;
        let mut block =
            Block { shift, key_bits, starts: Vec::new(), values: Vec::new(), numbers: Vec::new() };
        let mut next = vec![0_u32; (1 << key_bits) + 1];
        for &value in values {
            next[block.key(value) + 1] += 1;
        }
        for key in 1..next.len() {
            next[key] += next[key - 1];
        }
        block.starts.clone_from(&next);
        // The padding makes it safe to read a whole line of values from each position.
        (block.values, block.numbers) = (vec![0; values.len() + LINE_LEN], vec![0; values.len()]);
        for (number, &value) in (0..).zip(values) {
            let place = &mut next[block.key(value)];
            block.values[*place as usize] = value;
            block.numbers[*place as usize] = number;
            *place += 1;
        }
        block
    }

    #[inline(always)]
    fn key(&self, value: u64) -> usize {
        (value >> self.shift) as usize & ((1 << self.key_bits) - 1)
    }

    /// The positions of the values whose key differs from the key of `value` in exactly the bits
    /// `flipped`.
    #[inline(always)]
    fn bucket(&self, value: u64, flipped: u16) -> Range<usize> {
        let key = self.key(value) ^ usize::from(flipped);
        self.starts[key] as usize..self.starts[key + 1] as usize
    }

    /// Whether a bucket has at most `LINE_LEN` values, all more than `k` bits away from the needle.
    #[inline(always)]
    fn is_far<V: Vector>(&self, vector: V, bucket: &Range<usize>, needle: u64, k: u32) -> bool {
        let len = bucket.len();
        if !V::COMPARES_WORDS {
            let values = &self.values[bucket.clone()];
            return len <= LINE_LEN && values.iter().all(|it| (it ^ needle).count_ones() > k);
        }
        let Some(line) = self.values[bucket.start..].first_chunk() else { return false };
        let near = vector.near_words(line, needle, k) & ((1_u32 << len.min(31)) - 1);
        (near == 0) & (len <= LINE_LEN)
    }

    /// The number of differing bits in the 16 bits of this block, if `differs` is the XOR of two
    /// values.
    #[inline(always)]
    fn differs_in(&self, differs: u64) -> u32 {
        let first = self.shift + self.key_bits - BLOCK_BITS;
        ((differs >> first) as u16).count_ones()
    }

    /// For a stored value, the mean number of values that share its key.
    fn expected_len(&self) -> f64 {
        let squares = self.starts.windows(2).map(|pair| f64::from(pair[1] - pair[0]).powi(2));
        squares.sum::<f64>() / self.numbers.len().max(1) as f64
    }
}

/// The bit patterns of 16 bits with no bit, one bit or two bits set; those with two bits are
/// ordered by the higher bit.
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

/// The patterns with at most `radius` of the lowest `bits` bits set. The radius is at most 2.
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
