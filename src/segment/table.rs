//! One table of an open segment: from a block to its heads, from a rank to its tail.

use std::cell::Cell;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::bits::packing;
use crate::bits::permutation::{Permutation, Permuted};
use crate::checksum::PAGE_LEN;
use crate::error::{Error, Fault, Result};
use crate::format::codec::Block;
use crate::format::directory::SectionPlace;
use crate::format::header::TableDescriptor;
use crate::format::prefix_index::{self, BlockSpan, ENTRY_LEN, Lookup, OVERFLOW_ENTRY_LEN};
use crate::section::{BlockIndex, Rank, Section, TableIndex};
use crate::segment::Segment;

/// Where a table lies in its segment, and how its values are cut.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) index: TableIndex,
    pub(crate) descriptor: TableDescriptor,
    pub(crate) permutation: Permutation,
    pub(crate) entries: SectionPlace,
    pub(crate) overflow_entries: SectionPlace,
    pub(crate) tails: SectionPlace,
    pub(crate) heads: SectionPlace,
    /// Pages of index entries and heads that are not yet verified.
    unverified: AtomicU64,
}

impl Table {
    pub(super) fn new(
        index: TableIndex,
        descriptor: TableDescriptor,
        place: impl Fn(Section) -> Result<SectionPlace>,
    ) -> Result<Self> {
        let (entries, heads) = (place(Section::PrefixIndex(index))?, place(Section::Heads(index))?);
        let pages = |place: &SectionPlace| place.len.div_ceil(PAGE_LEN as u64);
        Ok(Table {
            index,
            descriptor,
            permutation: Permutation::new(descriptor.mask),
            overflow_entries: place(Section::OverflowEntries(index))?,
            tails: place(Section::Tails(index))?,
            unverified: AtomicU64::new(pages(&entries) + pages(&heads)),
            entries,
            heads,
        })
    }

    /// Counts one more page of a section as verified.
    pub(super) fn note_verified(&self, section: Section) {
        if matches!(section, Section::PrefixIndex(_) | Section::Heads(_)) {
            self.unverified.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Whether all pages of index entries and heads are verified.
    #[inline]
    pub(super) fn is_verified(&self) -> bool {
        // As with the bit of a page, there is nothing to order.
        self.unverified.load(Ordering::Relaxed) == 0
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

/// Reads one table of a segment; every byte that it returns is on a verified page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableReader<'a> {
    pub(super) segment: &'a Segment,
    pub(super) table: &'a Table,
    /// Counts the pages whose checksum this reader compares.
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
    /// The tables in order.
    pub(crate) fn tables(&self) -> impl ExactSizeIterator<Item = TableReader<'_>> {
        self.table_list().iter().map(|table| TableReader { segment: self, table, counter: None })
    }

    /// The first table, whose order is that of ids and deletions.
    pub(crate) fn first_table(&self) -> Option<TableReader<'_>> {
        self.tables().next()
    }

    /// The table at a position.
    #[inline]
    pub(crate) fn table(&self, number: usize) -> Option<TableReader<'_>> {
        let table = self.table_list().get(number)?;
        Some(TableReader { segment: self, table, counter: None })
    }
}

impl<'a> TableReader<'a> {
    /// The same reader; it adds the pages that it verifies to `counter`.
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

    /// A fault at `offset` bytes into a section of this table.
    #[cold]
    pub(crate) fn corrupt(self, place: &SectionPlace, offset: u64, fault: Fault) -> Error {
        self.segment.corrupt(place, offset, fault)
    }

    /// Where a block lies.
    pub(crate) fn span(self, block: BlockIndex) -> Result<BlockSpan> {
        self.index_reader().span(block)
    }

    /// Where a block lies, by the checked path: it verifies pages, follows overflow entries, and
    /// names what is wrong.
    #[cold]
    pub(super) fn span_checked(self, block: BlockIndex) -> Result<BlockSpan> {
        let (entries, overflow_entries) = (&self.table.entries, &self.table.overflow_entries);
        let offset = prefix_index::entry_offset(block);
        let entry = self.bytes(entries, offset, ENTRY_LEN)?;
        let lookup = prefix_index::look_up(entry, block)
            .map_err(|fault| self.corrupt(entries, offset, fault))?;
        let span = match lookup {
            Lookup::Span(span) => span,
            Lookup::Overflow { offset, entry } => {
                let overflow = self.bytes(overflow_entries, offset, OVERFLOW_ENTRY_LEN)?;
                prefix_index::look_up_overflow(overflow, block, &entry)
                    .map_err(|fault| self.corrupt(overflow_entries, offset, fault))?
            }
        };
        // The length of the heads section is checked when its bytes are taken.
        if span.rank_end > self.segment.header().fingerprint_count {
            let fault = Fault::rule(15, "block ends beyond the last value");
            return Err(self.corrupt(entries, offset, fault));
        }
        Ok(span)
    }

