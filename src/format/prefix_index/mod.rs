//! The prefix index: for each block, the position of its heads and the ranks of its values.
//!
//! An *index entry* of 64 bytes, one cache line, covers 16 blocks. It contains the end of the block
//! before them (two bases of 64 bits: a number of bytes of heads, and a rank) and the 16 ends as
//! differences from the bases, 12 bits of ranks and 12 bits of bytes each:
//!
//! ```text
//! offset  0           8           16       19       22             61      64
//!         | heads_base | rank_base | end 0  | end 1  | ...        | end 15 |
//!
//! end: 24 bits   | bytes: 12 bits | ranks: 12 bits |
//! ```
//!
//! A block starts where the block before it ends. For example, take the bases (100, 70) and three
//! blocks: 3 values in 3 bytes, no values, and 2 values in 5 bytes. Their ends are `03 30 00`, `03
//! 30 00` and `05 80 00`; the third block is at the bytes 103 to 108 and has the ranks 73 and 74.
//! If a difference takes more than 12 bits, the ends are in an *overflow entry* of 16 pairs of u64,
//! and the first word of the index entry is 2^63 plus the number of the overflow entry.
//!
//! The prefix index does not depend on the codec of the heads. It is used by the segment reader,
//! the segment writer and `verify`.

mod write;

use crate::base::error::Fault;
use crate::base::section::BlockIndex;
use crate::bytes::fields::{u32_at, u64_at};
pub(crate) use write::{
    BLOCKS_PER_ENTRY, DIFFERENCE_MAX, ENTRY_LEN, IndexWriter, OVERFLOW_ENTRY_LEN,
};
use write::{End, OVERFLOW};

/// The maximum number of leading bits that form the block number (R-8).
pub(crate) const BLOCK_BITS_MAX: u32 = 40;

/// The length of the section of index entries in bytes.
pub(crate) fn section_len(block_bits: u32) -> u64 {
    (1_u64 << block_bits).div_ceil(BLOCKS_PER_ENTRY) * ENTRY_LEN
}

/// The offset of the index entry of a block in the index section.
#[inline]
pub(crate) fn entry_offset(block: BlockIndex) -> u64 {
    block.0 / BLOCKS_PER_ENTRY * ENTRY_LEN
}

/// The position of a block: a range of bytes in the heads section, and a range of ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockSpan {
    pub(crate) heads_start: u64,
    pub(crate) heads_end: u64,
    pub(crate) rank_start: u64,
    pub(crate) rank_end: u64,
}

impl BlockSpan {
    pub(crate) fn value_count(&self) -> u64 {
        self.rank_end - self.rank_start
    }

    /// The number of bytes of the block's heads.
    pub(crate) fn heads_len(&self) -> u64 {
        self.heads_end - self.heads_start
    }
}

/// The result of a lookup of a block in its index entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    Span(BlockSpan),
    /// The ends of the block are in the overflow entry at this offset of the overflow section.
    Overflow {
        offset: u64,
        entry: IndexEntry,
    },
}

/// The bases of an index entry: where its first block starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    pub(crate) heads_base: u64,
    pub(crate) rank_base: u64,
    /// The number of the overflow entry, if the ends are in one.
    pub(crate) overflow: Option<u64>,
}

impl IndexEntry {
    /// Reads the bases from the 64 bytes of an index entry.
    #[inline]
    pub(crate) fn read(entry: &[u8]) -> Result<Self, Fault> {
        let word = |at: usize| u64_at(entry, at).ok_or_else(|| short(ENTRY_LEN, entry));
        let first = word(0)?;
        let rank_base = word(8)?;
        if first & OVERFLOW == 0 {
            return Ok(IndexEntry { heads_base: first, rank_base, overflow: None });
        }
        let number = first & !OVERFLOW;
        Ok(IndexEntry { heads_base: word(16)?, rank_base, overflow: Some(number) })
    }

