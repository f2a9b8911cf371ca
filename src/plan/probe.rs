//! Estimates the steps of probing one table from its layout and the density of its values.
//!
//! A probe of a table flips up to `radius` of the leading bits of the query. Flips in the block
//! number select the blocks to open; the remaining flips are left for the prefix bits inside the
//! block. So blocks are grouped into *rings* by the number of flips in the block number:
//!
//! ```text
//! prefix of 32 bits, block number of 19 bits, radius 1:
//!   ring 0: no flip among the 19 bits, 1 block, 1 flip left for the 13 bits inside it
//!   ring 1: 1 flip among the 19 bits, 19 blocks, no flip left
//! ```
//!
//! `search` reads the blocks of a ring in one of three ways: it sums them in chunks (blocks without
//! restart points), decodes them whole, or searches them for each range of possible heads.
//! [`TableModel::probe`] adds up the rings.

use super::density::{Density, ENTRY_BITS};
use super::estimate::CostEstimate;
use crate::base::limits::{CHUNK_LEN, ERRORS_MAX, PARTIAL_SUMS_MAX, VALUES_PER_RANGE};
use crate::bytes::checksum::PAGE_LEN;
use crate::format::codec::varint::{LONG_BLOCK_MIN, RESTART_INTERVAL};
use crate::format::descriptor::TableDescriptor;
use crate::format::prefix_index::{BLOCKS_PER_ENTRY, ENTRY_LEN};
use crate::scheme::combinations_up_to;

/// The cost of a step of binary search in restart points, as a share of the cost of a whole range.
const RANGES_PER_HALVING: f64 = 0.4;
/// Heads skipped at a time: a word contains eight gaps of one byte.
const HEADS_PER_WORD: f64 = size_of::<u64>() as f64;
/// Number of bits compared by the prefilter of the kernel: the lowest byte of each head.
const PREFILTER_BITS: u32 = u8::BITS;
/// Blocks whose numbers differ only in this many lowest bits have index entries on the same page.
const INDEX_PAGE_BITS: u32 = (PAGE_LEN as u64 / ENTRY_LEN * BLOCKS_PER_ENTRY).ilog2();
/// Pages read to look up a value: one with the index entry, one with the heads, one with the tail.
const PAGES_PER_LOOK_UP: f64 = 3.0;
/// Heads on a page, nearly all of them one byte long.
const HEADS_PER_PAGE: f64 = 3700.0;

/// The properties of a table from which the cost model derives the steps of a probe.
#[derive(Clone, Debug)]
pub(crate) struct TableModel {
    pub(crate) prefix_bits: u32,
    /// The number of leading bits that form the block number.
    pub(crate) block_bits: u32,
    /// The number of leading bits stored as heads.
    pub(crate) head_bits: u32,
    pub(crate) value_count: u64,
    /// Bytes of the prefix index and the heads, which probes read in random order.
    pub(crate) hot_len: f64,
    /// Mean number of bytes of a gap between heads in addition to its first byte.
    pub(crate) extra_len: f64,
    pub(crate) density: Density,
    /// The syndromes of the table, if it does not hold whole values.
    pub(crate) syndromes: Option<SyndromeModel>,
}

/// The syndromes of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SyndromeModel {
    /// The length of a syndrome in bits.
    pub(crate) bits: u32,
    /// The number of tail bits that the syndrome replaces.
    pub(crate) hashed_bits: u32,
}

impl SyndromeModel {
    /// The syndromes of an existing table.
    pub(crate) fn of(table: &TableDescriptor) -> Option<Self> {
        let (bits, hashed_bits) = (table.syndrome_bits, table.hashed_bits());
        (!table.is_whole()).then_some(SyndromeModel { bits, hashed_bits })
    }
}

/// The expected contents of the blocks of a table. All numbers of values are means.
struct BlockModel {
    /// The number of prefix bits that are part of the block number.
    naming_bits: u32,
    /// The number of prefix bits in the heads after the block number.
    inner_bits: u32,
    /// Values in the block of a query.
    in_block: f64,
    /// Values that share the whole prefix with a query.
    in_range: f64,
    /// The share of blocks that hold a value.
    filled: f64,
    /// Values in a block that is not empty.
    held: f64,
    /// Blocks for each value of the `naming_bits`: several if the block number is longer than the
    /// prefix.
    per_prefix: f64,
    /// The number of the `per_prefix` blocks that hold values.
    used_per_prefix: f64,
}

