//! Blocks decoded once for many queries: one lane of 16 bits for each byte of the heads section.
//!
//! The lane of the last byte of a gap is the head after this gap, without the bits of the block
//! number; the lanes of other bytes are unused. So decoding moves no lane, and a mask of 64 bits
//! marks the lanes of a chunk that are heads. All lanes of a chunk are compared with a needle at
//! once, without a branch.
//!
//! Some blocks get no lanes, and the caller searches them separately: long blocks, blocks with gaps
//! of more than three bytes, blocks that break a rule, and blocks within 64 bytes of the end of the
//! file.

use super::Kernel;
use super::chunk::valid_mask;
use super::vector::{Task, Vector};
use crate::base::limits::CHUNK_LEN;
use crate::base::section::Rank;
use crate::bytes::packing::Packed;
use crate::format::codec::varint::LONG_BLOCK_MIN;
use crate::format::prefix_index::BlockSpan;

/// Maximum number of bits of a head below the block number.
pub(crate) const LANE_BITS: u32 = 16;
/// Maximum number of chunks, and maximum number of bytes, of a block with lanes. Each chunk but the
/// last takes at least 62 bytes.
const CHUNKS_MAX: usize = 8;
const HEADS_MAX: u64 = 480;
/// Maximum number of chunks with near heads that are collected in one pass.
const SURVIVORS_MAX: usize = 1 << 11;

/// The 64 lanes of a chunk.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Lanes(pub(crate) [u16; CHUNK_LEN]);

/// A chunk of a decoded block.
#[derive(Clone, Copy, Debug, Default)]
struct LaneChunk {
    /// Mask of the lanes that are heads; 0 for an empty block and for a block without lanes.
    terminators: u64,
    /// The rank of the first head of the chunk.
    rank: u64,
    /// The position of the next chunk of the block; 0 for the last chunk.
    next: u32,
}

/// A tile of neighbouring blocks, decoded. The first chunk of each block is at the position of the
/// block; all further chunks follow after the first chunks.
#[derive(Debug, Default)]
pub(crate) struct Tile {
    chunks: Vec<LaneChunk>,
    lanes: Vec<Lanes>,
    used: usize,
}

impl Tile {
    /// Discards all blocks, and makes room for a tile of `count` new blocks.
    pub(crate) fn clear(&mut self, count: usize) {
        self.chunks.clear();
        self.chunks.resize(count, LaneChunk::default());
        self.used = count;
    }

    /// Removes the chunks of a block, so that it has no lanes.
    fn discard(&mut self, block: usize) {
        if let Some(chunk) = self.chunks.get_mut(block) {
            *chunk = LaneChunk::default();
        }
    }
}

/// The options for comparing values of a table with lanes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneLayout {
    pub(crate) block_bits: u32,
    pub(crate) tail_bits: u32,
    pub(crate) inner_bits: u32,
    /// The inner bits that must be equal.
    pub(crate) mask: u16,
    /// The number of low bits of a block number that select the block in its tile.
    pub(crate) tile_bits: u32,
    /// Whether one masked bit may differ: an inner bit in the home block of the value, or a bit of
    /// the block number.
    pub(crate) is_flipped: bool,
    /// The number of bits in which whole heads may differ.
    pub(crate) k: u32,
}

impl LaneLayout {
    /// The position, in its tile, of the home block of a value.
    #[inline(always)]
    pub(crate) fn low_of(&self, value: u64) -> usize {
        (value >> (64 - self.block_bits)) as usize & ((1 << self.tile_bits) - 1)
    }

    #[inline(always)]
    fn inner_of(&self, value: u64) -> u16 {
        (value >> self.tail_bits) as u16 & (u16::MAX >> (LANE_BITS - self.inner_bits))
    }
}

/// A chunk, and the mask of its lanes that are near one item.
#[derive(Clone, Copy, Debug, Default)]
struct Survivor {
    near: u64,
    item: u32,
    block: u32,
    chunk: u32,
}

/// All chunks with near lanes found so far.
#[derive(Debug)]
pub(crate) struct Survivors {
    slots: Box<[Survivor]>,
    count: usize,
}

impl Default for Survivors {
    fn default() -> Self {
        Survivors { slots: vec![Survivor::default(); SURVIVORS_MAX].into(), count: 0 }
    }
}

/// A head near an item; an item is a position in a list of sorted values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ItemHead {
    pub(crate) rank: Rank,
    pub(crate) head: u64,
    pub(crate) item: u32,
}

impl Kernel {
    /// Decodes blocks, each given with its position in the tile; adds the positions of blocks
    /// without lanes to `others`. `heads` starts at the heads section; the heads of the blocks must
    /// be verified.
    pub(crate) fn decode_tile(
        self,
        heads: &[u8],
        blocks: &[(u32, BlockSpan)],
        tile: &mut Tile,
        others: &mut Vec<u32>,
    ) {
        self.run(DecodeTile { heads, blocks, tile, others });
    }

