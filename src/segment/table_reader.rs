//! Reads one table of an open segment, for callers with many lookups: from a block to its heads,
//! from a rank to its tail.

use std::cell::Cell;
use std::ops::Deref;

use crate::base::error::{Error, Fault, Result};
use crate::base::section::{BlockIndex, Rank};
use crate::bytes::checksum::PAGE_LEN;
use crate::bytes::packing::{self, Packed};
use crate::bytes::permutation::Permuted;
use crate::bytes::prefetch::prefetch;
use crate::format::codec::Block;
use crate::format::directory::SectionPlace;
use crate::format::prefix_index::{self, BLOCKS_PER_ENTRY, BlockSpan, ENTRY_LEN};
use crate::segment::read::{CheckedPages, Segment};
use crate::segment::table::{SyndromeLayout, Table};

/// Reads one table of a segment; every returned byte is on a verified page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableReader<'a> {
    pub(super) segment: &'a Segment,
    pub(super) table: &'a Table,
    /// Counts the pages whose checksums this reader verifies, if set.
    counter: Option<&'a Cell<u64>>,
}

impl Deref for TableReader<'_> {
    type Target = Table;

    #[inline(always)]
    fn deref(&self) -> &Table {
        self.table
    }
}

impl Segment {
    /// The tables of the segment, in order.
    pub(crate) fn tables(&self) -> impl ExactSizeIterator<Item = TableReader<'_>> {
        self.tables.iter().map(|table| TableReader::new(self, table))
    }

    /// The first table; ids and deletions have its order.
    #[inline]
    pub(crate) fn first_table(&self) -> Option<WholeTable<'_>> {
        // A header whose first table has syndromes is rejected.
        self.tables().next().and_then(TableReader::whole)
    }

    /// The table that has this mask and stores whole values.
    pub(crate) fn whole_table(&self, mask: u64) -> Option<WholeTable<'_>> {
        self.tables().filter_map(TableReader::whole).find(|table| table.mask() == mask)
    }

    /// The table at a position.
    #[inline]
    pub(crate) fn table(&self, number: usize) -> Option<TableReader<'_>> {
        Some(TableReader::new(self, self.tables.get(number)?))
    }
}

impl<'a> TableReader<'a> {
    #[inline(always)]
    fn new(segment: &'a Segment, table: &'a Table) -> Self {
        TableReader { segment, table, counter: None }
    }

    /// This reader, but with newly verified pages counted in `counter`.
    #[inline(always)]
    pub(crate) fn counting(self, counter: &'a Cell<u64>) -> Self {
        TableReader { counter: Some(counter), ..self }
    }

    /// The bytes `offset .. offset + len` of a section of this table.
    #[inline(always)]
    pub(crate) fn bytes(self, place: &SectionPlace, offset: u64, len: u64) -> Result<&'a [u8]> {
        self.segment.bytes_counted(place, offset, len, self.counter)
    }

    /// The bytes from the start of the heads to the end of the file, verified or not.
    #[inline(always)]
    pub(crate) fn heads_and_after(self) -> &'a [u8] {
        self.segment.bytes_from(&self.table.heads)
    }

    /// The error for a fault at `offset` bytes into a section of this table.
    #[cold]
    pub(crate) fn corrupt(self, place: &SectionPlace, offset: u64, fault: Fault) -> Error {
        self.segment.corrupt(place, offset, fault)
    }

    /// The heads of a block whose positions are in `span`.
    #[inline(always)]
    pub(crate) fn block(self, block: BlockIndex, span: &BlockSpan) -> Result<Block<'a>> {
        let bytes = self.bytes(&self.table.heads, span.heads_start, span.heads_len())?;
        let first_head = self.first_head(block);
        let codec = self.table.descriptor.codec;
        codec
            .block(bytes, span.value_count(), first_head)
            .map_err(|fault| self.corrupt(&self.table.heads, span.heads_start, fault))
    }

    /// Prefetches the cache line with the stored tail of the value at `rank`.
    #[inline(always)]
    pub(crate) fn prefetch_tail(self, rank: Rank) {
        let offset = packing::load_offset(rank.0, self.stored_bits);
        self.segment.prefetch(&self.table.tails, offset);
    }

    /// This table, if it stores whole values.
    #[inline(always)]
    pub(crate) fn whole(self) -> Option<WholeTable<'a>> {
        match self.kind() {
            TableKind::Whole(table) => Some(table),
            TableKind::Syndromes(_) => None,
        }
    }

    #[inline(always)]
    pub(crate) fn kind(self) -> TableKind<'a> {
        match &self.table.syndromes {
            None => TableKind::Whole(WholeTable(self)),
            Some(layout) => TableKind::Syndromes(SyndromeTable { reader: self, layout }),
        }
    }
}

