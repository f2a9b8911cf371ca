//! The prefix index of a table, for callers that look up many blocks.

use crate::bits::prefetch::prefetch;
use crate::checksum::PAGE_LEN;
use crate::error::Result;
use crate::format::prefix_index::{self, BLOCKS_PER_ENTRY, BlockSpan, ENTRY_LEN};
use crate::section::BlockIndex;
use crate::segment::{CheckedPages, TableReader};

/// Index entries of a page.
const ENTRIES_PER_PAGE: u64 = PAGE_LEN as u64 / ENTRY_LEN;

/// Looks up blocks of one table.
#[derive(Debug)]
pub(crate) struct IndexReader<'a> {
    reader: TableReader<'a>,
    entries: &'a [[u8; ENTRY_LEN as usize]],
    heads: &'a [u8],
    /// The page of the first entry; sections start with a page.
    first_page: u64,
    value_count: u64,
    checked: &'a CheckedPages,
    is_verified: bool,
}

impl<'a> TableReader<'a> {
    /// The prefix index of this table.
    #[inline]
    pub(crate) fn index_reader(self) -> IndexReader<'a> {
        let (segment, table) = (self.segment, self.table);
        IndexReader {
            reader: self,
            entries: segment.section(&table.entries).as_chunks().0,
            heads: segment.section(&table.heads),
            first_page: table.entries.offset / PAGE_LEN as u64,
            value_count: segment.header().fingerprint_count,
            checked: segment.checked(),
            is_verified: table.is_verified(),
        }
    }
}

impl IndexReader<'_> {
    /// Prefetches the cache line of the index entry of a block.
    #[inline(always)]
    pub(crate) fn prefetch(&self, block: BlockIndex) {
        if let Some(entry) = self.entries.get((block.0 / BLOCKS_PER_ENTRY) as usize) {
            prefetch(entry, 0);
        }
    }

    /// Where a block lies.
    #[inline(always)]
    pub(crate) fn span(&self, block: BlockIndex) -> Result<BlockSpan> {
        let number = block.0 / BLOCKS_PER_ENTRY;
        let page = self.first_page + number / ENTRIES_PER_PAGE;
        // Nearly all entries are compact, in order, and on a verified page.
        if self.checked.contains(page as usize)
            && let Some(entry) = self.entries.get(number as usize)
            && let Some(span) = prefix_index::look_up_compact(entry, block, self.value_count)
        {
            return Ok(span);
        }
        self.reader.span_checked(block)
    }

    /// Calls `take` with the span of each block and returns whether all spans are right. If not, a
    /// page is not verified or an entry has an overflow entry, and the caller must use
    /// [`IndexReader::span`].
    #[inline(always)]
    pub(crate) fn spans_verified(
        &self,
        blocks: impl Iterator<Item = BlockIndex>,
        mut take: impl FnMut(BlockSpan),
    ) -> bool {
        if !self.is_verified {
            return false;
        }
        let mut invalid = 0;
        for block in blocks {
            let Some(entry) = self.entries.get((block.0 / BLOCKS_PER_ENTRY) as usize) else {
                return false;
            };
            let (span, overflow) = prefix_index::look_up_verified(entry, block);
            invalid |= overflow;
            self.prefetch_heads(&span);
            take(span);
        }
        invalid >= 0
    }

    /// Prefetches the first and the last cache line of the heads of a block; nearly all have one or
    /// two.
    #[inline(always)]
    pub(crate) fn prefetch_heads(&self, span: &BlockSpan) {
        prefetch(self.heads, span.heads_start as usize);
        prefetch(self.heads, span.heads_end.wrapping_sub(1) as usize);
    }

    /// Whether the heads of a block lie on one or two pages that are verified.
    #[inline(always)]
    pub(crate) fn has_verified_heads(&self, span: &BlockSpan) -> bool {
        let start = self.reader.heads.offset.wrapping_add(span.heads_start);
        let (page, within) = (start / PAGE_LEN as u64, start % PAGE_LEN as u64);
        let end = within + span.heads_len();
        span.heads_end <= self.heads.len() as u64
            && self.checked.contains(page as usize)
            && (end <= PAGE_LEN as u64
                || (end <= 2 * PAGE_LEN as u64 && self.checked.contains(page as usize + 1)))
    }
}
