//! One table of an open segment: from a block to its heads, from a rank to its tail.

use crate::bits::packing;
use crate::bits::permutation::{Permutation, Permuted};
use crate::checksum::PAGE_LEN;
use crate::error::{Fault, Result};
use crate::format::directory::SectionPlace;
use crate::format::header::TableDescriptor;
use crate::format::heads::Block;
use crate::format::prefix_index::{self, BlockSpan, LINE_LEN, Lookup, WIDE_LINE_LEN};
use crate::section::{BlockIndex, Rank, Section, TableIndex};
use crate::segment::Mapped;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where a table lies in its segment, and how its values are cut.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) index: TableIndex,
    pub(crate) descriptor: TableDescriptor,
    pub(crate) permutation: Permutation,
    pub(crate) lines: SectionPlace,
    pub(crate) wide_lines: SectionPlace,
    pub(crate) tails: SectionPlace,
    pub(crate) heads: SectionPlace,
    /// Pages of the index lines and of the heads that were not checked yet, or have lines that break a rule.
    unchecked: AtomicU64,
}

impl Table {
    pub(crate) fn new(
        index: TableIndex,
        descriptor: TableDescriptor,
        lines: SectionPlace,
        wide_lines: SectionPlace,
        tails: SectionPlace,
        heads: SectionPlace,
    ) -> Self {
        let permutation = Permutation::new(descriptor.mask);
        let pages = |place: &SectionPlace| place.len.div_ceil(PAGE_LEN as u64);
        let unchecked = AtomicU64::new(pages(&lines) + pages(&heads));
        Table { index, descriptor, permutation, lines, wide_lines, tails, heads, unchecked }
    }

    /// Remembers that one more page of a section was checked.
    pub(super) fn note_checked(&self, section: Section, page: &[u8], value_count: u64) {
        let is_known = match section {
            Section::Heads(_) => true,
            Section::PrefixIndex(_) => {
                let (lines, heads_len) = (page.as_chunks().0, self.heads.len);
                lines.iter().all(|line| prefix_index::is_known(line, value_count, heads_len))
            }
            _ => false,
        };
        self.unchecked.fetch_sub(u64::from(is_known), Ordering::Relaxed);
    }

    /// Whether all index lines and heads were checked, and all [`prefix_index::is_known`] of the lines: what is left
    /// to test is nothing.
    #[inline]
    pub(super) fn is_checked(&self) -> bool {
        // As with the bit of a page, there is nothing to order.
        self.unchecked.load(Ordering::Relaxed) == 0
    }

    /// The block that holds a value.
    #[inline]
    pub(crate) fn block_of(&self, value: Permuted) -> BlockIndex {
        BlockIndex(value.0.checked_shr(64 - self.descriptor.block_bits).unwrap_or(0))
    }

    /// The head of a value.
    #[inline]
    pub(crate) fn head_of(&self, value: Permuted) -> u64 {
        value.0 >> self.descriptor.tail_bits
    }

    /// The lowest head that belongs to a block.
    #[inline]
    pub(crate) fn first_head(&self, block: BlockIndex) -> u64 {
        block.0.checked_shl(self.descriptor.inner_bits()).unwrap_or(0)
    }

    /// The highest head that belongs to a block.
    pub(crate) fn last_head(&self, block: BlockIndex) -> u64 {
        let inner = u64::MAX.checked_shr(64 - self.descriptor.inner_bits()).unwrap_or(0);
        self.first_head(block) | inner
    }

    /// The value with this head and tail.
    #[inline]
    pub(crate) fn value(&self, head: u64, tail: u64) -> Permuted {
        Permuted(head << self.descriptor.tail_bits | tail)
    }
}

impl Mapped {
    /// Where a block lies.
    pub(crate) fn span(
        &self,
        table: &Table,
        block: BlockIndex,
        pages_checked: &mut u64,
    ) -> Result<BlockSpan> {
        self.blocks(table).span(block, pages_checked)
    }

