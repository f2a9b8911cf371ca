//! Changes of the file system as values, for tests that record and replay them.

use std::path::{Path, PathBuf};

/// A change that the system reported as done.
#[derive(Clone, Debug)]
pub enum Change {
    CreateFile(PathBuf),
    CreateDirectory(PathBuf),
    /// `bytes` was written to a file, ending at the offset `end`.
    Write {
        path: PathBuf,
        end: u64,
        bytes: Vec<u8>,
    },
    /// The bytes of this file became durable.
    Sync(PathBuf),
    /// The names in this directory became durable.
    SyncDirectory(PathBuf),
    Rename {
        from: PathBuf,
        to: PathBuf,
    },
    /// A file was removed, or a directory with its contents.
    Remove(PathBuf),
    /// A caller was told that its work is done, so that no loss of power may undo it.
    #[cfg(any(test, feature = "faults"))]
    Acknowledge,
}

/// Records a change at `path`, if a test is recording changes. Does nothing outside of tests.
#[inline]
pub(super) fn note(path: &Path, change: impl FnOnce() -> Change) {
    #[cfg(any(test, feature = "faults"))]
    recorder::note(path, change);
    #[cfg(not(any(test, feature = "faults")))]
    let _ = (path, change);
}

/// Records the changes below a directory, for tests.
#[cfg(any(test, feature = "faults"))]
pub mod recorder {
    use std::collections::BTreeMap;
    use std::sync::{Mutex, PoisonError};

    use super::{Change, Path, PathBuf};

    /// The recorded changes, by the directory below which they are recorded: so parallel tests do
    /// not record each other's changes.
    static RECORDS: Mutex<BTreeMap<PathBuf, Vec<Change>>> = Mutex::new(BTreeMap::new());

    /// Records the changes below `folder` from now on.
    pub fn start(folder: &Path) {
        RECORDS.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.into(), Vec::new());
    }

    /// Ends the recording below `folder` and returns the recorded changes.
    pub fn stop(folder: &Path) -> Vec<Change> {
        let mut records = RECORDS.lock().unwrap_or_else(PoisonError::into_inner);
        records.remove(folder).unwrap_or_default()
    }

    /// Records that the caller of work in `folder` was told that the work is done.
    pub fn acknowledge(folder: &Path) {
        note(folder, || Change::Acknowledge);
    }

    pub(super) fn note(path: &Path, change: impl FnOnce() -> Change) {
        let mut records = RECORDS.lock().unwrap_or_else(PoisonError::into_inner);
        let recorded = records.iter_mut().find(|(folder, _)| path.starts_with(folder));
        if let Some((_, changes)) = recorded {
            changes.push(change());
        }
    }
}