    /// Compares the items `from..end` of `values` with the blocks of the tile that they search.
    /// Returns the first item that no longer fits in `survivors`, or `end`. `in_tile` means that
    /// the home blocks of the items are in this tile; otherwise one higher bit of the block number
    /// differs.
    #[inline]
    pub(crate) fn probe_tile(
        self,
        tile: &Tile,
        values: &[u64],
        (from, end): (usize, usize),
        layout: &LaneLayout,
        in_tile: bool,
        survivors: &mut Survivors,
    ) -> usize {
        self.run(ProbeTile { tile, values, from, end, layout, in_tile, survivors })
    }

    /// Moves the near heads of all survivors to `near`. `first_block` is the number of the first
    /// block of the tile.
    pub(crate) fn near_heads(
        self,
        tile: &Tile,
        values: &[u64],
        layout: &LaneLayout,
        first_block: u64,
        survivors: &mut Survivors,
        near: &mut Vec<ItemHead>,
    ) {
        self.run(TakeNear { tile, values, layout, first_block, survivors, near });
    }

    /// Keeps the heads whose whole value is within `k` bits of the value of their item, and
    /// replaces each kept head by the whole value.
    pub(crate) fn retain_near_values(
        self,
        tails: Packed<'_>,
        values: &[u64],
        k: u32,
        near: &mut Vec<ItemHead>,
    ) {
        self.run(RetainNear { tails, values, k, near });
    }
}

/// See [`Kernel::decode_tile`].
struct DecodeTile<'a> {
    heads: &'a [u8],
    blocks: &'a [(u32, BlockSpan)],
    tile: &'a mut Tile,
    others: &'a mut Vec<u32>,
}

impl Task for DecodeTile<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self, vector: V) {
        let DecodeTile { heads, blocks, tile, others } = self;
        for (block, span) in blocks {
            if span.value_count() > 0 && !decode(vector, heads, *block, span, tile) {
                tile.discard(*block as usize);
                others.push(*block);
            }
        }
    }
}

/// Decodes a block; returns `false` if the block cannot have lanes.
#[inline(always)]
fn decode<V: Vector>(
    vector: V,
    heads: &[u8],
    block: u32,
    span: &BlockSpan,
    tile: &mut Tile,
) -> bool {
    if span.value_count() > LONG_BLOCK_MIN || span.heads_len() > HEADS_MAX {
        return false;
    }
    let (mut start, mut rank, mut carry) = (span.heads_start, span.rank_start, 0);
    let mut at = block as usize;
    loop {
        let rest = heads.get(start as usize..).and_then(|rest| rest.first_chunk());
        let Some(bytes) = rest else { return false };
        let left = span.heads_end - start;
        let loaded = vector.load(bytes);
        let high_bits = vector.high_bits(loaded);
        let terminators = valid_mask(left) & !high_bits;
        // A gap that continues after the chunk is left for the next chunk.
        let taken = u64::from(64 - terminators.leading_zeros());
        let after = rank + u64::from(terminators.count_ones());
        if terminators == 0 || (left <= CHUNK_LEN as u64 && taken != left) || after > span.rank_end
        {
            return false;
        }
        let continuations = high_bits & (u64::MAX >> (64 - taken));
        let second = continuations << 1;
        let third = second & continuations << 2;
        let fourth = third & continuations << 3;
        let overlong = second & vector.zero_bytes(loaded) & terminators;
        if fourth | overlong != 0 {
            return false;
        }
        while tile.lanes.len() <= at {
            tile.lanes.push(Lanes([0; CHUNK_LEN]));
        }
        let (Some(lanes), Some(chunk)) = (tile.lanes.get_mut(at), tile.chunks.get_mut(at)) else {
            return false;
        };
        vector.sums_16(bytes, [second, third], carry, &mut lanes.0);
        *chunk = LaneChunk { terminators, rank, next: 0 };
        start += taken;
        rank = after;
        if start >= span.heads_end {
            return rank == span.rank_end;
        }
        carry = lanes.0.get(taken as usize - 1).copied().unwrap_or_default();
        chunk.next = tile.used as u32;
        at = tile.used;
        tile.used += 1;
        tile.chunks.push(LaneChunk::default());
    }
}

/// See [`Kernel::probe_tile`].
struct ProbeTile<'a> {
    tile: &'a Tile,
    values: &'a [u64],
    from: usize,
    end: usize,
    layout: &'a LaneLayout,
    in_tile: bool,
    survivors: &'a mut Survivors,
}

