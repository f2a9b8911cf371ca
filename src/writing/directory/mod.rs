//! The directory of a store, for programs that change it.
//!
//! The builder, the writer and the compactor open a [`StoreDirectory`], write new files into it,
//! and publish them with a [`Transaction`], which replaces the manifest in one step. Values own
//! their files: dropping an uncommitted file, a transaction or a new directory removes it. Nothing
//! here reads the contents of a segment or changes a file listed in a manifest.

mod abandoned;
mod copy;
mod destination;
mod lock;
mod lock_file;
mod staging;
mod store_directory;
mod transaction;
mod uncommitted;
mod waiting;

pub(crate) use copy::open_copy;
pub use destination::check_output;
pub(crate) use destination::{Destination, OpenMode};
pub(crate) use lock::{Patience, lock_compaction, reserve};
pub(crate) use store_directory::{StoreDirectory, random_store_id};
pub(crate) use transaction::Transaction;
pub(crate) use uncommitted::{SegmentFile, UncommittedSegment};
pub use waiting::Waiting;

use crate::format::deletions;
use crate::format::manifest::segment_number;
use fpstore_disk::is_temporary_name;

/// The names of unfinished files start with this.
const TEMPORARY_PREFIX: &str = ".tmp-";

/// The lock that this process holds: the writer lock, or the compaction lock while a writer may be
/// active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockOwner {
    Writer,
    Compactor,
}

impl LockOwner {
    /// The prefix of the names of its unfinished files. They are abandoned once the lock is free.
    fn temporary_prefix(self) -> &'static str {
        match self {
            LockOwner::Writer => TEMPORARY_PREFIX,
            LockOwner::Compactor => ".tmp-compact-",
        }
    }
}

/// Whether a file with this name is an unfinished file of a writer or compactor.
fn is_unfinished(name: &str) -> bool {
    [LockOwner::Writer, LockOwner::Compactor]
        .iter()
        .any(|owner| is_temporary_name(name, owner.temporary_prefix()))
}

/// The number in the name of a segment or deletion file.
fn number_of(name: &str) -> Option<u64> {
    segment_number(name).or_else(|| deletions::file_number(name))
}
