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
    /// The pages on which the entries and the heads begin.
    first_page: u64,
    first_page_of_heads: u64,
    value_count: u64,
    checked: &'a CheckedPages,
    /// Whether all pages of the index and of the heads are verified.
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
            first_page_of_heads: table.heads.offset / PAGE_LEN as u64,
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
        if (self.is_verified || self.checked.contains(page as usize))
            && let Some(entry) = self.entries.get(number as usize)
            && let Some(span) = prefix_index::look_up_compact(entry, block, self.value_count)
        {
            return Ok(span);
        }
        self.reader.span_checked(block)
    }

    /// Prefetches the first and the last cache line of the heads of a block; nearly all have one or
    /// two.
    #[inline(always)]
    pub(crate) fn prefetch_heads(&self, span: &BlockSpan) {
        prefetch(self.heads, span.heads_start as usize);
        prefetch(self.heads, span.heads_end.wrapping_sub(1) as usize);
    }

    /// Whether the heads of a block lie on verified pages; it may be so where this says no.
    #[inline(always)]
    pub(crate) fn has_verified_heads(&self, span: &BlockSpan) -> bool {
        let page_of = |at: u64| (self.first_page_of_heads + at / PAGE_LEN as u64) as usize;
        let last = span.heads_end.saturating_sub(1);
        span.heads_end <= self.heads.len() as u64
            && (self.is_verified
                || (span.heads_len() <= PAGE_LEN as u64
                    && self.checked.contains(page_of(span.heads_start))
                    && self.checked.contains(page_of(last))))
    }
}