    #[cold]
    pub(super) fn span_with_care(
        &self,
        table: &Table,
        block: BlockIndex,
        pages_checked: &mut u64,
    ) -> Result<BlockSpan> {
        let offset = prefix_index::line_offset(block);
        let line = self.bytes(&table.lines, offset, LINE_LEN, pages_checked)?;
        let lookup = prefix_index::look_up(line, block)
            .map_err(|fault| self.corrupt(&table.lines, offset, fault))?;
        let span = match lookup {
            Lookup::Span(span) => span,
            Lookup::Wide { offset, line } => {
                let wide = self.bytes(&table.wide_lines, offset, WIDE_LINE_LEN, pages_checked)?;
                prefix_index::look_up_wide(wide, block, &line)
                    .map_err(|fault| self.corrupt(&table.wide_lines, offset, fault))?
            }
        };
        // The length of the heads section is checked when its bytes are taken.
        if span.rank_end > self.header().fingerprint_count {
            let fault = Fault::rule(15, "block ends beyond the last value");
            return Err(self.corrupt(&table.lines, offset, fault));
        }
        Ok(span)
    }

    /// The heads of a block that lies at `span`.
    #[inline(always)]
    pub(crate) fn block(
        &self,
        table: &Table,
        block: BlockIndex,
        span: &BlockSpan,
        pages_checked: &mut u64,
    ) -> Result<Block<'_>> {
        let len = span.heads_end - span.heads_start;
        let bytes = self.bytes(&table.heads, span.heads_start, len, pages_checked)?;
        Block::new(bytes, span.value_count(), table.first_head(block))
            .map_err(|fault| self.corrupt(&table.heads, span.heads_start, fault))
    }

    /// Asks for the tail of the value at `rank`.
    #[inline(always)]
    pub(crate) fn prefetch_tail(&self, table: &Table, rank: Rank) {
        let offset = packing::load_offset(rank.0, table.descriptor.tail_bits);
        self.prefetch(&table.tails, offset);
    }

    /// Asks the system for the page with the tail of the value at `rank`.
    pub(crate) fn announce_tail(&self, table: &Table, rank: Rank) {
        let width = table.descriptor.tail_bits;
        if width > 0 {
            let offset = packing::load_offset(rank.0, width);
            self.announce(&table.tails, offset, packing::GUARD_LEN);
        }
    }

    /// The tail of the value at `rank`.
    #[inline]
    pub(crate) fn tail(&self, table: &Table, rank: Rank, pages_checked: &mut u64) -> Result<u64> {
        let width = table.descriptor.tail_bits;
        if width == 0 {
            return Ok(0);
        }
        let offset = packing::load_offset(rank.0, width);
        let loaded = self.bytes(&table.tails, offset, packing::GUARD_LEN, pages_checked)?;
        packing::unpack(loaded, rank.0, width).ok_or_else(|| {
            let fault = Fault::Truncated { needed: packing::GUARD_LEN, found: 0 };
            self.corrupt(&table.tails, offset, fault)
        })
    }

    /// The rank of a value in a table, if the table has it.
    pub(crate) fn find(
        &self,
        table: &Table,
        value: Permuted,
        pages_checked: &mut u64,
    ) -> Result<Option<Rank>> {
        let block_index = table.block_of(value);
        let span = self.span(table, block_index, pages_checked)?;
        let block = self.block(table, block_index, &span, pages_checked)?;
        let wanted = table.head_of(value);
        let located = |fault| self.corrupt(&table.heads, span.heads_start, fault);
        let mut heads = block.heads_from(wanted).map_err(located)?;
        let mut found = Ok(None);
        let visit = |position: u64, head: u64| {
            let rank = Rank(span.rank_start + position);
            match self.tail(table, rank, pages_checked) {
                Ok(tail) if table.value(head, tail) == value => found = Ok(Some(rank)),
                Ok(_) => {}
                Err(error) => found = Err(error),
            }
            matches!(found, Ok(None))
        };
        heads.visit_range(wanted, wanted, visit).map_err(located)?;
        found
    }
}