/// The blocks that a probe reaches by the same number of flips in the block number.
struct Ring {
    /// Flips that are left for the prefix bits inside a block.
    remaining: u32,
    /// Number of ways to place the flips in the block number.
    prefixes: f64,
    /// Like `prefixes`, but each way is weighted by the density of values at the flipped prefix.
    weighted: f64,
    /// Blocks that hold values.
    blocks: f64,
    /// Neighbours of the query (see [`Density`]) in the blocks of the ring.
    neighbours: f64,
    /// 1 if the query itself is stored, in one of the blocks of the ring; otherwise 0.
    stored: f64,
}

impl TableModel {
    /// The model that a reader of the table will make from the layout in its header and, if
    /// `crowded`, from the uneven distribution over its blocks. Evenly distributed bits would need
    /// heads of `needed` bits.
    pub(crate) fn as_read(&self, heads_len: f64, crowded: bool, needed: u32) -> TableModel {
        let bits = [self.prefix_bits, self.block_bits, self.head_bits];
        let crowded = crowded.then(|| self.density.crowding(self.block_bits));
        TableModel {
            density: Density::of_layout(bits, needed, crowded),
            extra_len: extra_len(heads_len, self.value_count),
            ..self.clone()
        }
    }

    /// Whether probes of the table support distance `k`, regardless of cost.
    pub(super) fn answers(&self, k: u32) -> bool {
        self.syndromes.is_none() || k <= ERRORS_MAX
    }

    /// The steps to probe the table within `radius` for a query at distance `k`. `stored` is 1 if
    /// the query itself is stored, 0 if it only resembles stored values.
    pub(crate) fn probe(&self, radius: u32, k: u32, stored: f64) -> CostEstimate {
        let block = self.block_model();
        let ways = self.density.ways(block.naming_bits, radius);
        let neighbours = self.density.neighbours(self.block_bits, radius);
        let mut estimate = CostEstimate { tables: 1.0, ..CostEstimate::default() };
        let mut prefixes_before = 0.0;
        let rings = (0..=radius.min(block.naming_bits)).zip(&ways).zip(neighbours);
        for ((flips, &weighted), neighbours) in rings {
            let prefixes = combinations_up_to(block.naming_bits, flips) - prefixes_before;
            prefixes_before += prefixes;
            let stored = if flips == 0 { stored } else { 0.0 };
            let blocks =
                weighted.min(prefixes) * block.used_per_prefix.min(block.per_prefix) * block.filled;
            let ring = Ring {
                remaining: radius - flips,
                prefixes,
                weighted,
                blocks: if flips == 0 { blocks.max(stored) } else { blocks },
                neighbours,
                stored,
            };
            estimate.probes += prefixes * block.per_prefix;
            estimate.blocks += ring.blocks;
            estimate += self.read_ring(&block, &ring);
        }
        if estimate.chunks == 0.0 {
            let heads = estimate.heads_passed + estimate.heads_compared;
            estimate.extra_bytes += self.extra_len * heads;
        }
        // Each entry of the prefix index has its own cache line.
        estimate.lines += self.groups_of_blocks(ENTRY_BITS, radius);
        let n = self.value_count as f64;
        let near = self.density.within([self.prefix_bits, radius], [self.head_bits, k], n);
        estimate.candidates = near + stored;
        estimate.look_ups = self.look_ups(radius, k);
        estimate
    }

    /// The number of possible values that decoding the syndromes of candidates yields: of the ways
    /// to place the remaining errors in the hashed bits, a share of 2^-bits matches the stored
    /// syndrome.
    fn look_ups(&self, radius: u32, k: u32) -> f64 {
        let Some(SyndromeModel { bits, hashed_bits }) = self.syndromes else { return 0.0 };
        let n = self.value_count as f64;
        let (mut look_ups, mut before) = (0.0, 0.0);
        for errors in 0..=radius.min(k) {
            let known = [64 - hashed_bits, k];
            let within = self.density.within([self.prefix_bits, errors], known, n);
            let words = combinations_up_to(hashed_bits, k - errors);
            look_ups += (within - before) * words / 2_f64.powi(bits as i32);
            before = within;
        }
        look_ups
    }

