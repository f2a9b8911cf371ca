//! Iterates over the id records of a segment in the order of their ranks.

use std::ops::Range;

use crate::base::error::{Fault, Result};
use crate::base::section::Rank;
use crate::format::directory::SectionPlace;
use crate::format::id_records::{GROUP_ENTRY_LEN, GROUP_LEN, Record};
use crate::segment::Segment;

/// A cursor over the id records of all fingerprints, in the order of the first table; empty for a
/// segment without ids.
pub(crate) struct Records<'a> {
    segment: &'a Segment,
    places: Option<(&'a SectionPlace, &'a SectionPlace)>,
    rank: u64,
    /// The unread bytes of the current group of records, and their position in the section.
    bytes: &'a [u8],
    offset: u64,
}

impl Segment {
    /// The id records of all fingerprints in the order of the first table.
    pub(crate) fn records(&self) -> Records<'_> {
        Records { segment: self, places: self.id_places(), rank: 0, bytes: &[], offset: 0 }
    }
}

impl<'a> Records<'a> {
    /// Moves the cursor so that the next record is the record of the fingerprint at `rank`.
    pub(crate) fn go_to(&mut self, rank: Rank) -> Result<()> {
        if self.places.is_none() || self.rank == rank.0 {
            return Ok(());
        }
        (self.rank, self.bytes) = (rank.0 / GROUP_LEN * GROUP_LEN, &[]);
        while self.rank < rank.0 {
            self.next()?;
        }
        Ok(())
    }

    /// The number of bytes of the groups that contain the records of these ranks; 0 in a segment
    /// without ids.
    pub(crate) fn len_of(&self, ranks: Range<u64>) -> Result<u64> {
        let (Some((groups, records)), false) = (self.places, ranks.is_empty()) else {
            return Ok(0);
        };
        let entry = |rank: u64| rank / GROUP_LEN * GROUP_ENTRY_LEN;
        let (start, _) = self.segment.group_bounds(groups, entry(ranks.start), records.len)?;
        let (_, end) = self.segment.group_bounds(groups, entry(ranks.end - 1), records.len)?;
        Ok(end.saturating_sub(start))
    }

    /// The next rank and its record; `None` at the end, and in a segment without ids.
    pub(crate) fn next(&mut self) -> Result<Option<(Rank, Record<'a>)>> {
        let Some((groups, records)) = self.places else { return Ok(None) };
        let count = self.segment.header().fingerprint_count;
        let corrupt = |offset, fault| self.segment.corrupt(records, offset, fault);
        if self.rank.is_multiple_of(GROUP_LEN) || self.rank == count {
            if !self.bytes.is_empty() {
                let fault = Fault::rule(18, "a group has bytes after its last record");
                return Err(corrupt(self.offset, fault));
            }
            if self.rank == count {
                return Ok(None);
            }
            let entry = self.rank / GROUP_LEN * GROUP_ENTRY_LEN;
            let (start, end) = self.segment.group_bounds(groups, entry, records.len)?;
            self.bytes = self.segment.bytes(records, start, end - start)?;
            self.offset = start;
        }
        let read = Record::read(self.bytes, self.segment.id_layout());
        let (record, len) = read.map_err(|fault| corrupt(self.offset, fault))?;
        self.bytes = self.bytes.get(len..).unwrap_or_default();
        self.offset += len as u64;
        let rank = Rank(self.rank);
        self.rank += 1;
        Ok(Some((rank, record)))
    }
}
