//! Sorting more than fits into memory: runs sorted in memory, written to temporary files, and
//! merged.

mod block;
mod merge;
mod partition;
mod records;
mod run;
mod values;

pub(crate) use records::{IdColumn, RecordBatch, RecordSorter, SortedRecords};
pub(crate) use values::{SortedValues, ValueSorter};

use crate::disk::ScratchFolder;

/// What sorting may use.
#[derive(Clone, Debug)]
pub(crate) struct Resources {
    /// Bytes of memory for what is being sorted.
    pub(crate) memory: u64,
    /// Threads that sort side by side.
    pub(crate) threads: usize,
    /// Where temporary files go.
    pub(crate) folder: ScratchFolder,
}

impl Resources {
    /// The same with less memory, because so much of it is held; some is always left.
    pub(crate) fn beside(&self, held: u64) -> Self {
        let memory = self.memory.saturating_sub(held).max(MEMORY_MIN);
        Resources { memory, ..self.clone() }
    }
}

/// Less memory than this would make many tiny runs, which is what unit tests want.
pub(crate) const MEMORY_MIN: u64 = if cfg!(test) { 1 << 14 } else { 16 << 20 };