    fn block_model(&self) -> BlockModel {
        let n = self.value_count as f64;
        let naming_bits = self.prefix_bits.min(self.block_bits);
        let head_prefix = self.prefix_bits.min(self.head_bits);
        let in_block = self.density.sharing(self.block_bits, n);
        let in_prefix = self.density.sharing(naming_bits, n);
        let filled = -(-in_block).exp_m1();
        BlockModel {
            naming_bits,
            inner_bits: head_prefix.saturating_sub(self.block_bits),
            in_block,
            in_range: self.density.sharing(head_prefix, n),
            filled,
            // The mean over non-empty blocks: they contain all values.
            held: in_block / filled.max(f64::MIN_POSITIVE),
            per_prefix: 2_f64.powi((self.block_bits - naming_bits) as i32),
            used_per_prefix: if in_block > 0.0 { in_prefix / in_block } else { 1.0 },
        }
    }

    /// The steps to read the blocks of a ring.
    fn read_ring(&self, block: &BlockModel, ring: &Ring) -> CostEstimate {
        let held = block.held + ring.stored;
        let ranges = combinations_up_to(block.inner_bits, ring.remaining);
        if held <= LONG_BLOCK_MIN as f64 {
            self.sum_chunks(block, ring)
        } else if ring.remaining > 0 && held <= ranges * VALUES_PER_RANGE {
            CostEstimate {
                ranges: ring.blocks,
                heads_compared: ring.blocks * block.held + ring.stored + ring.neighbours,
                ..CostEstimate::default()
            }
        } else {
            self.search_ranges(block, ring, ranges)
        }
    }

    /// The steps to read blocks without restart points: a kernel sums 64 bytes of heads at once.
    fn sum_chunks(&self, block: &BlockModel, ring: &Ring) -> CostEstimate {
        let chunks = ring.blocks * chunks_of(block.held * (1.0 + self.extra_len));
        let surviving = ring.blocks * block.held * self.prefilter_selectivity(ring.remaining);
        let whole = whole_share(surviving / chunks);
        let compared = surviving.max(self.wanted(block, ring));
        CostEstimate {
            chunks,
            whole_chunks: chunks * whole,
            heads_compared: compared * (1.0 - whole) + ring.stored,
            extra_bytes: ring.blocks * (block.held + ring.stored) * self.extra_len,
            ..CostEstimate::default()
        }
    }

    /// The steps to read long blocks: each range is found by binary search in the restart points.
    fn search_ranges(&self, block: &BlockModel, ring: &Ring, ranges: f64) -> CostEstimate {
        const INTERVAL: f64 = RESTART_INTERVAL as f64;
        // Each step of the binary search reads a cache line and costs a part of the time of a
        // range.
        let halvings = (block.held / INTERVAL).max(1.0).log2();
        // On average, half of the block is before the range, or half of the restart interval in a
        // block with several restart points.
        let passed = (block.held / 2.0).min(INTERVAL / 2.0);
        let near_passed = (ring.neighbours / 2.0).min(INTERVAL / 2.0 * ring.prefixes);
        // If heads are longer than the prefix, a range can contain several heads, and the word in
        // which the range starts is decoded gap by gap.
        let word = if self.head_bits > self.prefix_bits.max(self.block_bits) {
            (HEADS_PER_WORD / 2.0).min(block.held) * ring.blocks * ranges
        } else {
            0.0
        };
        let all = ring.blocks * ranges * block.held;
        CostEstimate {
            ranges: ring.blocks * ranges * (1.0 + RANGES_PER_HALVING * halvings),
            lines: ring.blocks * ranges * halvings,
            heads_passed: (ring.blocks * passed + near_passed) * ranges,
            heads_compared: (self.wanted(block, ring) + word).min(all) + ring.stored,
            ..CostEstimate::default()
        }
    }

    /// The number of heads within the radius in the blocks of a ring.
    fn wanted(&self, block: &BlockModel, ring: &Ring) -> f64 {
        let flipped = self.density.ways(block.inner_bits, ring.remaining).iter().sum::<f64>();
        block.in_range * ring.weighted * flipped
    }

    /// The share of values in a block whose lowest byte differs in at most `flips` bits from the
    /// lowest byte of a query.
    fn prefilter_selectivity(&self, flips: u32) -> f64 {
        let start = self.head_bits.saturating_sub(PREFILTER_BITS).max(self.block_bits);
        self.density.share_near(start, self.prefix_bits.min(self.head_bits), flips)
    }

