//! The locks of a store, and the folders that writers lock before they work in them.
//!
//! A writer holds the first for as long as it lives, whoever merges segments the second, and either of them the third
//! while it publishes. They are taken in the order second, third.

use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::disk::{self, Step};
use crate::error::{Error, Result};

/// Whoever holds the lock on this file may write to the store.
pub(super) const LOCK_NAME: &str = "LOCK";
/// Whoever holds the lock on this file may merge segments.
pub(super) const COMPACT_NAME: &str = "COMPACT";
/// Whoever holds the lock on this file may replace the manifest, and name files and remove them.
pub(super) const PUBLISH_NAME: &str = "PUBLISH";
/// How long to wait before looking again whether the manifest is free.
const PUBLISH_PAUSE: Duration = Duration::from_millis(2);
/// How often to begin with another folder when one is taken away before it is locked.
const LOCK_TRIES: u32 = 5;
/// A temporary directory without a lock file may just have been made; past this age it is a
/// leftover.
const UNLOCKED_GRACE: Duration = Duration::from_secs(3600);

/// One of the locks of a store. The system lets go of it when the process ends, however it ends.
#[derive(Debug)]
pub(crate) struct StoreLock(File);

impl Drop for StoreLock {
    fn drop(&mut self) {
        // Closing would do, were there no copy of the file in a process that another thread is
        // just starting. What is unlocked is unlocked for all copies.
        let _ = self.0.unlock();
    }
}

/// Takes the writer lock of the store at `path`, and notes in it who has it.
pub(super) fn lock(path: &Path) -> Result<StoreLock> {
    take(path, LOCK_NAME)?.map_err(|process| Error::Locked { path: path.into(), process })
}

/// Takes the lock of whoever merges segments of the store at `path`.
pub(crate) fn lock_compaction(path: &Path) -> Result<StoreLock> {
    take(path, COMPACT_NAME)?.map_err(|process| Error::Compacting { path: path.into(), process })
}

/// Takes the lock on the manifest of the store at `path`. Where someone else has it, asks now and then whether to wait on,
/// and says how long it has waited.
pub(super) fn lock_publication(
    path: &Path,
    mut wait_on: impl FnMut(Duration, Option<u32>) -> Result<()>,
) -> Result<StoreLock> {
    let since = Instant::now();
    loop {
        match take(path, PUBLISH_NAME)? {
            Ok(lock) => return Ok(lock),
            Err(process) => wait_on(since.elapsed(), process)?,
        }
        std::thread::sleep(PUBLISH_PAUSE);
    }
}

/// As [`lock_publication`], if no one holds it.
pub(super) fn try_lock_publication(path: &Path) -> Option<StoreLock> {
    take(path, PUBLISH_NAME).ok()?.ok()
}

/// Takes a lock, or says which process has it, where it noted that.
fn take(path: &Path, name: &str) -> Result<Result<StoreLock, Option<u32>>> {
    let lock_path = path.join(name);
    let mut open = File::options();
    open.read(true).write(true).create(true).truncate(false);
    let mut file = open.open(&lock_path).map_err(Error::io("create", &lock_path))?;
    loop {
        let locked = disk::step(&lock_path, Step::Lock).and_then(|()| disk::may_lock(&lock_path));
        let locked = locked.map_err(TryLockError::Error);
        match locked.and_then(|()| file.try_lock()) {
            Ok(()) => {
                // For messages only, so it may fail.
                let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
                return Ok(Ok(StoreLock(file)));
            }
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let _ = file.take(20).read_to_string(&mut holder);
                return Ok(Err(holder.trim().parse().ok()));
            }
            // A lock of another machine may take its time, and a signal come in between.
            Err(TryLockError::Error(failed)) if failed.kind() == ErrorKind::Interrupted => {}
            // Without a lock two writers could lose what the other one wrote.
            Err(TryLockError::Error(source)) => {
                return Err(Error::Io { doing: "lock", path: lock_path, source });
            }
        }
    }
}

/// A temporary directory whose lock we hold. Another builder that tidies up may take a folder
/// for abandoned in the instant before it is locked; then there is another try.
pub(super) fn locked_folder(parent: &Path, prefix: &OsStr) -> Result<(TempDir, StoreLock)> {
    let mut tries = 0;
    loop {
        tries += 1;
        let folder = disk::step(parent, Step::Create)
            .and_then(|()| {
                disk::with_usual_mode(tempfile::Builder::new().prefix(prefix), 0o777)
                    .tempdir_in(parent)
            })
            .map_err(disk::without_path("create a directory in", parent))?;
        match lock(folder.path()) {
            Ok(lock) if folder.path().join(LOCK_NAME).exists() => return Ok((folder, lock)),
            Err(error) if tries == LOCK_TRIES => return Err(error),
            _ => {}
        }
    }
}

/// Removes what builders of the same store left behind when they died, and nothing that a
/// living one still holds.
pub(super) fn remove_leftovers(parent: &Path, prefix: &OsStr) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    let names = entries.filter_map(|entry| Some(entry.ok()?.file_name()));
    for name in names.filter(|name| starts_with(name, prefix)) {
        let folder = parent.join(name);
        // The lock is held while the folder goes, so that no one begins to use it.
        let lock = File::open(folder.join(LOCK_NAME)).map(StoreLock);
        let abandoned = match &lock {
            Ok(lock) => lock.0.try_lock().is_ok(),
            Err(_) => is_old(&folder),
        };
        if lock.is_err() {
            // Locked folders hold their lock file. An empty one is either a leftover or just made,
            // and then its maker makes another; it goes only if it is still empty.
            let _ = disk::step(&folder, Step::Remove).and_then(|()| fs::remove_dir(&folder));
        }
        if abandoned {
            // Failing to tidy up must not stop a build.
            let _ = disk::step(&folder, Step::Remove).and_then(|()| fs::remove_dir_all(&folder));
        }
    }
}

fn starts_with(name: &OsStr, prefix: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(prefix.as_encoded_bytes())
}

fn is_old(folder: &Path) -> bool {
    let modified = fs::metadata(folder).and_then(|metadata| metadata.modified()).ok();
    let age = modified.and_then(|at| at.elapsed().ok());
    age.is_some_and(|age| age > UNLOCKED_GRACE)
}
