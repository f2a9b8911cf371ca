//! Changes of the file system as values, which tests record and replay.

use std::path::{Path, PathBuf};

/// A change that the system reported as done.
#[derive(Clone, Debug)]
pub enum Change {
    CreateFile(PathBuf),
    CreateDirectory(PathBuf),
    /// `bytes` before the offset `end` of a file.
    Write {
        path: PathBuf,
        end: u64,
        bytes: Vec<u8>,
    },
    /// The bytes of a file are durable.
    Sync(PathBuf),
    /// The names in a directory are durable.
    SyncDirectory(PathBuf),
    Rename {
        from: PathBuf,
        to: PathBuf,
    },
    /// A file, or a directory with its contents.
    Remove(PathBuf),
    /// A caller was notified that its work is done.
    #[cfg(any(test, feature = "faults"))]
    Acknowledge,
}

/// Records a change at `path`, if a test records changes. Does nothing outside tests.
#[inline]
pub(super) fn note(path: &Path, change: impl FnOnce() -> Change) {
    #[cfg(any(test, feature = "faults"))]
    recorder::note(path, change);
    #[cfg(not(any(test, feature = "faults")))]
    let _ = (path, change);
}

/// Records changes below a directory.
#[cfg(any(test, feature = "faults"))]
pub mod recorder {
    use std::collections::BTreeMap;
    use std::sync::{Mutex, PoisonError};

    use super::{Change, Path, PathBuf};

    /// The records, by the directory below which changes are recorded, so that parallel tests do
    /// not disturb each other.
    static RECORDS: Mutex<BTreeMap<PathBuf, Vec<Change>>> = Mutex::new(BTreeMap::new());

    /// Records the changes below `folder` from now on.
    pub fn start(folder: &Path) {
        RECORDS.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.into(), Vec::new());
    }

    /// Ends the recording below `folder` and returns the changes.
    pub fn stop(folder: &Path) -> Vec<Change> {
        let mut records = RECORDS.lock().unwrap_or_else(PoisonError::into_inner);
        records.remove(folder).unwrap_or_default()
    }

    /// Records that a caller was notified that its work in `folder` is done.
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