    /// The number of groups of 2^`same` neighbouring blocks that a probe touches: blocks whose
    /// numbers differ only in the `same` lowest bits are in one group.
    fn groups_of_blocks(&self, same: u32, radius: u32) -> f64 {
        let naming_bits = self.prefix_bits.min(self.block_bits);
        let free = self.block_bits - naming_bits;
        let flippable = naming_bits - same.saturating_sub(free).min(naming_bits);
        combinations_up_to(flippable, radius) * 2_f64.powi(free.saturating_sub(same) as i32)
    }

    /// Number of pages of the file that a query reads if no page is in memory.
    pub(crate) fn pages(&self, estimate: &CostEstimate, radius: u32) -> f64 {
        let apart = |same: u32| self.groups_of_blocks(same, radius).min(estimate.probes);
        let in_block = self.block_model().in_block.max(1.0);
        let blocks_per_page = (HEADS_PER_PAGE / in_block).max(1.0);
        let heads = apart(blocks_per_page.log2() as u32).min(estimate.blocks)
            * (in_block / HEADS_PER_PAGE).clamp(1.0, 1.0 + estimate.heads_passed);
        apart(INDEX_PAGE_BITS) + heads + estimate.candidates + PAGES_PER_LOOK_UP * estimate.look_ups
    }
}

/// The mean number of chunks of a block whose heads take `len` bytes on average.
fn chunks_of(len: f64) -> f64 {
    // Counts the chunks that start before the end of the block. Lengths of blocks are taken as
    // normally distributed with variance `len`.
    let spread = len.sqrt().max(1.0);
    let begun = |number: u32| {
        let start = CHUNK_LEN as f64 * f64::from(number);
        1.0 / (1.0 + (1.702 * (start - len) / spread).exp())
    };
    1.0 + (1..8).map(begun).sum::<f64>()
}

/// The share of chunks that are decoded whole, if `surviving` heads of a chunk pass the prefilter
/// on average.
fn whole_share(surviving: f64) -> f64 {
    // The number of heads of a chunk that pass is taken as normally distributed with variance
    // `surviving`.
    let most = f64::from(PARTIAL_SUMS_MAX) + 0.5;
    1.0 / (1.0 + (1.702 * (most - surviving) / surviving.sqrt().max(0.5)).exp())
}

/// Mean number of bytes of a gap in addition to its first, computed from the length of all heads.
pub(crate) fn extra_len(heads_len: f64, value_count: u64) -> f64 {
    (heads_len / value_count.max(1) as f64 - 1.0).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uniform(prefix_bits: u32, value_count: u64) -> TableModel {
        let head_bits = crate::plan::cut::uniform_head_bits(value_count);
        let block_bits = crate::plan::cut::block_bits(value_count, 64 - head_bits);
        TableModel {
            prefix_bits,
            block_bits,
            head_bits,
            value_count,
            hot_len: 0.0,
            extra_len: 0.0,
            density: Density::uniform(),
            syndromes: None,
        }
    }

    #[test]
    fn a_radius_of_one_looks_up_a_block_for_each_bit_that_names_one() {
        let steps = uniform(32, 10_000_000).probe(1, 3, 0.0);
        assert_eq!(steps.probes, 19.0);
        assert_eq!(steps.lines, 15.0);
        assert!((steps.blocks - 19.0).abs() < 1e-6);
        assert!(steps.chunks >= steps.blocks && steps.chunks < 1.01 * steps.blocks);
        // The lowest byte of one head in 256 equals the lowest byte of the query. In the block of
        // the query itself, one of the 8 bits of this byte may also be flipped: 18 + 9 = 27.
        assert!((steps.heads_compared / (27.0 * 38.15 / 256.0) - 1.0).abs() < 0.05, "{steps:?}");
        assert!(steps.whole_chunks < 0.01 * steps.chunks);
    }

    #[test]
    fn a_short_prefix_has_many_blocks() {
        let steps = uniform(10, 10_000_000).probe(0, 3, 0.0);
        assert_eq!(steps.probes, 256.0);
        assert_eq!(steps.lines, 16.0);
        // All heads share the prefix.
        assert!(steps.whole_chunks > 0.99 * steps.chunks, "{steps:?}");
        assert!(steps.heads_compared < 0.001 * 1e7 / 1024.0);
    }

    #[test]
    fn blocks_take_the_chunks_that_their_bytes_begin() {
        for (len, least, most) in
            [(1.0, 1.0, 1.001), (38.0, 1.0, 1.01), (64.0, 1.4, 1.6), (100.0, 1.99, 2.1)]
        {
            let found = chunks_of(len);
            assert!(found >= least && found <= most, "{len}: {found}");
        }
    }
}
