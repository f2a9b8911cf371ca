//! The tails of a table, where they can be had at once.

use crate::bits::packing;
use crate::checksum::PAGE_LEN;
use crate::format::near_values::Packed;
use crate::section::Rank;
use crate::segment::{CheckedPages, Mapped, Table};

/// The tails of one table, where they can be had at once.
#[derive(Debug)]
pub(crate) struct Tails<'a> {
    bytes: &'a [u8],
    width: u32,
    /// The page of the first byte; sections start with a page.
    first_page: usize,
    checked: &'a CheckedPages,
}

impl Tails<'_> {
    /// Whether the tails from one rank to another are there, on at most two pages that were checked before.
    #[inline(always)]
    pub(crate) fn are_near(&self, first: Rank, last: Rank) -> bool {
        const GUARD_LEN: usize = packing::GUARD_LEN as usize;
        let start = packing::load_offset(first.0, self.width) as usize;
        let end = (packing::load_offset(last.0, self.width) as usize).saturating_add(GUARD_LEN);
        let (page, last_page) = (start / PAGE_LEN, end.saturating_sub(1) / PAGE_LEN);
        let here = end <= self.bytes.len()
            && last_page - page <= 1
            && self.checked.contains(self.first_page + page)
            && self.checked.contains(self.first_page + last_page);
        here || self.width == 0
    }

    /// All of them.
    pub(crate) fn packed(&self) -> Packed<'_> {
        Packed { bytes: self.bytes, width: self.width }
    }
}

impl Mapped {
    /// The tails of a table, to compare many.
    #[inline]
    pub(crate) fn tails<'a>(&'a self, table: &'a Table) -> Tails<'a> {
        let first_page = table.tails.offset as usize / PAGE_LEN;
        let width = table.descriptor.tail_bits;
        Tails { bytes: self.section(&table.tails), width, first_page, checked: self.checked() }
    }
}
