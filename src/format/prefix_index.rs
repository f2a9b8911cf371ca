//! The prefix index: for each block the bytes of its heads and the ranks of its values,
//! in lines of one cache line for 16 blocks.

#[cfg(feature = "build")]
mod write;

use crate::bytes::{u32_at, u64_at};
use crate::error::Fault;
use crate::section::BlockIndex;
#[cfg(feature = "build")]
pub(crate) use write::LineWriter;

/// Blocks a line tells of.
pub(crate) const BLOCKS_PER_LINE: u64 = 16;
/// Bytes of a line.
pub(crate) const LINE_LEN: u64 = 64;
/// Bytes of a wide line: 16 pairs of u64.
pub(crate) const WIDE_LINE_LEN: u64 = 256;
/// The most leading bits that can name a block.
pub(crate) const BLOCK_BITS_MAX: u32 = 40;

/// In the first word of a line: the ends are in a wide line.
const WIDE: u64 = 1 << 63;
/// Ends in a narrow line have 12 bits.
const NARROW_BITS: u32 = 12;
pub(crate) const NARROW_MAX: u64 = (1 << NARROW_BITS) - 1;
/// A bit above each of two such numbers, one in each half of a word.
const GUARDS: u64 = 1 << NARROW_BITS | 1 << (32 + NARROW_BITS);
/// Ranks below this leave the three highest bytes of their base zero.
const RANKS_IN_FIVE_BYTES: u64 = 1 << 40;

/// The bytes of the index section.
pub(crate) fn section_len(block_bits: u32) -> u64 {
    (1_u64 << block_bits).div_ceil(BLOCKS_PER_LINE) * LINE_LEN
}

/// Where the line of a block starts in the index section.
#[inline]
pub(crate) fn line_offset(block: BlockIndex) -> u64 {
    block.0 / BLOCKS_PER_LINE * LINE_LEN
}

/// Where a block lies: bytes of the heads section, ranks of the table.
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

    /// The bytes of its heads.
    pub(crate) fn heads_len(&self) -> u64 {
        self.heads_end - self.heads_start
    }
}

/// What a line says of one of its blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    Span(BlockSpan),
    /// The wide line at this offset of its section says it.
    Wide {
        offset: u64,
        line: Line,
    },
}

/// The bases of a line: where its first block starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) heads_base: u64,
    pub(crate) rank_base: u64,
    /// The number of its wide line, if it has one.
    pub(crate) wide: Option<u64>,
}

impl Line {
    /// Reads the bases in `line`, 64 bytes.
    #[inline]
    pub(crate) fn read(line: &[u8]) -> Result<Self, Fault> {
        let word = |at: usize| u64_at(line, at).ok_or_else(|| short(LINE_LEN, line));
        let first = word(0)?;
        let rank_base = word(8)?;
        if first & WIDE == 0 {
            return Ok(Line { heads_base: first, rank_base, wide: None });
        }
        Ok(Line { heads_base: word(16)?, rank_base, wide: Some(first & !WIDE) })
    }

    /// Whether the end of its last block does not fit a narrow line.
    pub(crate) fn needs_wide(&self, last: &BlockSpan) -> bool {
        let ranks = last.rank_end.saturating_sub(self.rank_base);
        let extra = last.heads_end.saturating_sub(self.heads_base).saturating_sub(ranks);
        ranks.max(extra) > NARROW_MAX
    }
}

/// The start and end of a block relative to the bases of its line.
struct Ends {
    ranks: (u64, u64),
    extra: (u64, u64),
}

impl Ends {
    /// Bytes are ranks plus extra bytes: nearly all gaps take one byte.
    fn span(&self, line: &Line) -> Option<BlockSpan> {
        let Line { heads_base, rank_base, .. } = *line;
        let start = heads_base.checked_add(self.ranks.0)?.checked_add(self.extra.0)?;
        let end = heads_base.checked_add(self.ranks.1)?.checked_add(self.extra.1)?;
        let span = BlockSpan {
            heads_start: start,
            heads_end: end,
            rank_start: rank_base.checked_add(self.ranks.0)?,
            rank_end: rank_base.checked_add(self.ranks.1)?,
        };
        (span.rank_start <= span.rank_end && start <= end).then_some(span)
    }
}

fn disorder() -> Fault {
    Fault::rule(15, "ends of blocks not ascending")
}

fn short(needed: u64, found: &[u8]) -> Fault {
    Fault::Truncated { needed, found: found.len() as u64 }
}

