//! The memory, threads and directory of a sort.

use fpstore_disk::ScratchFolder;

/// The memory, threads and directory that a sort may use.
#[derive(Clone, Debug)]
pub(crate) struct SortResources {
    /// Bytes of memory for the entries and for sorting them.
    pub(crate) memory: u64,
    /// Threads that sort at the same time.
    pub(crate) threads: usize,
    /// The directory of temporary files.
    pub(crate) folder: ScratchFolder,
}

impl SortResources {
    /// The same with `held` bytes less of memory, but never below [`MEMORY_MIN`].
    pub(crate) fn beside(&self, held: u64) -> Self {
        let memory = self.memory.saturating_sub(held).max(MEMORY_MIN);
        SortResources { memory, ..self.clone() }
    }
}

/// The least memory of a sort: with less there would be very many runs, as unit tests want.
pub(crate) const MEMORY_MIN: u64 = if cfg!(test) { 1 << 14 } else { 16 << 20 };
