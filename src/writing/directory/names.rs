//! The names of the files of a store: which are unfinished, which are numbered, and where they are.

use crate::format::deletions;
use crate::format::manifest::segment_number;
use fpstore_disk::is_temporary_name;

/// The names of unfinished files start with this.
pub(super) const TEMPORARY_PREFIX: &str = ".tmp-";

/// The lock that this process holds: the writer lock, or the compaction lock beside a writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockOwner {
    Writer,
    Compactor,
}

impl LockOwner {
    /// The start of the names of its unfinished files. They are abandoned once the lock is free.
    pub(super) fn temporary_prefix(self) -> &'static str {
        match self {
            LockOwner::Writer => TEMPORARY_PREFIX,
            LockOwner::Compactor => ".tmp-compact-",
        }
    }
}

/// Whether a name is one of a file that a writer or compactor has not finished.
pub(super) fn is_unfinished(name: &str) -> bool {
    [LockOwner::Writer, LockOwner::Compactor]
        .iter()
        .any(|owner| is_temporary_name(name, owner.temporary_prefix()))
}

/// The number in the name of a segment or deletion file.
pub(super) fn number_of(name: &str) -> Option<u64> {
    segment_number(name).or_else(|| deletions::file_number(name))
}
