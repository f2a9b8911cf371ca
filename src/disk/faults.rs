//! Failing on purpose: tests name a folder and a step number, and the step fails.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::Step;

/// What happens at the step that was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The step reports that the disk is full; later steps work.
    Full,
    /// The step and all later ones report a broken disk.
    Broken,
    /// The process ends there, with nothing tidied up.
    Abort,
}

#[derive(Debug, Default)]
struct Plan {
    /// The step that fails, counted from 1; 0 is none.
    fails_at: u64,
    fault: Option<Fault>,
    passed: u64,
    steps: Vec<Step>,
}

/// By the folder below which steps count, so that tests beside each other do not meet.
static PLANS: Mutex<BTreeMap<PathBuf, Plan>> = Mutex::new(BTreeMap::new());

/// Counts the steps below `folder` from now on, and has step `fails_at` fail; 0 is none.
pub(crate) fn plan(folder: &Path, fails_at: u64, fault: Fault) {
    let plan = Plan { fails_at, fault: Some(fault), ..Plan::default() };
    PLANS.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.into(), plan);
}

/// Ends a plan: the steps that were taken.
pub(crate) fn forget(folder: &Path) -> Vec<Step> {
    let mut plans = PLANS.lock().unwrap_or_else(PoisonError::into_inner);
    plans.remove(folder).unwrap_or_default().steps
}

/// Folders below which so many locks fail with an error of this kind.
static REFUSED: Mutex<Vec<(PathBuf, io::ErrorKind, u64)>> = Mutex::new(Vec::new());

/// Has the next `times` locks below `folder` fail.
pub(crate) fn refuse_locks(folder: &Path, kind: io::ErrorKind, times: u64) {
    REFUSED.lock().unwrap_or_else(PoisonError::into_inner).push((folder.into(), kind, times));
}

/// Lets locks below `folder` be taken again.
pub(crate) fn allow_locks(folder: &Path) {
    let mut refused = REFUSED.lock().unwrap_or_else(PoisonError::into_inner);
    refused.retain(|(of, ..)| of != folder);
}

pub(super) fn lock_at(path: &Path) -> io::Result<()> {
    let mut refused = REFUSED.lock().unwrap_or_else(PoisonError::into_inner);
    let hit = refused.iter_mut().find(|(of, _, left)| *left > 0 && path.starts_with(of));
    hit.map_or(Ok(()), |(_, kind, left)| {
        *left -= 1;
        Err((*kind).into())
    })
}

pub(super) fn at(path: &Path, step: Step) -> io::Result<()> {
    let mut plans = PLANS.lock().unwrap_or_else(PoisonError::into_inner);
    let Some((_, plan)) = plans.iter_mut().find(|(folder, _)| path.starts_with(folder)) else {
        return Ok(());
    };
    plan.passed += 1;
    plan.steps.push(step);
    match plan.fault {
        Some(Fault::Full) if plan.passed == plan.fails_at => Err(io::ErrorKind::StorageFull.into()),
        Some(Fault::Broken) if plan.fails_at > 0 && plan.passed >= plan.fails_at => {
            Err(io::Error::other("the disk broke"))
        }
        Some(Fault::Abort) if plan.passed == plan.fails_at => std::process::abort(),
        _ => Ok(()),
    }
}