impl Task for ProbeTile<'_> {
    type Output = usize;

    #[inline(always)]
    fn run<V: Vector>(self, vector: V) -> usize {
        // Usually all inner bits must be equal, so no mask is needed.
        if self.layout.mask == u16::MAX >> (LANE_BITS - self.layout.inner_bits) {
            self.probe::<V, false>(vector)
        } else {
            self.probe::<V, true>(vector)
        }
    }
}

impl ProbeTile<'_> {
    #[inline(always)]
    fn probe<V: Vector, const IS_MASKED: bool>(self, vector: V) -> usize {
        let ProbeTile { tile, values, from, end, layout, in_tile, survivors } = self;
        let Survivors { slots, count: in_slots } = survivors;
        let mask = if IS_MASKED { layout.mask } else { u16::MAX };
        let flips = if in_tile && layout.is_flipped { layout.tile_bits } else { 0 };
        let room = (flips as usize + 1) * CHUNKS_MAX;
        let mut count = *in_slots;
        let mut item = from;
        for &value in values.get(from..end).unwrap_or_default() {
            if count + room > slots.len() {
                break;
            }
            let (low, wanted) = (layout.low_of(value), layout.inner_of(value));
            let is_home = in_tile && layout.is_flipped;
            // Number 0 flips no bit of the block number.
            for number in 0..=flips {
                let block = low ^ (1 << number) >> 1;
                let mut at = block;
                while let (Some(chunk), Some(lanes)) = (tile.chunks.get(at), tile.lanes.get(at)) {
                    let near = if number == 0 && is_home {
                        vector.near_lanes(&lanes.0, wanted, mask, true)
                    } else {
                        vector.near_lanes(&lanes.0, wanted, mask, false)
                    } & chunk.terminators;
                    if let Some(slot) = slots.get_mut(count) {
                        let (item, block, chunk) = (item as u32, block as u32, at as u32);
                        *slot = Survivor { near, item, block, chunk };
                    }
                    // Counted without a branch, which would be unpredictable: few chunks have near
                    // lanes.
                    count += usize::from(near != 0);
                    if chunk.next == 0 {
                        break;
                    }
                    at = chunk.next as usize;
                }
            }
            item += 1;
        }
        *in_slots = count;
        item
    }
}

/// See [`Kernel::near_heads`].
struct TakeNear<'a> {
    tile: &'a Tile,
    values: &'a [u64],
    layout: &'a LaneLayout,
    first_block: u64,
    survivors: &'a mut Survivors,
    near: &'a mut Vec<ItemHead>,
}

impl Task for TakeNear<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self, _: V) {
        let TakeNear { tile, values, layout, first_block, survivors, near } = self;
        for survivor in survivors.slots.iter().take(survivors.count) {
            let at = survivor.chunk as usize;
            let (Some(chunk), Some(lanes)) = (tile.chunks.get(at), tile.lanes.get(at)) else {
                continue;
            };
            let Some(&value) = values.get(survivor.item as usize) else { continue };
            let wanted = value >> layout.tail_bits;
            let first_head = (first_block + u64::from(survivor.block)) << layout.inner_bits;
            let mut left = survivor.near;
            while left != 0 {
                let lane = left.trailing_zeros();
                let inner = lanes.0.get(lane as usize).copied().unwrap_or_default();
                let head = first_head | u64::from(inner);
                if (head ^ wanted).count_ones() <= layout.k {
                    let before = chunk.terminators & ((1 << lane) - 1);
                    let rank = Rank(chunk.rank + u64::from(before.count_ones()));
                    near.push(ItemHead { rank, head, item: survivor.item });
                }
                left &= left - 1;
            }
        }
        survivors.count = 0;
    }
}

/// See [`Kernel::retain_near_values`].
struct RetainNear<'a> {
    tails: Packed<'a>,
    values: &'a [u64],
    k: u32,
    near: &'a mut Vec<ItemHead>,
}

