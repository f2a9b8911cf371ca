//! Fail points: every operation on files calls a fail point first, where tests can make it fail.

use std::io;
use std::path::Path;

/// An operation on files that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailPoint {
    Create,
    Lock,
    Write,
    Protect,
    Sync,
    Rename,
    /// A rename that takes place, but is reported as failed.
    RenameReport,
    Remove,
    SyncDirectory,
}

/// Called before each operation at `path`. Does nothing outside of tests; a test can make the
/// operation fail, or end the process here.
#[inline]
pub fn fail_point(path: &Path, point: FailPoint) -> io::Result<()> {
    #[cfg(any(test, feature = "faults"))]
    fail_points::pass(path, point)?;
    let _ = (path, point);
    Ok(())
}

/// Called before each lock of a file. Does nothing outside of tests; a test can make the lock fail,
/// as on a file system without locks.
#[inline]
pub fn lock_fail_point(path: &Path) -> io::Result<()> {
    #[cfg(any(test, feature = "faults"))]
    fail_points::pass_lock(path)?;
    let _ = path;
    Ok(())
}

/// For tests: a plan selects a directory and the number of a fail point, where the operation fails.
#[cfg(any(test, feature = "faults"))]
pub mod fail_points {
    use std::collections::BTreeMap;
    use std::io;
    use std::path::{Path, PathBuf};
    use std::sync::{Mutex, PoisonError};

    use super::FailPoint;

    /// What happens at the selected fail point.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Fault {
        /// The operation reports a full disk; later operations succeed.
        Full,
        /// The operation and all later operations report a broken disk.
        Broken,
        /// The process ends here, without running destructors.
        Abort,
    }

    #[derive(Debug, Default)]
    struct Plan {
        /// The number of the fail point that fails, counted from 1; 0 for none.
        fails_at: u64,
        fault: Option<Fault>,
        passed: Vec<FailPoint>,
    }

    /// The plans, by the directory below which operations count: so parallel tests do not count
    /// each other's operations.
    static PLANS: Mutex<BTreeMap<PathBuf, Plan>> = Mutex::new(BTreeMap::new());

    /// From now on counts the operations below `folder`, and makes operation number `fails_at`
    /// fail; none if that is 0.
    pub fn plan(folder: &Path, fails_at: u64, fault: Fault) {
        let plan = Plan { fails_at, fault: Some(fault), ..Plan::default() };
        PLANS.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.into(), plan);
    }

    /// Ends the plan for `folder` and returns the fail points that were passed.
    pub fn forget(folder: &Path) -> Vec<FailPoint> {
        let mut plans = PLANS.lock().unwrap_or_else(PoisonError::into_inner);
        plans.remove(folder).unwrap_or_default().passed
    }

    /// The simulated number of free bytes of the disk, by directory.
    static FREE: Mutex<BTreeMap<PathBuf, u64>> = Mutex::new(BTreeMap::new());

    /// Simulates a disk with `free` free bytes for `folder`; with `None` the real number is used.
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

    /// Directories below which locks fail, with the error and the number of locks that still fail.
    static REFUSED: Mutex<Vec<(PathBuf, io::ErrorKind, u64)>> = Mutex::new(Vec::new());

    /// Makes the next `times` locks below `folder` fail.
    pub fn refuse_locks(folder: &Path, kind: io::ErrorKind, times: u64) {
        REFUSED.lock().unwrap_or_else(PoisonError::into_inner).push((folder.into(), kind, times));
    }

    /// Lets locks below `folder` succeed again.
    pub fn allow_locks(folder: &Path) {
        let mut refused = REFUSED.lock().unwrap_or_else(PoisonError::into_inner);
        refused.retain(|(of, ..)| of != folder);
    }

    /// Directories whose manifests cannot be read after the first failed operation.
    static UNREADABLE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

    /// Makes manifests below `folder` unreadable after the planned fault, or readable again.
    pub fn let_read(folder: &Path, is_readable: bool) {
        let mut unreadable = UNREADABLE.lock().unwrap_or_else(PoisonError::into_inner);
        unreadable.retain(|of| of != folder);
        if !is_readable {
            unreadable.push(folder.into());
        }
    }

    /// Called before each read of a manifest.
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