    /// The heads of a block that lies at `span`.
    #[inline(always)]
    pub(crate) fn block(self, block: BlockIndex, span: &BlockSpan) -> Result<Block<'a>> {
        let bytes = self.bytes(&self.table.heads, span.heads_start, span.heads_len())?;
        let first_head = self.first_head(block);
        let codec = self.table.descriptor.codec;
        codec
            .block(bytes, span.value_count(), first_head)
            .map_err(|fault| self.corrupt(&self.table.heads, span.heads_start, fault))
    }

    /// Prefetches the cache line with the tail of the value at `rank`.
    #[inline(always)]
    pub(crate) fn prefetch_tail(self, rank: Rank) {
        let offset = packing::load_offset(rank.0, self.table.descriptor.tail_bits);
        self.segment.prefetch(&self.table.tails, offset);
    }

    /// Starts reading the page with the tail of the value at `rank` from the disk.
    pub(crate) fn readahead_tail(self, rank: Rank) {
        let width = self.table.descriptor.tail_bits;
        if width > 0 {
            let offset = packing::load_offset(rank.0, width);
            self.segment.readahead(&self.table.tails, offset, packing::GUARD_LEN);
        }
    }

    /// Starts reading the pages of some heads from the disk.
    pub(crate) fn readahead_heads(self, span: &BlockSpan) {
        self.segment.readahead(&self.table.heads, span.heads_start, span.heads_len());
    }

    /// Starts reading the page with the index entry of a block from the disk.
    pub(crate) fn readahead_entry(self, block: BlockIndex) {
        self.segment.readahead(&self.table.entries, prefix_index::entry_offset(block), ENTRY_LEN);
    }

    /// The tail of the value at `rank`.
    #[inline]
    pub(crate) fn tail(self, rank: Rank) -> Result<u64> {
        let width = self.table.descriptor.tail_bits;
        if width == 0 {
            return Ok(0);
        }
        let offset = packing::load_offset(rank.0, width);
        let loaded = self.bytes(&self.table.tails, offset, packing::GUARD_LEN)?;
        packing::unpack(loaded, rank.0, width).ok_or_else(|| {
            let fault = Fault::Truncated { needed: packing::GUARD_LEN, found: 0 };
            self.corrupt(&self.table.tails, offset, fault)
        })
    }

    /// The rank of a value, if the table has it.
    pub(crate) fn find(self, value: Permuted) -> Result<Option<Rank>> {
        let block = self.block_of(value);
        let span = self.span(block)?;
        let wanted = self.head_of(value);
        let located = |fault| self.corrupt(&self.table.heads, span.heads_start, fault);
        let mut heads = self.block(block, &span)?.heads_from(wanted).map_err(located)?;
        let mut some = [0; 16];
        loop {
            let rank = span.rank_start + heads.position();
            let filled = heads.fill(&mut some).map_err(located)?;
            for (rank, &head) in (rank..).map(Rank).zip(&some).take(filled) {
                if head > wanted {
                    return Ok(None);
                }
                if head == wanted && self.value(head, self.tail(rank)?) == value {
                    return Ok(Some(rank));
                }
            }
            if filled < some.len() {
                return Ok(None);
            }
        }
    }

    /// Advises the system that the table is about to be read from first to last.
    pub(crate) fn advise_sequential(self) {
        self.segment.advise_sequential(self.places());
    }

    /// Advises the system that single pages of the table will be read.
    pub(crate) fn advise_random(self) {
        self.segment.advise_random(self.places());
    }

    fn places(self) -> [&'a SectionPlace; 4] {
        let Table { entries, tails, heads, overflow_entries, .. } = self.table;
        [entries, tails, heads, overflow_entries]
    }
}