/// A table of either kind: with whole values, or with syndromes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TableKind<'a> {
    Whole(WholeTable<'a>),
    Syndromes(SyndromeTable<'a>),
}

/// A table that stores whole values, so that they can be read from it alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WholeTable<'a>(TableReader<'a>);

/// A table that stores syndromes in place of some bits; only the first table has its whole values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SyndromeTable<'a> {
    reader: TableReader<'a>,
    pub(crate) layout: &'a SyndromeLayout,
}

impl<'a> Deref for WholeTable<'a> {
    type Target = TableReader<'a>;

    #[inline(always)]
    fn deref(&self) -> &TableReader<'a> {
        &self.0
    }
}

impl<'a> Deref for SyndromeTable<'a> {
    type Target = TableReader<'a>;

    #[inline(always)]
    fn deref(&self) -> &TableReader<'a> {
        &self.reader
    }
}

impl<'a> WholeTable<'a> {
    /// The mask of the table; the bits under it are the leading bits of its values.
    pub(crate) fn mask(self) -> u64 {
        self.table.descriptor.mask.0
    }

    /// The value with this head and tail.
    #[inline]
    pub(crate) fn value(self, head: u64, tail: u64) -> Permuted {
        Permuted(head << self.table.descriptor.tail_bits | tail)
    }

    /// This reader, but with newly verified pages counted in `counter`.
    #[inline(always)]
    pub(crate) fn counting(self, counter: &'a Cell<u64>) -> Self {
        WholeTable(self.0.counting(counter))
    }
}

/// The number of index entries in a page.
const ENTRIES_PER_PAGE: u64 = PAGE_LEN as u64 / ENTRY_LEN;

/// Looks up blocks of one table in its prefix index.
#[derive(Debug)]
pub(crate) struct IndexReader<'a> {
    reader: TableReader<'a>,
    entries: &'a [[u8; ENTRY_LEN as usize]],
    heads: &'a [u8],
    /// The first page of the index entries, and the first page of the heads.
    first_page: u64,
    first_page_of_heads: u64,
    value_count: u64,
    checked: &'a CheckedPages,
    /// Whether all pages of the index and of the heads are verified.
    is_verified: bool,
}

impl<'a> TableReader<'a> {
    /// A reader of the prefix index of this table.
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

    /// The positions of the heads and values of a block.
    #[inline(always)]
    pub(crate) fn span(&self, block: BlockIndex) -> Result<BlockSpan> {
        let number = block.0 / BLOCKS_PER_ENTRY;
        let page = self.first_page + number / ENTRIES_PER_PAGE;
        // The fast path, for nearly all entries: compact, in order, and on a verified page.
        if (self.is_verified || self.checked.contains(page as usize))
            && let Some(entry) = self.entries.get(number as usize)
            && let Some(span) = prefix_index::look_up_compact(entry, block, self.value_count)
        {
            return Ok(span);
        }
        self.reader.span_checked(block)
    }

    /// Prefetches the first and the last cache line of the heads of a block; few blocks have more
    /// than two.
    #[inline(always)]
    pub(crate) fn prefetch_heads(&self, span: &BlockSpan) {
        prefetch(self.heads, span.heads_start as usize);
        prefetch(self.heads, span.heads_end.wrapping_sub(1) as usize);
    }

    /// Whether the heads of a block are known to be on verified pages; after `false` they can still
    /// be.
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

/// The bit-packed tails of a table, or the numbers that it stores in place of tails.
#[derive(Debug)]
pub(crate) struct Tails<'a> {
    packed: Packed<'a>,
    /// The page of the file with the first tail; each section starts on a new page.
    first_page: usize,
    checked: &'a CheckedPages,
}

impl<'a> TableReader<'a> {
    /// The tails section of this table.
    #[inline]
    pub(crate) fn tails(self) -> Tails<'a> {
        let place = &self.table.tails;
        Tails {
            packed: Packed { bytes: self.segment.section(place), width: self.table.stored_bits },
            first_page: place.offset as usize / PAGE_LEN,
            checked: self.segment.checked(),
        }
    }
}

impl Tails<'_> {
    /// Whether the tails from rank `first` to rank `last` are on one or two pages, all verified.
    #[inline(always)]
    pub(crate) fn are_verified(&self, first: Rank, last: Rank) -> bool {
        const GUARD_LEN: usize = packing::GUARD_LEN as usize;
        let Packed { bytes, width } = self.packed;
        let start = packing::load_offset(first.0, width) as usize;
        let end = (packing::load_offset(last.0, width) as usize).saturating_add(GUARD_LEN);
        let (page, last_page) = (start / PAGE_LEN, end.saturating_sub(1) / PAGE_LEN);
        let verified = end <= bytes.len()
            && last_page - page <= 1
            && self.checked.contains(self.first_page + page)
            && self.checked.contains(self.first_page + last_page);
        verified || width == 0
    }

    /// All bytes of the tails section, verified or not.
    pub(crate) fn packed(&self) -> Packed<'_> {
        self.packed
    }
}