/// Reads what `line`, 64 bytes, says of `block`.
#[inline]
pub(crate) fn look_up(bytes: &[u8], block: BlockIndex) -> Result<Lookup, Fault> {
    let line = Line::read(bytes)?;
    if let Some(number) = line.wide {
        let offset = number.checked_mul(WIDE_LINE_LEN).ok_or_else(disorder)?;
        return Ok(Lookup::Wide { offset, line });
    }
    let slot = (block.0 % BLOCKS_PER_LINE) as usize;
    // The upper three of four bytes are an end.
    let end_at = |slot: usize| {
        let packed = u64::from(u32_at(bytes, 15 + 3 * slot)? >> 8);
        Some((packed & NARROW_MAX, packed >> NARROW_BITS))
    };
    let end = end_at(slot).ok_or_else(|| short(LINE_LEN, bytes))?;
    let start = match slot.checked_sub(1) {
        Some(before) => end_at(before).ok_or_else(|| short(LINE_LEN, bytes))?,
        None => (0, 0),
    };
    let ends = Ends { ranks: (start.0, end.0), extra: (start.1, end.1) };
    ends.span(&line).map(Lookup::Span).ok_or_else(disorder)
}

/// What a narrow line of a table of so many values says of `block`; `None` if the line is wide, out
/// of order, beyond the values or beyond 2^40, for [`look_up`] to see to.
#[inline(always)]
pub(crate) fn look_up_narrow(
    line: &[u8; LINE_LEN as usize],
    block: BlockIndex,
    value_count: u64,
) -> Option<BlockSpan> {
    let (span, bases) = look_up_known(line, block);
    // Each difference is negative where something is wrong.
    let doubt = bases
        | span.rank_start.cast_signed()
        | span.rank_end.wrapping_sub(span.rank_start).cast_signed()
        | extra_len(&span).cast_signed()
        | value_count.min(RANKS_IN_FIVE_BYTES).wrapping_sub(span.rank_end).cast_signed();
    (doubt >= 0).then_some(span)
}

/// Bytes of a block beyond one for each value.
#[inline(always)]
fn extra_len(span: &BlockSpan) -> u64 {
    let heads_len = span.heads_end.wrapping_sub(span.heads_start);
    heads_len.wrapping_sub(span.rank_end.wrapping_sub(span.rank_start))
}

/// As [`look_up_narrow`], of a line that [`is_known`], but for who looks many up and asks once: if
/// the line is wide, the second number is negative and the span means nothing.
#[inline(always)]
pub(crate) fn look_up_known(line: &[u8; LINE_LEN as usize], block: BlockIndex) -> (BlockSpan, i64) {
    // All loads are within the line.
    let word = |at: usize| u64_at(line, at).unwrap_or(u64::MAX);
    let (heads_base, rank_base) = (word(0), word(8));
    let slot = (block.0 % BLOCKS_PER_LINE) as usize;
    // One load ends with the end of the block; before it lies the end of the block before, and
    // for the first block the highest bytes of the base of ranks, which are zero.
    let ends = word(11 + 3 * slot);
    let (ranks, extra) = (ends >> 40 & NARROW_MAX, ends >> 52);
    let (ranks_before, extra_before) = (ends >> 16 & NARROW_MAX, ends >> 28 & NARROW_MAX);
    let span = BlockSpan {
        heads_start: heads_base.wrapping_add(ranks_before + extra_before),
        heads_end: heads_base.wrapping_add(ranks + extra),
        rank_start: rank_base.wrapping_add(ranks_before),
        rank_end: rank_base.wrapping_add(ranks),
    };
    (span, heads_base.cast_signed())
}

/// Whether [`look_up_known`] may be asked for any block of a line: it is wide, or narrow and as it should be in a table
/// of so many values and bytes of heads.
pub(crate) fn is_known(line: &[u8; LINE_LEN as usize], value_count: u64, heads_len: u64) -> bool {
    let word = |at: usize| u64_at(line, at).unwrap_or(u64::MAX);
    let (heads_base, rank_base) = (word(0), word(8));
    if heads_base & WIDE != 0 {
        return true;
    }
    let (mut before, mut in_order) = (0, true);
    for slot in 0..BLOCKS_PER_LINE as usize {
        let end = u32_at(line, 15 + 3 * slot).unwrap_or(0) >> 8;
        // Both parts ascend if neither borrows.
        let parts = |end: u32| u64::from(end) & NARROW_MAX | u64::from(end >> NARROW_BITS) << 32;
        let rise = (parts(end) | GUARDS) - parts(before);
        in_order &= rise & GUARDS == GUARDS;
        before = end;
    }
    let (ranks, extra) = (u64::from(before) & NARROW_MAX, u64::from(before >> NARROW_BITS));
    let within = |base: u64, ends: u64, most: u64| base <= most && ends <= most - base;
    in_order
        && within(rank_base, ranks, value_count.min(RANKS_IN_FIVE_BYTES - 1))
        && within(heads_base, ranks + extra, heads_len)
}

