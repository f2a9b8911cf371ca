//! Fail points: each operation on files passes one first, so that tests can make it fail there.

use std::io;
use std::path::Path;

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
    super::fail_points::pass(path, point)?;
    let _ = (path, point);
    Ok(())
}

/// Precedes each lock on a file. Does nothing outside tests; a test can have it fail, as on a file
/// system without locks.
#[inline]
pub(crate) fn lock_fail_point(path: &Path) -> io::Result<()> {
    #[cfg(test)]
    super::fail_points::pass_lock(path)?;
    let _ = path;
    Ok(())
}