impl Task for RetainNear<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self, _: V) {
        let RetainNear { tails, values, k, near } = self;
        let mut count = 0;
        for at in 0..near.len() {
            let Some(&ItemHead { rank, head, item }) = near.get(at) else { break };
            let value = head << (tails.width % u64::BITS) | tails.get(rank.0);
            let wanted = values.get(item as usize).copied().unwrap_or(!value);
            if let Some(slot) = near.get_mut(count) {
                *slot = ItemHead { rank, head: value, item };
            }
            count += usize::from((value ^ wanted).count_ones() <= k);
        }
        near.truncate(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::varint;
    use proptest::prelude::*;

    fn gaps() -> impl Strategy<Value = Vec<u64>> {
        let gap = prop_oneof![30 => 0..128_u64, 3 => 128..400_u64, 1 => 20_000..60_000_u64];
        prop::collection::vec(gap, 0..150)
    }

    proptest! {
        #[test]
        fn lanes_find_the_near_heads_of_each_kernel(
            blocks in prop::collection::vec(gaps(), 8), needles in prop::collection::vec(any::<u64>(), 1..40),
            free in prop_oneof![Just(0_u32), 0..9_u32], is_flipped: bool, in_tile: bool, after in 60..80_usize, k in 0..5_u32,
        ) {
            // A block has heads below 2^16; the last block may be within 64 bytes of the end of the
            // file.
            let (mut file, mut spans, mut heads, mut rank) = (Vec::new(), Vec::new(), Vec::new(), 0);
            for (block, gaps) in (0_u64..).zip(&blocks) {
                let (start, mut sum) = (file.len() as u64, 0);
                let first = rank;
                for gap in gaps.iter().take_while(|&&gap| { sum += gap; sum < 1 << 16 }) {
                    varint::write(*gap, &mut file);
                    rank += 1;
                }
                let mut sum = 0;
                for (rank, gap) in (first..rank).zip(gaps) {
                    sum += gap;
                    heads.push((rank, block << 16 | sum));
                }
                let span = BlockSpan { heads_start: start, heads_end: file.len() as u64, rank_start: first, rank_end: rank };
                spans.push((block as u32, span));
            }
            file.resize(file.len() + after, 0x7f);
            let layout = LaneLayout { block_bits: 3, tail_bits: 45, inner_bits: 16, mask: u16::MAX << free, tile_bits: 3, is_flipped, k };
            let pick = |needle: u64| match heads.len() as u64 {
                // Heads that are stored, stored heads with flipped bits, and arbitrary heads.
                0 => needle,
                len if !needle.is_multiple_of(4) => (heads[(needle / 8 % len) as usize].1 ^ (needle % 4 / 2) << ((needle >> 32) % 19)) << 45,
                _ => needle,
            };
            let values: Vec<u64> = needles.iter().map(|&needle| pick(needle)).collect();
            for kernel in Kernel::all() {
                let (mut tile, mut others, mut survivors) = (Tile::default(), Vec::new(), Survivors::default());
                let (mut near, mut from) = (Vec::new(), 0);
                tile.clear(8);
                kernel.decode_tile(&file, &spans, &mut tile, &mut others);
                while from < values.len() {
                    from = kernel.probe_tile(&tile, &values, (from, values.len()), &layout, in_tile, &mut survivors);
                    kernel.near_heads(&tile, &values, &layout, 0, &mut survivors, &mut near);
                }
                let mut found: Vec<(u32, u64, u64)> = near.iter().map(|near| (near.item, near.rank.0, near.head)).collect();
                found.sort_unstable();
                let mut expected = Vec::new();
                for (item, value) in (0..).zip(&values) {
                    for &(rank, head) in &heads {
                        let (block, diff) = (head >> 16, head ^ value >> 45);
                        let flipped = (diff >> 16).count_ones();
                        let inner = (diff as u16 & layout.mask).count_ones();
                        let within = match (in_tile && is_flipped, flipped) {
                            (_, 0) => inner <= u32::from(in_tile && is_flipped),
                            (true, 1) => inner == 0,
                            _ => false,
                        };
                        if within && diff.count_ones() <= k && !others.contains(&(block as u32)) {
                            expected.push((item, rank, head));
                        }
                    }
                }
                expected.sort_unstable();
                prop_assert_eq!(&found, &expected, "{:?}", kernel);
                prop_assert!(others.iter().all(|&block| spans[block as usize].1.heads_len() > HEADS_MAX
                    || spans[block as usize].1.heads_end + 64 > file.len() as u64), "{:?}", others);
            }
        }

        #[test]
        fn lanes_of_any_bytes_need_as_many_heads_as_the_index_says(file in prop::collection::vec(any::<u8>(), 0..300), start in 0..300_u64, len in 0..140_u64, lie in 0..3_u64) {
            let start = start.min(file.len() as u64);
            let end = (start + len).min(file.len() as u64);
            let ends = file[start as usize..end as usize].iter().filter(|&&byte| byte < 0x80).count() as u64;
            let span = BlockSpan { heads_start: start, heads_end: end, rank_start: 5, rank_end: 5 + ends + lie };
            for kernel in Kernel::all() {
                let (mut tile, mut others) = (Tile::default(), Vec::new());
                tile.clear(1);
                kernel.decode_tile(&file, &[(0, span)], &mut tile, &mut others);
                prop_assert!(lie == 0 || others == [0]);
                let mut heads = 0;
                let mut at = 0;
                while let Some(chunk) = tile.chunks.get(at) {
                    heads += u64::from(chunk.terminators.count_ones());
                    at = if chunk.next == 0 { usize::MAX } else { chunk.next as usize };
                }
                prop_assert!(heads == span.value_count() || others == [0]);
            }
        }
    }
}
