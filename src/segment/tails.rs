//! The tails of a table, for callers that compare many.

use crate::bits::packing::{self, Packed};
use crate::checksum::PAGE_LEN;
use crate::section::Rank;
use crate::segment::{CheckedPages, TableReader};

/// The packed tails of one table.
#[derive(Debug)]
pub(crate) struct Tails<'a> {
    packed: Packed<'a>,
    /// The page of the first byte; sections start with a page.
    first_page: usize,
    checked: &'a CheckedPages,
}

impl<'a> TableReader<'a> {
    /// The tails of this table.
    #[inline]
    pub(crate) fn tails(self) -> Tails<'a> {
        let place = &self.table.tails;
        Tails {
            packed: Packed {
                bytes: self.segment.section(place),
                width: self.table.descriptor.tail_bits,
            },
            first_page: place.offset as usize / PAGE_LEN,
            checked: self.segment.checked(),
        }
    }
}

impl Tails<'_> {
    /// Whether the tails from rank `first` to rank `last` lie on one or two pages that are
    /// verified.
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

    /// All tails, verified or not.
    pub(crate) fn packed(&self) -> Packed<'_> {
        self.packed
    }
}
