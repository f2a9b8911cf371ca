//! The locks of a store: advisory locks on three files of its directory, and on a file next to the
//! directory while the store is made.
//!
//! A writer holds the writer lock for its whole life. A program that merges segments holds the
//! compaction lock during the merge. Each of them holds the publication lock during a transaction.
//! Locks are taken in this order. They use `flock`: the system releases them when the process ends
//! in any way, except copies in a forked child that has not started another program.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::base::error::{Error, IoError, Result};
use crate::format::deletions;
use crate::format::manifest::segment_number;
use crate::writing::directory::lock_file::LockFile;
use crate::writing::directory::waiting::Waiting;
use fpstore_base::watch::{Observer, Phase, Watch};
use fpstore_disk::{FailPoint, fail_point, is_temporary_name, lock_fail_point, parent_of, system};

/// The holder of the lock on this file may write to the store.
pub(super) const WRITER_LOCK: &str = "LOCK";
/// The holder of the lock on this file may merge segments.
pub(super) const COMPACTION_LOCK: &str = "COMPACT";
/// The holder of the lock on this file may replace the manifest, give files their final names, and
/// remove files.
pub(super) const PUBLICATION_LOCK: &str = "PUBLISH";
/// The names of all lock files.
pub(super) const LOCKS: [&str; 3] = [WRITER_LOCK, COMPACTION_LOCK, PUBLICATION_LOCK];
/// The prefix of the names of unfinished files.
pub(super) const TEMPORARY_PREFIX: &str = ".tmp-";

/// The lock that this process holds: the writer lock, or the compaction lock while a writer may be
/// active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockOwner {
    Writer,
    Compactor,
}

impl LockOwner {
    /// The prefix of the names of this owner's unfinished files. They are abandoned once the lock
    /// is free.
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

/// The first pause between attempts to take a lock; later pauses grow to `PAUSE_MAX`.
const PAUSE_MIN: Duration = Duration::from_millis(2);
const PAUSE_MAX: Duration = Duration::from_millis(50);
/// The maximum number of attempts to take a lock if other processes remove its file each time.
const TAKE_TRIES: u32 = 1000;

/// How long to wait for a held lock, and the observer of the wait.
#[derive(Clone, Debug, Default)]
pub(crate) struct Patience {
    most: Duration,
    observer: Option<Observer>,
}

impl Patience {
    /// A patience whose observer receives [`Phase::Wait`] and can end the wait.
    pub(crate) fn new(waiting: Waiting, observer: Option<Observer>) -> Self {
        Patience { most: waiting.most(), observer }
    }

    /// This patience with a time limit of at least `least`.
    pub(crate) fn at_least(&self, least: Duration) -> Self {
        Patience { most: self.most.max(least), observer: self.observer.clone() }
    }

    /// Takes a lock as soon as it is free; after the time limit, returns the holder of the lock.
    fn take(&self, path: &Path, name: &str) -> Result<Result<StoreLock, LockHolder>> {
        let since = Instant::now();
        let watch = Watch::new(self.observer.clone(), Phase::Wait, None);
        let mut pause = PAUSE_MIN;
        loop {
            let held = match take(path, name)? {
                Ok(lock) => return Ok(Ok(lock)),
                Err(held) => held,
            };
            let waited = since.elapsed();
            if waited >= self.most {
                return Ok(Err(held));
            }
            // If this process itself holds the lock, the wait is short: report 0 seconds.
            let is_own = held == Some(std::process::id());
            watch.report_with(if is_own { 0 } else { waited.as_secs() })?;
            std::thread::sleep(pause.min(self.most - waited));
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }
}

/// One of the locks of a store. The system releases it when the process ends in any way.
#[derive(Debug)]
pub(crate) struct StoreLock {
    /// `None` after the lock was released early, so that the directory of the lock file can be
    /// moved.
    file: Option<LockFile>,
    /// The path of the lock file.
    path: PathBuf,
    /// The id of the process that took the lock.
    process: u32,
    /// Whether the lock file is kept when the lock is released.
    keeps_file: bool,
}

impl StoreLock {
    /// Keeps the lock file when the lock is released.
    pub(super) fn keep_file(&mut self) {
        self.keeps_file = true;
    }

