//! Pending records: they are in no segment yet, but each check compares with them.

use std::ops::{Bound, RangeBounds};

use super::apart::Apart;
use super::near_index::NearIndex;
use crate::base::error::{Error, Result};
use crate::writing::writer::NewRecord;

/// The pending records, in insertion order.
#[derive(Debug, Default)]
pub(super) struct Pending {
    records: Vec<NewRecord>,
    index: NearIndex,
}

impl Pending {
    pub(super) fn records(&self) -> &[NewRecord] {
        &self.records
    }

    pub(super) fn push(&mut self, record: NewRecord) -> Result<()> {
        if self.records.len() == NearIndex::COUNT_MAX {
            let reason = format!("{} records are pending, commit them first", self.records.len());
            return Err(Error::TooLarge { reason });
        }
        self.index.push(record.fingerprint);
        self.records.push(record);
        Ok(())
    }

    /// Removes the records in a range of positions. Records before the range are not visited:
    /// usually the last records are rejected, and there may be many before them.
    pub(super) fn forget(&mut self, range: impl RangeBounds<usize>) {
        let start = match range.start_bound() {
            Bound::Included(&start) => start,
            Bound::Excluded(&before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        drop(self.records.drain(range));
        self.index.truncate(start);
        let moved = self.records.iter().skip(start);
        moved.for_each(|record| self.index.push(record.fingerprint));
    }

    /// Removes the records for which `keep` returns false.
    pub(super) fn retain(&mut self, keep: impl FnMut(&NewRecord) -> bool) {
        self.records.retain(keep);
        self.index = NearIndex::default();
        self.records.iter().for_each(|record| self.index.push(record.fingerprint));
    }

    /// The position and distance of the nearest record within `k` bits; of equally near ones the
    /// first. Records labelled different from `record` (`apart`) are ignored.
    pub(super) fn nearest(
        &self,
        record: &NewRecord,
        k: u32,
        apart: Option<&Apart<'_>>,
    ) -> Option<(usize, u32)> {
        self.index.nearest(record.fingerprint, k, |at| {
            apart.is_none_or(|apart| !apart.is_from_record(&self.records[at]))
        })
    }
}
