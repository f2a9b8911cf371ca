//! File system operations of everything that writes: scratch files, temporary files, sync, rename,
//! remove.
//!
//! Sorting, the builder and the directory of a store call it. Each operation passes a fail point
//! first, so that tests can make every one of them fail or end the process there. Each change of
//! files with names is noted after it, so that tests can replay what a loss of power leaves. No
//! module that writes calls `std::fs` past it, or a failure goes untested; a test sees to it.

mod change;
#[cfg(test)]
pub(crate) mod fail_points;
mod files;
#[cfg(test)]
pub(crate) mod power_loss;
mod scratch;
mod temporary;
#[cfg(test)]
pub(crate) mod tree;

use std::io;
use std::path::Path;

pub(crate) use change::Change;
use change::note;
#[cfg(test)]
pub(crate) use change::recorder;
pub(crate) use files::{
    bare, is_temporary_name, names_in, remove_empty_directory, remove_file, sync_directory,
};
pub(crate) use scratch::{ScratchFile, ScratchFolder, Spool};
pub(crate) use temporary::{TemporaryDirectory, TemporaryFile};

/// An operation that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FailPoint {
    Create,
    Lock,
    Write,
    Protect,
    Sync,
    Rename,
    /// The rename took place, and an error is reported all the same.
    RenameReport,
    Remove,
    SyncDirectory,
}

/// Precedes each operation at `path`. Does nothing outside tests; a test can have it fail or end
/// the process.
#[inline]
pub(crate) fn fail_point(path: &Path, point: FailPoint) -> io::Result<()> {
    #[cfg(test)]
    fail_points::pass(path, point)?;
    let _ = (path, point);
    Ok(())
}

/// Precedes each lock on a file. Does nothing outside tests; a test can have it fail, as on a file
/// system without locks.
#[inline]
pub(crate) fn lock_fail_point(path: &Path) -> io::Result<()> {
    #[cfg(test)]
    fail_points::pass_lock(path)?;
    let _ = path;
    Ok(())
}