    /// The directory of the lock file.
    pub(super) fn directory(&self) -> &Path {
        parent_of(&self.path)
    }

    /// Whether the lock file still has its name. If not, its directory was moved or removed, and
    /// another process may write to a new directory at the same path.
    pub(super) fn is_in_place(&self) -> bool {
        self.file.as_ref().is_some_and(LockFile::is_in_place)
    }

    /// On systems where a directory with an open file cannot be moved or removed, releases the lock
    /// and removes the lock file. A new directory without a lock file is not treated as abandoned.
    pub(super) fn prepare_to_move(&mut self) {
        if !system::MOVES_FOLDERS_IN_USE {
            self.let_go();
        }
    }

    /// Whether the directory of the lock is now at `directory`.
    pub(super) fn has_moved_to(&self, directory: &Path) -> bool {
        match (&self.file, self.path.file_name()) {
            (Some(file), Some(name)) => file.is_at(&directory.join(name)),
            _ => directory.is_dir() && !self.directory().is_dir(),
        }
    }

    /// Sets the path of the lock after its directory has moved.
    pub(super) fn moved_to(&mut self, directory: &Path) {
        if let Some(name) = self.path.file_name() {
            self.path = directory.join(name);
        }
        if let Some(file) = &mut self.file {
            file.path.clone_from(&self.path);
        }
    }

