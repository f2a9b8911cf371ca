//! Single lookups in a table, for which the caller waits: a value, a tail, a block. Also readahead
//! for them.

use std::ops::Range;

use crate::base::error::{Fault, Result};
use crate::base::section::{BlockIndex, Rank};
use crate::bytes::packing;
use crate::bytes::permutation::Permuted;
use crate::format::directory::SectionPlace;
use crate::format::prefix_index::{self, BlockSpan, ENTRY_LEN, Lookup, OVERFLOW_ENTRY_LEN};
use crate::segment::table::Table;
use crate::segment::{ReadAhead, SyndromeTable, TableReader, WholeTable};

impl<'a> TableReader<'a> {
    /// The positions of the heads and values of a block.
    pub(crate) fn span(self, block: BlockIndex) -> Result<BlockSpan> {
        self.index_reader().span(block)
    }

    /// Like [`TableReader::span`], but slow and exact: it verifies pages, follows overflow entries,
    /// and reports the fault.
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
        // The end of the heads is checked later, when their bytes are read.
        if span.rank_end > self.segment.header().fingerprint_count {
            let fault = Fault::rule(15, "a block ends beyond the last value");
            return Err(self.corrupt(entries, offset, fault));
        }
        Ok(span)
    }

    /// Readahead for a range of bytes of a section of this table.
    pub(crate) fn read_ahead(self, place: &SectionPlace, bytes: Range<u64>) -> ReadAhead<'a> {
        ReadAhead::new(self.segment, place, bytes)
    }

    /// Starts reading the page with the tail of the value at `rank` from the disk.
    pub(crate) fn readahead_tail(self, rank: Rank) {
        let width = self.table.stored_bits;
        if width > 0 {
            let offset = packing::load_offset(rank.0, width);
            self.segment.readahead(&self.table.tails, offset, packing::GUARD_LEN);
        }
    }

    /// Starts reading the pages with the heads of a block from the disk.
    pub(crate) fn readahead_heads(self, span: &BlockSpan) {
        self.segment.readahead(&self.table.heads, span.heads_start, span.heads_len());
    }

    /// Starts reading the page with the index entry of a block from the disk.
    pub(crate) fn readahead_entry(self, block: BlockIndex) {
        self.segment.readahead(&self.table.entries, prefix_index::entry_offset(block), ENTRY_LEN);
    }

    /// The number that the tails section stores for the value at `rank`.
    #[inline]
    fn stored(self, rank: Rank) -> Result<u64> {
        let width = self.table.stored_bits;
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

    /// The number of values in all blocks before the block of `value`: a lower bound of its rank.
    pub(crate) fn rank_before(self, value: Permuted) -> Result<u64> {
        Ok(self.span(self.block_of(value))?.rank_start)
    }

    /// The number of values in the blocks up to and including the block of `value`: an upper bound
    /// of its rank.
    pub(crate) fn rank_after(self, value: Permuted) -> Result<u64> {
        Ok(self.span(self.block_of(value))?.rank_end)
    }

    /// Advises the system that the table is about to be read sequentially.
    pub(crate) fn advise_sequential(self) {
        self.segment.advise_sequential(self.places());
    }

    /// Advises the system that single pages of the table will be read, in any order.
    pub(crate) fn advise_random(self) {
        self.segment.advise_random(self.places());
    }

    fn places(self) -> [&'a SectionPlace; 4] {
        let Table { entries, tails, heads, overflow_entries, .. } = self.table;
        [entries, tails, heads, overflow_entries]
    }
}

impl SyndromeTable<'_> {
    /// The number stored for the value at `rank`: the bits of the tail that are under the mask,
    /// then the syndrome of its other bits.
    #[inline]
    pub(crate) fn number(self, rank: Rank) -> Result<u64> {
        self.stored(rank)
    }
}

impl WholeTable<'_> {
    /// The tail of the value at `rank`.
    #[inline]
    pub(crate) fn tail(self, rank: Rank) -> Result<u64> {
        self.stored(rank)
    }

    /// The rank of a value, or `None` if the table does not contain it.
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

    /// The value at a rank; the rank must be below the number of values of the table.
    pub(crate) fn value_at(self, rank: Rank) -> Result<Permuted> {
        // Finds the last block that starts at or before the rank.
        let (mut low, mut high) = (0, self.table.descriptor.block_count());
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            if self.span(BlockIndex(middle))?.rank_start <= rank.0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        let mut values = self.values_near(self.value(self.first_head(BlockIndex(low)), 0))?;
        while let Some((first, run)) = values.next_run()? {
            let at = rank.0.checked_sub(first.0).and_then(|at| usize::try_from(at).ok());
            if let Some(&value) = at.and_then(|at| run.get(at)) {
                return Ok(Permuted(value));
            }
        }
        let fault = Fault::rule(15, format!("no value has rank {}", rank.0));
        Err(self.corrupt(&self.table.heads, 0, fault))
    }
}
