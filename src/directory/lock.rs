//! The locks of a store: advisory locks on three files of its directory.
//!
//! A writer holds the writer lock for as long as it lives. A program that merges segments holds the
//! compaction lock meanwhile. Either of them holds the publication lock during a transaction. They
//! are taken in this order.

use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::disk::{FailPoint, fail_point, lock_fail_point};
use crate::error::{Error, Result};

/// The holder of the lock on this file may write to the store.
pub(super) const WRITER_LOCK: &str = "LOCK";
/// The holder of the lock on this file may merge segments.
pub(super) const COMPACTION_LOCK: &str = "COMPACT";
/// The holder of the lock on this file may replace the manifest, and give files their final names
/// and remove them.
pub(super) const PUBLICATION_LOCK: &str = "PUBLISH";
/// The pause between two attempts to take the publication lock.
const PUBLICATION_PAUSE: Duration = Duration::from_millis(2);

/// One of the locks of a store. The system releases it when the process ends, however it ends.
#[derive(Debug)]
pub(crate) struct StoreLock(File);

impl Drop for StoreLock {
    fn drop(&mut self) {
        // Closing the file is not enough: another thread may be starting a process that has a copy
        // of it. Unlocking holds for all copies.
        let _ = self.0.unlock();
    }
}

/// Takes the writer lock of the store at `path`.
pub(super) fn lock_writer(path: &Path) -> Result<StoreLock> {
    let taken = take(path, WRITER_LOCK)?;
    taken.map_err(|Held { process }| Error::Locked { path: path.into(), process })
}

/// Takes the compaction lock of the store at `path`.
pub(crate) fn lock_compaction(path: &Path) -> Result<StoreLock> {
    let taken = take(path, COMPACTION_LOCK)?;
    taken.map_err(|Held { process }| Error::Compacting { path: path.into(), process })
}

/// Takes the publication lock of the store at `path`. While another process holds it, calls
/// `while_waiting` with the time waited so far and the number of that process; its error ends the
/// wait.
pub(super) fn lock_publication(
    path: &Path,
    mut while_waiting: impl FnMut(Duration, Option<u32>) -> Result<()>,
) -> Result<StoreLock> {
    let since = Instant::now();
    loop {
        match take(path, PUBLICATION_LOCK)? {
            Ok(lock) => return Ok(lock),
            Err(Held { process }) => while_waiting(since.elapsed(), process)?,
        }
        std::thread::sleep(PUBLICATION_PAUSE);
    }
}

/// Takes the publication lock of the store at `path`, unless it is held.
pub(super) fn try_lock_publication(path: &Path) -> Option<StoreLock> {
    take(path, PUBLICATION_LOCK).ok()?.ok()
}

/// Takes the lock on an open file, unless it is held.
pub(super) fn try_lock(file: File) -> Option<StoreLock> {
    file.try_lock().is_ok().then_some(StoreLock(file))
}

/// A lock is held by another process, or elsewhere in this one.
struct Held {
    /// The number of the process, where the holder noted it.
    process: Option<u32>,
}

/// Takes a lock, and notes the number of this process in its file.
fn take(path: &Path, name: &str) -> Result<Result<StoreLock, Held>> {
    let lock_path = path.join(name);
    let mut open = File::options();
    open.read(true).write(true).create(true).truncate(false);
    let mut file = open.open(&lock_path).map_err(Error::io("create", &lock_path))?;
    loop {
        let locked =
            fail_point(&lock_path, FailPoint::Lock).and_then(|()| lock_fail_point(&lock_path));
        let locked = locked.map_err(TryLockError::Error);
        match locked.and_then(|()| file.try_lock()) {
            Ok(()) => {
                // The number is for messages alone, so writing it may fail.
                let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
                return Ok(Ok(StoreLock(file)));
            }
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let _ = file.take(20).read_to_string(&mut holder);
                return Ok(Err(Held { process: holder.trim().parse().ok() }));
            }
            // A lock on a network file system can take long, and a signal interrupt it.
            Err(TryLockError::Error(failed)) if failed.kind() == ErrorKind::Interrupted => {}
            // Without a lock, two writers could lose each other's changes.
            Err(TryLockError::Error(source)) => {
                return Err(Error::Io { doing: "lock", path: lock_path, source });
            }
        }
    }
}
