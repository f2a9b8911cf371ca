//! Fail points: each operation on files passes one first, so that tests can make it fail there.

use std::io;
use std::path::Path;

/// An operation that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailPoint {
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
pub fn fail_point(path: &Path, point: FailPoint) -> io::Result<()> {
    #[cfg(any(test, feature = "faults"))]
    fail_points::pass(path, point)?;
    let _ = (path, point);
    Ok(())
}

/// Precedes each lock on a file. Does nothing outside tests; a test can have it fail, as on a file
/// system without locks.
#[inline]
pub fn lock_fail_point(path: &Path) -> io::Result<()> {
    #[cfg(any(test, feature = "faults"))]
    fail_points::pass_lock(path)?;
    let _ = path;
    Ok(())
}

/// A test names a directory and the number of a fail point, and the operation there fails.
#[cfg(any(test, feature = "faults"))]
pub mod fail_points {
    use std::collections::BTreeMap;
    use std::io;
    use std::path::{Path, PathBuf};
    use std::sync::{Mutex, PoisonError};

    use super::FailPoint;

    /// What happens at the chosen fail point.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Fault {
        /// The operation reports a full disk; later ones succeed.
        Full,
        /// The operation and all later ones report a broken disk.
        Broken,
        /// The process ends there, without running any destructor.
        Abort,
    }

    #[derive(Debug, Default)]
    struct Plan {
        /// The number of the fail point, counted from 1; 0 is none.
        fails_at: u64,
        fault: Option<Fault>,
        passed: Vec<FailPoint>,
    }

    /// By the directory below which operations count, so that parallel tests do not disturb each other.
    static PLANS: Mutex<BTreeMap<PathBuf, Plan>> = Mutex::new(BTreeMap::new());

    /// Counts the operations below `folder` from now on, and makes number `fails_at` fail; 0 is none.
    pub fn plan(folder: &Path, fails_at: u64, fault: Fault) {
        let plan = Plan { fails_at, fault: Some(fault), ..Plan::default() };
        PLANS.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.into(), plan);
    }

    /// Ends a plan and returns the fail points that were passed.
    pub fn forget(folder: &Path) -> Vec<FailPoint> {
        let mut plans = PLANS.lock().unwrap_or_else(PoisonError::into_inner);
        plans.remove(folder).unwrap_or_default().passed
    }

    /// By the directory below which the disk seems to have so many free bytes.
    static FREE: Mutex<BTreeMap<PathBuf, u64>> = Mutex::new(BTreeMap::new());

    /// Lets the disk of `folder` seem to have this many free bytes; `None` for as many as it has.
    pub fn limit_space(folder: &Path, free: Option<u64>) {
        let mut limits = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        match free {
            Some(free) => limits.insert(folder.into(), free),
            None => limits.remove(folder),
        };
    }

    pub(crate) fn free_space(path: &Path) -> Option<u64> {
        let limits = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        limits.iter().find(|(folder, _)| path.starts_with(folder)).map(|(_, free)| *free)
    }

    /// For each directory the error of locks below it and the number of locks that still fail.
    static REFUSED: Mutex<Vec<(PathBuf, io::ErrorKind, u64)>> = Mutex::new(Vec::new());

    /// Makes the next `times` locks below `folder` fail.
    pub fn refuse_locks(folder: &Path, kind: io::ErrorKind, times: u64) {
        REFUSED.lock().unwrap_or_else(PoisonError::into_inner).push((folder.into(), kind, times));
    }

    /// Lets locks below `folder` be taken again.
    pub fn allow_locks(folder: &Path) {
        let mut refused = REFUSED.lock().unwrap_or_else(PoisonError::into_inner);
        refused.retain(|(of, ..)| of != folder);
    }

    /// Directories whose manifests cannot be read once an operation has failed.
    static UNREADABLE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

    /// Lets manifests below `folder` be readable, or not from the planned fault on.
    pub fn let_read(folder: &Path, is_readable: bool) {
        let mut unreadable = UNREADABLE.lock().unwrap_or_else(PoisonError::into_inner);
        unreadable.retain(|of| of != folder);
        if !is_readable {
            unreadable.push(folder.into());
        }
    }

    /// Precedes reading a manifest.
    pub fn pass_read(path: &Path) -> io::Result<()> {
        let unreadable = UNREADABLE.lock().unwrap_or_else(PoisonError::into_inner);
        let plans = PLANS.lock().unwrap_or_else(PoisonError::into_inner);
        let has_failed = |folder: &PathBuf| {
            plans.get(folder).is_some_and(|plan| plan.passed.len() as u64 >= plan.fails_at)
        };
        match unreadable.iter().any(|of| path.starts_with(of) && has_failed(of)) {
            true => Err(io::Error::other("the disk broke")),
            false => Ok(()),
        }
    }

    pub(crate) fn pass_lock(path: &Path) -> io::Result<()> {
        let mut refused = REFUSED.lock().unwrap_or_else(PoisonError::into_inner);
        let hit = refused.iter_mut().find(|(of, _, left)| *left > 0 && path.starts_with(of));
        hit.map_or(Ok(()), |(_, kind, left)| {
            *left -= 1;
            Err((*kind).into())
        })
    }

    pub(crate) fn pass(path: &Path, point: FailPoint) -> io::Result<()> {
        let mut plans = PLANS.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((_, plan)) = plans.iter_mut().find(|(folder, _)| path.starts_with(folder)) else {
            return Ok(());
        };
        plan.passed.push(point);
        let passed = plan.passed.len() as u64;
        match plan.fault {
            Some(Fault::Full) if passed == plan.fails_at => Err(io::ErrorKind::StorageFull.into()),
            Some(Fault::Broken) if plan.fails_at > 0 && passed >= plan.fails_at => {
                Err(io::Error::other("the disk broke"))
            }
            Some(Fault::Abort) if passed == plan.fails_at => std::process::abort(),
            _ => Ok(()),
        }
    }
}