    /// Whether a difference takes more than 12 bits; `last` is the last block of the entry.
    pub(crate) fn needs_overflow(&self, last: &BlockSpan) -> bool {
        let ranks = last.rank_end.saturating_sub(self.rank_base);
        let bytes = last.heads_end.saturating_sub(self.heads_base);
        ranks.max(bytes) > DIFFERENCE_MAX
    }

    /// The block between two ends relative to the bases.
    fn span(&self, start: End, end: End) -> Option<BlockSpan> {
        let span = BlockSpan {
            heads_start: self.heads_base.checked_add(start.bytes)?,
            heads_end: self.heads_base.checked_add(end.bytes)?,
            rank_start: self.rank_base.checked_add(start.ranks)?,
            rank_end: self.rank_base.checked_add(end.ranks)?,
        };
        let ascends = span.rank_start <= span.rank_end && span.heads_start <= span.heads_end;
        ascends.then_some(span)
    }
}

fn disorder() -> Fault {
    Fault::rule(15, "the ends of blocks are not ascending")
}

fn short(needed: u64, found: &[u8]) -> Fault {
    Fault::Truncated { needed, found: found.len() as u64 }
}

/// Looks `block` up in the 64 bytes of its index entry. This is the slow path, which reports the
/// exact fault.
#[inline]
pub(crate) fn look_up(bytes: &[u8], block: BlockIndex) -> Result<Lookup, Fault> {
    let entry = IndexEntry::read(bytes)?;
    if let Some(number) = entry.overflow {
        let offset = number.checked_mul(OVERFLOW_ENTRY_LEN).ok_or_else(disorder)?;
        return Ok(Lookup::Overflow { offset, entry });
    }
    // Loads four bytes, of which the last three are the end; the shift drops the first byte.
    let end_at = |slot: usize| Some(End::unpack(u64::from(u32_at(bytes, 15 + 3 * slot)? >> 8)));
    let (start, end) = ends_of(block, end_at).ok_or_else(|| short(ENTRY_LEN, bytes))?;
    entry.span(start, end).map(Lookup::Span).ok_or_else(disorder)
}

/// Looks `block` up in the 256 bytes of the overflow entry that belongs to the index entry `entry`.
pub(crate) fn look_up_overflow(
    overflow: &[u8],
    block: BlockIndex,
    entry: &IndexEntry,
) -> Result<BlockSpan, Fault> {
    let end_at = |slot: usize| {
        Some(End { ranks: u64_at(overflow, 16 * slot)?, bytes: u64_at(overflow, 16 * slot + 8)? })
    };
    let (start, end) = ends_of(block, end_at).ok_or_else(|| short(OVERFLOW_ENTRY_LEN, overflow))?;
    entry.span(start, end).ok_or_else(disorder)
}

/// The end of the block before `block` in the index entry, and the end of `block` itself.
fn ends_of(block: BlockIndex, end_at: impl Fn(usize) -> Option<End>) -> Option<(End, End)> {
    let slot = (block.0 % BLOCKS_PER_ENTRY) as usize;
    let start = match slot.checked_sub(1) {
        Some(before) => end_at(before)?,
        None => End::default(),
    };
    Some((start, end_at(slot)?))
}

