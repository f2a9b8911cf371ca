//! External sorting: runs are sorted in memory, written to temporary files, and merged.
//!
//! [`ValueSorter`] sorts distinct values for a table, [`RecordSorter`] sorts fingerprints with ids
//! for the builder and pairs for a join. Both take their memory, threads and directory from
//! [`SortResources`] and stay within about that memory. Entries with equal keys keep their input
//! order.

mod batch;
mod block;
mod levels;
mod memory_part;
mod merge;
mod partition;
mod parts;
mod ranges;
mod records;
mod run;
mod sketched;
mod values;

pub(crate) use batch::RecordBatch;
pub(crate) use parts::RecordPart;
pub(crate) use records::{IdColumn, RecordSorter, SortedRecords};
pub(crate) use values::{SortedValues, ValueSorter};

use fpstore_disk::ScratchFolder;

/// The memory, threads and directory that a sort may use.
#[derive(Clone, Debug)]
pub(crate) struct SortResources {
    /// The memory for the entries and for sorting them, in bytes.
    pub(crate) memory: u64,
    /// Threads that sort at the same time.
    pub(crate) threads: usize,
    /// The directory of temporary files.
    pub(crate) folder: ScratchFolder,
}

impl SortResources {
    /// The same resources with `held` bytes less of memory, but at least [`MEMORY_MIN`].
    pub(crate) fn beside(&self, held: u64) -> Self {
        let memory = self.memory.saturating_sub(held).max(MEMORY_MIN);
        SortResources { memory, ..self.clone() }
    }
}

/// The minimum memory of a sort: with less there would be very many runs, which only unit tests
/// want.
pub(crate) const MEMORY_MIN: u64 = if cfg!(test) { 1 << 14 } else { 16 << 20 };
