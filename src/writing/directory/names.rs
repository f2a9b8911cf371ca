//! The names of the files of a store: unfinished files and numbered files.

use crate::format::deletions;
use crate::format::manifest::segment_number;
use fpstore_disk::is_temporary_name;

/// The names of unfinished files start with this.
pub(super) const TEMPORARY_PREFIX: &str = ".tmp-";

/// The lock that this process holds: the writer lock, or the compaction lock while a writer may be
/// active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockOwner {
    Writer,
    Compactor,
}

impl LockOwner {
    /// The prefix of the names of its unfinished files. They are abandoned once the lock is free.
    pub(super) fn temporary_prefix(self) -> &'static str {
        match self {
            LockOwner::Writer => TEMPORARY_PREFIX,
            LockOwner::Compactor => ".tmp-compact-",
        }
    }
}

/// Whether a file with this name is an unfinished file of a writer or compactor.
pub(super) fn is_unfinished(name: &str) -> bool {
    [LockOwner::Writer, LockOwner::Compactor]
        .iter()
        .any(|owner| is_temporary_name(name, owner.temporary_prefix()))
}

/// The number in the name of a segment or deletion file.
pub(super) fn number_of(name: &str) -> Option<u64> {
    segment_number(name).or_else(|| deletions::file_number(name))
}