/// Looks up `block` in an index entry, without conditional jumps on the decoded numbers. The table
/// has `value_count` values, at most 2^40 (R-6). Returns `None` if [`look_up`] must decide: the
/// entry has an overflow entry, is out of order, or has ranks above `value_count`.
#[inline(always)]
pub(crate) fn look_up_compact(
    entry: &[u8; ENTRY_LEN as usize],
    block: BlockIndex,
    value_count: u64,
) -> Option<BlockSpan> {
    // No load is outside of the entry, so `u64::MAX` is never used.
    let word = |at: usize| u64_at(entry, at).unwrap_or(u64::MAX);
    let (heads_base, rank_base) = (word(0), word(8));
    let slot = (block.0 % BLOCKS_PER_ENTRY) as usize;
    // One load contains both ends: the end of the block in the upper three bytes, the end of the
    // block before it in the next three. For the first block these three are the highest bytes of
    // the rank base, which are zero below 2^40; a base of 2^40 then counts as out of order.
    let ends = word(11 + 3 * slot);
    let (start, end) = (End::unpack(ends >> 16), End::unpack(ends >> 40));
    let span = BlockSpan {
        heads_start: heads_base.wrapping_add(start.bytes),
        heads_end: heads_base.wrapping_add(end.bytes),
        rank_start: rank_base.wrapping_add(start.ranks),
        rank_end: rank_base.wrapping_add(end.ranks),
    };
    // Each number below is negative if it is invalid, so the OR of all is negative if any is
    // invalid.
    let invalid = heads_base.cast_signed()
        | span.rank_start.cast_signed()
        | span.rank_end.wrapping_sub(span.rank_start).cast_signed()
        | span.heads_end.wrapping_sub(span.heads_start).cast_signed()
        | value_count.wrapping_sub(span.rank_end).cast_signed();
    (invalid >= 0).then_some(span)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Writes an index of blocks with these numbers of values and bytes, and reads the spans back.
    fn round_trip(blocks: &[(u64, u64)]) -> Vec<BlockSpan> {
        let (mut entries, mut writer) = (Vec::new(), IndexWriter::default());
        let (mut heads_end, mut rank_end) = (0, 0);
        for &(values, bytes) in blocks {
            rank_end += values;
            heads_end += bytes;
            writer.push(heads_end, rank_end, &mut entries);
        }
        let overflow = writer.finish(&mut entries);
        (0..blocks.len() as u64)
            .map(BlockIndex)
            .map(|block| match look_up(&entries[entry_offset(block) as usize..], block).unwrap() {
                Lookup::Span(span) => {
                    let entry = entries[entry_offset(block) as usize..].first_chunk().unwrap();
                    assert_eq!(look_up_compact(entry, block, rank_end), Some(span));
                    span
                }
                Lookup::Overflow { offset, entry } => {
                    look_up_overflow(&overflow[offset as usize..], block, &entry).unwrap()
                }
            })
            .collect()
    }

    proptest! {
        #[test]
        fn every_block_is_found_where_it_was_put(
            blocks in prop::collection::vec((0..600_u64, 0..600_u64), 1..80),
        ) {
            let mut expected = BlockSpan::default();
            for (span, &(values, bytes)) in round_trip(&blocks).iter().zip(&blocks) {
                expected.rank_start = expected.rank_end;
                expected.heads_start = expected.heads_end;
                expected.rank_end += values;
                expected.heads_end += bytes;
                prop_assert_eq!(*span, expected);
            }
        }

        #[test]
        fn any_bytes_as_an_entry_give_a_span_or_a_fault(
            entry: [u8; 32], rest: [u8; 32], block in 0..16_u64, order in prop::bool::weighted(0.9), small in prop::bool::weighted(0.9),
        ) {
            let mut entry = [entry, rest].concat();
            if order {
                entry[16..].as_chunks_mut::<3>().0.sort_by_key(|&[_, middle, high]| (high, middle & 0xf0));
            }
            if small {
                entry[4..8].fill(0);
                entry[12..16].fill(0);
            }
            let quick = look_up_compact(entry.first_chunk().unwrap(), BlockIndex(block), 1 << 39);
            prop_assert!(quick.is_none_or(|span| look_up(&entry, BlockIndex(block)) == Ok(Lookup::Span(span))));
            if let Ok(Lookup::Span(span)) = look_up(&entry, BlockIndex(block)) {
                prop_assert!(span.rank_start <= span.rank_end && span.heads_start <= span.heads_end);
            }
        }
    }

    #[test]
    fn an_entry_overflows_where_twelve_bits_end() {
        for (values, bytes, overflow_expected) in
            [(4095, 4095, false), (4096, 4096, true), (100, 4096, true), (4096, 100, true)]
        {
            let (mut entries, mut writer) = (Vec::new(), IndexWriter::default());
            writer.push(bytes, values, &mut entries);
            let overflow = writer.finish(&mut entries);
            assert_eq!(entries.len() as u64, ENTRY_LEN);
            assert_eq!(!overflow.is_empty(), overflow_expected);
        }
    }
}