    fn let_go(&mut self) {
        let Some(opened) = self.file.take() else { return };
        if !self.keeps_file {
            opened.remove();
        }
        // Closing the file is not enough: another thread may be starting a process, which has a
        // copy of the open file. Unlocking applies to all copies.
        let _ = opened.file.unlock();
    }
}

impl Drop for StoreLock {
    fn drop(&mut self) {
        // A forked child has a copy of the file and of this value; the lock belongs to its parent.
        if self.process == std::process::id() {
            self.let_go();
        }
    }
}

/// Takes the writer lock of the store at `path`.
pub(super) fn lock_writer(path: &Path, patience: &Patience) -> Result<StoreLock> {
    let taken = patience.take(path, WRITER_LOCK)?;
    taken.map_err(|process| Error::Locked { path: path.into(), process })
}

/// Takes the compaction lock of the store at `path`.
pub(crate) fn lock_compaction(path: &Path, patience: &Patience) -> Result<StoreLock> {
    let taken = patience.take(path, COMPACTION_LOCK)?;
    taken.map_err(|process| Error::Compacting { path: path.into(), process })
}

/// Takes the publication lock of the store at `path`; after the time limit returns its holder.
pub(super) fn lock_publication(
    path: &Path,
    patience: &Patience,
) -> Result<Result<StoreLock, LockHolder>> {
    patience.take(path, PUBLICATION_LOCK)
}

/// Takes the publication lock of the store at `path`; `None` if it is held or cannot be taken.
pub(super) fn try_lock_publication(path: &Path) -> Option<StoreLock> {
    take(path, PUBLICATION_LOCK).ok()?.ok()
}

/// Takes a lock on the name of a future store, so that two builds of one store do not both do the
/// work. `None` if there is no directory for the lock file.
pub(crate) fn reserve(path: &Path, patience: &Patience) -> Result<Option<StoreLock>> {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".lock");
    // Without a reservation for a name that is not UTF-8, the first of two builds to rename its
    // directory wins.
    let (parent, Some(name)) = (parent_of(path), name.to_str()) else { return Ok(None) };
    match patience.take(parent, name) {
        Err(Error::Io(IoError { source, .. })) if source.kind() == ErrorKind::NotFound => Ok(None),
        taken => taken?.map(Some).map_err(|process| Error::Locked { path: path.into(), process }),
    }
}

/// Takes the writer lock of the store at `path`; `None` if it is held.
pub(super) fn try_lock_writer(path: &Path) -> Result<Option<StoreLock>> {
    Ok(take(path, WRITER_LOCK)?.ok())
}

/// The holder of a lock, another process or another part of this process: the id of the process, if
/// the holder recorded it.
type LockHolder = Option<u32>;

/// Takes a lock and records the id of this process in its file, or returns the holder of the lock.
fn take(directory: &Path, name: &str) -> Result<Result<StoreLock, LockHolder>> {
    let mut tries = 0;
    while tries < TAKE_TRIES {
        tries += 1;
        let Some(mut opened) = LockFile::open(directory, name)? else { continue };
        match try_lock(&opened.file, &opened.path) {
            Ok(()) if !opened.is_in_place() => {}
            // The lock is free, but the file has other names (hard links): make a new file.
            Ok(()) if opened.has_other_names => opened.remove(),
            Ok(()) => {
                opened.note_process();
                let (path, process) = (opened.path.clone(), std::process::id());
                return Ok(Ok(StoreLock { file: Some(opened), path, process, keeps_file: false }));
            }
            Err(TryLockError::WouldBlock) => return Ok(Err(opened.noted_process())),
            // The system cannot lock the file: without locks, two writers could overwrite each
            // other's changes.
            Err(TryLockError::Error(source)) => {
                return Err(Error::Io(IoError { doing: "lock", path: opened.path, source }));
            }
        }
    }
    let source = std::io::Error::other("its file is replaced again and again");
    Err(Error::Io(IoError { doing: "lock", path: directory.join(name), source }))
}

/// Tries to take the lock on an open file, again after a signal: on a network file system, the call
/// can take long and be interrupted.
fn try_lock(file: &File, path: &Path) -> Result<(), TryLockError> {
    loop {
        let passed = fail_point(path, FailPoint::Lock).and_then(|()| lock_fail_point(path));
        match passed.map_err(TryLockError::Error).and_then(|()| file.try_lock()) {
            Err(TryLockError::Error(failed)) if failed.kind() == ErrorKind::Interrupted => {}
            locked => return locked,
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;
    use std::ops::ControlFlow;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    /// A wait for a lock that another thread of this process holds is reported as 0 seconds.
    #[test]
    fn a_wait_for_a_lock_of_this_process_is_not_a_wait_for_another_process() {
        let folder = tempfile::tempdir().unwrap();
        let _lock = lock_writer(folder.path(), &Patience::default()).unwrap();
        for (process, most) in [(None, 0), (Some(1), 1)] {
            if let Some(process) = process {
                fs::write(folder.path().join(WRITER_LOCK), format!("{process}\n")).unwrap();
            }
            let seen = Arc::new(AtomicU64::new(0));
            let noted = Arc::clone(&seen);
            let observer = Observer::new(move |progress| {
                noted.fetch_max(progress.done, Relaxed);
                ControlFlow::Continue(())
            });
            let waiting = Waiting::from(Duration::from_millis(1500));
            let taken = lock_writer(folder.path(), &Patience::new(waiting, Some(observer)));
            assert!(matches!(taken, Err(Error::Locked { .. })));
            assert_eq!(seen.load(Relaxed), most);
        }
    }

    /// Dropping the copy of a lock in a forked child must not release the lock of the parent.
    #[test]
    fn a_copy_in_another_process_does_not_let_go_of_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let is_held = || take(folder.path(), WRITER_LOCK).unwrap().is_err();
        for (process, held_after) in [(0, true), (std::process::id(), false)] {
            let Ok(mut lock) = take(folder.path(), WRITER_LOCK).unwrap() else {
                panic!("nobody holds the lock");
            };
            let of_parent = lock.file.as_ref().unwrap().file.try_clone().unwrap();
            lock.process = process;
            drop(lock);
            assert_eq!(is_held(), held_after, "process {process}");
            drop(of_parent);
            assert!(!is_held(), "process {process}");
        }
    }
}
