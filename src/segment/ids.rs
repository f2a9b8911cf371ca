//! Finds the ids of a fingerprint by its rank in the first table.

use crate::base::error::{Fault, Result};
use crate::base::section::{Rank, Section};
use crate::bytes::checksum::PAGE_LEN;
use crate::bytes::fields::u64_at;
use crate::format::directory::SectionPlace;
use crate::format::id_records::{self, GROUP_ENTRY_LEN, IdLayout, Record};
use crate::segment::Segment;

/// Groups of id records up to this length, at most two pages, are read at once.
const SHORT_GROUP: u64 = PAGE_LEN as u64;

impl Segment {
    /// The sections with the id groups and the id records; `None` for a segment without ids.
    pub(crate) fn id_places(&self) -> Option<(&SectionPlace, &SectionPlace)> {
        Some((self.header().place(Section::IdGroups)?, self.header().place(Section::IdRecords)?))
    }

    pub(crate) fn id_layout(&self) -> IdLayout {
        let header = self.header();
        IdLayout { kind: header.id_kind, id_len: header.id_len, sketch_len: header.sketch_len }
    }

    /// The id record of the fingerprint at `rank` of the first table.
    pub(crate) fn record(&self, rank: Rank) -> Result<Record<'_>> {
        let layout = self.id_layout();
        let Some((groups, records)) = self.id_places() else {
            return Ok(Record::empty());
        };
        let (entry, before) = id_records::group_of(rank);
        let (mut start, end) = self.group_bounds(groups, entry, records.len)?;
        let passed = if end - start <= SHORT_GROUP {
            id_records::len_of(self.bytes(records, start, end - start)?, before, layout)
        } else {
            None
        };
        match passed {
            Some(passed) => start += passed as u64,
            // For a long group, only the start of each preceding record is read: a record may be
            // very long.
            None => {
                for _ in 0..before {
                    start += self.record_len(records, start, end, layout)?;
                }
            }
        }
        let len = self.record_len(records, start, end, layout)?;
        let is_last =
            before + 1 == id_records::GROUP_LEN || rank.0 + 1 == self.header().fingerprint_count;
        if is_last && len < end - start {
            let fault = Fault::rule(18, "a group has bytes after its last record");
            return Err(self.corrupt(records, start, fault));
        }
        let bytes = self.bytes(records, start, len)?;
        let read = Record::read(bytes, layout);
        read.map(|(record, _)| record).map_err(|fault| self.corrupt(records, start, fault))
    }

    /// The length of the record at `start`; the record must end at or before `end`.
    fn record_len(
        &self,
        records: &SectionPlace,
        start: u64,
        end: u64,
        layout: IdLayout,
    ) -> Result<u64> {
        let left = end - start;
        let prefix = self.bytes(records, start, left.min(id_records::PREFIX_LEN_MAX))?;
        match Record::len(prefix, layout) {
            Ok(len) if len <= left => Ok(len),
            Ok(_) => {
                let fault = Fault::rule(18, "an id record reaches beyond its group");
                Err(self.corrupt(records, start, fault))
            }
            Err(fault) => Err(self.corrupt(records, start, fault)),
        }
    }

    /// The start and end of the records of a group; they must be ascending and in their section
    ///
    pub(crate) fn group_bounds(
        &self,
        groups: &SectionPlace,
        entry: u64,
        records_len: u64,
    ) -> Result<(u64, u64)> {
        let pair = self.bytes(groups, entry, 2 * GROUP_ENTRY_LEN)?;
        match (u64_at(pair, 0), u64_at(pair, GROUP_ENTRY_LEN as usize)) {
            (Some(start), Some(end)) if start <= end && end <= records_len => Ok((start, end)),
            (start, end) => {
                let (start, end) = (start.unwrap_or_default(), end.unwrap_or_default());
                let detail =
                    format!("a group of ids from byte {start} to {end} of {records_len} bytes");
                Err(self.corrupt(groups, entry, Fault::rule(18, detail)))
            }
        }
    }
}