/// Reads what a wide line, 256 bytes, says of `block`.
pub(crate) fn look_up_wide(
    wide: &[u8],
    block: BlockIndex,
    line: &Line,
) -> Result<BlockSpan, Fault> {
    let end_at = |slot: usize| Some((u64_at(wide, 16 * slot)?, u64_at(wide, 16 * slot + 8)?));
    let slot = (block.0 % BLOCKS_PER_LINE) as usize;
    let end = end_at(slot).ok_or_else(|| short(WIDE_LINE_LEN, wide))?;
    let start = match slot.checked_sub(1) {
        Some(before) => end_at(before).ok_or_else(|| short(WIDE_LINE_LEN, wide))?,
        None => (0, 0),
    };
    let ends = Ends { ranks: (start.0, end.0), extra: (start.1, end.1) };
    ends.span(line).ok_or_else(disorder)
}

#[cfg(all(test, feature = "build"))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What the index says of every block of blocks with these value counts and extra bytes.
    fn round_trip(blocks: &[(u64, u64)]) -> Vec<BlockSpan> {
        let (mut lines, mut writer) = (Vec::new(), LineWriter::default());
        let (mut heads_end, mut rank_end) = (0, 0);
        for &(values, extra) in blocks {
            rank_end += values;
            heads_end += values + extra;
            writer.push(heads_end, rank_end, &mut lines);
        }
        let wide = writer.finish(&mut lines);
        for line in lines.as_chunks().0 {
            assert!(is_known(line, rank_end, heads_end));
            let last = look_up_known(line, BlockIndex(BLOCKS_PER_LINE - 1));
            let ends_there = last.1 >= 0 && last.0.rank_end == rank_end;
            assert!(!ends_there || rank_end == 0 || !is_known(line, rank_end - 1, heads_end));
            assert!(!ends_there || heads_end == 0 || !is_known(line, rank_end, heads_end - 1));
        }
        (0..blocks.len() as u64)
            .map(BlockIndex)
            .map(|block| match look_up(&lines[line_offset(block) as usize..], block).unwrap() {
                Lookup::Span(span) => {
                    let line = lines[line_offset(block) as usize..].first_chunk().unwrap();
                    assert_eq!(look_up_narrow(line, block, rank_end), Some(span));
                    assert_eq!(look_up_known(line, block).0, span);
                    span
                }
                Lookup::Wide { offset, line } => {
                    look_up_wide(&wide[offset as usize..], block, &line).unwrap()
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
            for (span, &(values, extra)) in round_trip(&blocks).iter().zip(&blocks) {
                expected.rank_start = expected.rank_end;
                expected.heads_start = expected.heads_end;
                expected.rank_end += values;
                expected.heads_end += values + extra;
                prop_assert_eq!(*span, expected);
            }
        }

        #[test]
        fn any_bytes_as_a_line_give_a_span_or_a_fault(
            line: [u8; 32], rest: [u8; 32], block in 0..16_u64, order in prop::bool::weighted(0.9), small in prop::bool::weighted(0.9),
        ) {
            let mut line = [line, rest].concat();
            if order {
                line[16..].as_chunks_mut::<3>().0.sort_by_key(|&[_, middle, high]| (high, middle & 0xf0));
            }
            if small {
                line[4..8].fill(0);
                line[12..16].fill(0);
            }
            let known: &[u8; 64] = line.first_chunk().unwrap();
            if is_known(known, 1 << 39, 1 << 40) {
                for block in (0..BLOCKS_PER_LINE).map(BlockIndex) {
                    let (span, wide) = look_up_known(known, block);
                    prop_assert!(wide < 0 || look_up(&line, block) == Ok(Lookup::Span(span)));
                }
            }
            let quick = look_up_narrow(line.first_chunk().unwrap(), BlockIndex(block), 1 << 39);
            prop_assert!(quick.is_none_or(|span| look_up(&line, BlockIndex(block)) == Ok(Lookup::Span(span))));
            if let Ok(Lookup::Span(span)) = look_up(&line, BlockIndex(block)) {
                prop_assert!(span.rank_start <= span.rank_end && span.heads_start <= span.heads_end);
            }
        }
    }

    #[test]
    fn a_line_turns_wide_where_twelve_bits_end() {
        for (values, wide_expected) in [(4095, false), (4096, true)] {
            let (mut lines, mut writer) = (Vec::new(), LineWriter::default());
            writer.push(values, values, &mut lines);
            let wide = writer.finish(&mut lines);
            assert_eq!(lines.len() as u64, LINE_LEN);
            assert_eq!(!wide.is_empty(), wide_expected);
        }
    }
}
