//! The result of a verification.

use std::path::{Path, PathBuf};

use crate::base::error::Error;
use crate::base::section::{Rank, TableIndex};
use crate::format::manifest::{Manifest, SegmentEntry};
use crate::segment::{Segment, map};
use fpstore_base::{Id, IdRef};

/// The result of [`verify`](crate::verify()).
#[derive(Debug, Default)]
#[non_exhaustive]
#[must_use = "damage is reported here, not as an error"]
pub struct VerifyReport {
    /// The directory of the store.
    pub path: PathBuf,
    /// The number of verified segments.
    pub segment_count: u64,
    /// The number of pages whose checksums were compared.
    pub page_count: u64,
    /// The number of decoded values, in all tables.
    pub value_count: u64,
    /// The number of sample queries whose answers were compared with a scan.
    pub sample_count: u64,
    /// All faults in the order of detection. Empty for a sound store.
    pub faults: Vec<Error>,
    /// The segments with faults, oldest first. Empty if the manifest itself is damaged.
    pub damaged: Vec<DamagedSegment>,
    /// The manifest that was verified, if it is sound.
    pub(crate) manifest: Option<Manifest>,
    /// The bytes of the manifest.
    pub(crate) manifest_bytes: Vec<u8>,
}

impl VerifyReport {
    /// Whether no fault was found.
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }

    /// Whether all faults are in tables, and each damaged segment has a sound table with all
    /// values: then nothing is lost, and `Compaction::Rewrite` rebuilds the damaged tables.
    pub fn is_rebuildable(&self) -> bool {
        !self.damaged.is_empty()
            && self.damaged.iter().all(|segment| segment.is_rebuildable)
            && self.faults.iter().all(|fault| damaged_table(fault).is_some())
    }
}

/// A segment with faults.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DamagedSegment {
    /// The file of the segment.
    pub path: PathBuf,
    /// The number of the segment.
    pub number: u64,
    /// The label of the segment; empty without a label.
    pub label: String,
    /// The number of fingerprints of the segment, deleted ones included, according to the manifest.
    pub fingerprint_count: u64,
    /// The counts of deleted fingerprints and of deleted ids, according to the manifest, if only
    /// the deletions are damaged and the segment itself is sound.
    pub deletions_only: Option<(u64, u64)>,
    /// Whether only tables are damaged, and a table with all values is sound.
    pub is_rebuildable: bool,
}

/// The table that contains a fault; `None` if the fault is not in a table.
fn damaged_table(fault: &Error) -> Option<TableIndex> {
    match fault {
        Error::Corrupt { section, .. } => section.table(),
        _ => None,
    }
}

/// Whether all these faults of a segment are in tables, and a table with all values is sound.
pub(super) fn is_rebuildable(segment: &Segment, faults: &[Error]) -> bool {
    let tables: Option<Vec<usize>> =
        faults.iter().map(|fault| damaged_table(fault).map(|table| table.0.into())).collect();
    tables.is_some_and(|tables| {
        let mut whole = segment.tables().enumerate().filter(|(_, table)| table.whole().is_some());
        whole.any(|(at, _)| !tables.contains(&at))
    })
}

impl DamagedSegment {
    pub(super) fn of(path: &Path, entry: &SegmentEntry, only_deletions: bool) -> Self {
        let deletions = entry.deletions.filter(|_| only_deletions);
        DamagedSegment {
            path: path.join(entry.file_name()),
            number: entry.number,
            label: entry.label.clone(),
            fingerprint_count: entry.fingerprint_count,
            deletions_only: deletions.map(|of| (of.fingerprint_count, of.id_count)),
            is_rebuildable: false,
        }
    }
}

impl DamagedSegment {
    /// Calls `each` with each id of the segment that is on sound pages, deleted ones included, in
    /// file order. Returns the number of fingerprints whose ids could not be read.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), fpstore::Error> {
    /// let report = fpstore::verify("pages.fps", &fpstore::VerifyOptions::default())?;
    /// for damaged in &report.damaged {
    ///     let unread = damaged.for_each_id(|id| {
    ///         println!("to be added again: {id}");
    ///         Ok::<(), fpstore::Error>(())
    ///     })?;
    ///     eprintln!("and those of {unread} fingerprints");
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of `each`. Damage is counted and is not an error.
    pub fn for_each_id<E>(
        &self,
        mut each: impl FnMut(IdRef<'_>) -> Result<(), E>,
    ) -> Result<u64, E> {
        let Ok(segment) = map(&self.path) else { return Ok(self.fingerprint_count) };
        if segment.id_places().is_none() {
            return Ok(0);
        }
        let mut unread = 0;
        for rank in 0..segment.header().fingerprint_count {
            match ids(&segment, Rank(rank)) {
                Some(ids) => ids.iter().try_for_each(|id| each(id.as_ref()))?,
                None => unread += 1,
            }
        }
        Ok(unread)
    }
}

/// The ids of the fingerprint at a rank; `None` if they cannot be read.
fn ids(segment: &Segment, rank: Rank) -> Option<Vec<Id>> {
    let mut record = segment.record(rank).ok()?;
    let mut ids = Vec::new();
    while let Some(id) = record.next().ok()? {
        ids.push(id.to_id());
    }
    Some(ids)
}
