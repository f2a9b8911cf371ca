//! Where the blocks of a table lie, looked up many at a time.

use crate::bits::prefetch::prefetch;
use crate::checksum::PAGE_LEN;
use crate::error::Result;
use crate::format::prefix_index::{self, BLOCKS_PER_LINE, BlockSpan, LINE_LEN};
use crate::section::BlockIndex;
use crate::segment::{CheckedPages, Mapped, Table};

/// Index lines of a page.
const LINES_PER_PAGE: u64 = PAGE_LEN as u64 / LINE_LEN;

/// The blocks of one table, by its prefix index.
#[derive(Debug)]
pub(crate) struct Blocks<'a> {
    segment: &'a Mapped,
    table: &'a Table,
    lines: &'a [[u8; LINE_LEN as usize]],
    heads: &'a [u8],
    /// The page of the first line; sections start with a page.
    first_page: u64,
    value_count: u64,
    checked: &'a CheckedPages,
    all_checked: bool,
}

impl Blocks<'_> {
    /// Asks for the index line of a block.
    #[inline(always)]
    pub(crate) fn prefetch(&self, block: BlockIndex) {
        if let Some(line) = self.lines.get((block.0 / BLOCKS_PER_LINE) as usize) {
            prefetch(line, 0);
        }
    }

    /// Where a block lies.
    #[inline(always)]
    pub(crate) fn span(&self, block: BlockIndex, pages_checked: &mut u64) -> Result<BlockSpan> {
        let number = block.0 / BLOCKS_PER_LINE;
        let page = self.first_page + number / LINES_PER_PAGE;
        // Nearly all lines are narrow, in order, and on a page that was checked before.
        if self.checked.contains(page as usize)
            && let Some(line) = self.lines.get(number as usize)
            && let Some(span) = prefix_index::look_up_narrow(line, block, self.value_count)
        {
            return Ok(span);
        }
        self.segment.span_with_care(self.table, block, pages_checked)
    }

    /// Hands over where each of some blocks lies, and says whether all that is true: else a page was not checked before, or
    /// a line is wide, and [`Blocks::span`] must be asked.
    #[inline(always)]
    pub(crate) fn spans_at_once(
        &self,
        blocks: impl Iterator<Item = BlockIndex>,
        mut take: impl FnMut(BlockIndex, BlockSpan),
    ) -> bool {
        if !self.all_checked {
            return false;
        }
        let mut doubt = 0;
        for block in blocks {
            let Some(line) = self.lines.get((block.0 / BLOCKS_PER_LINE) as usize) else {
                return false;
            };
            let (span, doubt_here) = prefix_index::look_up_known(line, block);
            doubt |= doubt_here;
            self.prefetch_heads(&span);
            take(block, span);
        }
        doubt >= 0
    }

    /// Asks for the heads of a block.
    #[inline(always)]
    pub(crate) fn prefetch_heads(&self, span: &BlockSpan) {
        // The first and the last line of what is one or two.
        prefetch(self.heads, span.heads_start as usize);
        prefetch(self.heads, span.heads_end.wrapping_sub(1) as usize);
    }

    /// Whether the heads of a block lie on pages that were checked before.
    #[inline(always)]
    pub(crate) fn has_checked_heads(&self, span: &BlockSpan) -> bool {
        let start = self.table.heads.offset.wrapping_add(span.heads_start);
        let (page, within) = (start / PAGE_LEN as u64, start % PAGE_LEN as u64);
        let end = within + span.heads_len();
        // Blocks on more than two pages are seen to by those who read them.
        span.heads_end <= self.heads.len() as u64
            && self.checked.contains(page as usize)
            && (end <= PAGE_LEN as u64
                || (end <= 2 * PAGE_LEN as u64 && self.checked.contains(page as usize + 1)))
    }
}

impl Mapped {
    /// The blocks of a table, to look up many.
    #[inline]
    pub(crate) fn blocks<'a>(&'a self, table: &'a Table) -> Blocks<'a> {
        let lines = self.section(&table.lines).as_chunks().0;
        let first_page = table.lines.offset / PAGE_LEN as u64;
        let value_count = self.header().fingerprint_count;
        let (heads, checked) = (self.section(&table.heads), self.checked());
        let all_checked = table.is_checked();
        Blocks { segment: self, table, lines, heads, first_page, value_count, checked, all_checked }
    }
}
