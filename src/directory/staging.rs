//! A new store under a temporary name beside its final path.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::directory::lock::{StoreLock, WRITER_LOCK, lock_writer, try_lock};
use crate::directory::store_directory::TEMPORARY_PREFIX;
use crate::disk::{self, TemporaryDirectory};
use crate::error::{Error, Result};

/// The builder gives up after this many new directories that another process removed before they
/// were locked.
const CREATE_TRIES: u32 = 5;
/// The age past which a temporary directory without a lock file is abandoned. A younger one may
/// just have been created.
const UNLOCKED_GRACE: Duration = Duration::from_secs(3600);

/// A temporary directory that will move to `path`. Dropping it removes the directory.
#[derive(Debug)]
pub(super) struct Staging {
    directory: TemporaryDirectory,
    path: PathBuf,
}

impl Staging {
    /// Creates and locks a directory beside `path`, and removes those of dead builders of the same
    /// store.
    pub(super) fn create(path: &Path) -> Result<(Self, StoreLock)> {
        let parent = parent_of(path);
        let mut prefix = OsString::from(".");
        prefix.push(path.file_name().unwrap_or_default());
        prefix.push(TEMPORARY_PREFIX);
        remove_abandoned(parent, &prefix);
        let (directory, lock) = create_locked(parent, &prefix)?;
        Ok((Staging { directory, path: path.into() }, lock))
    }

    /// The temporary path.
    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Moves the directory to its final path and returns that path.
    pub(super) fn move_into_place(self) -> Result<PathBuf> {
        let Staging { directory, path } = self;
        directory.rename(&path).map_err(|source| match source.kind() {
            io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists => {
                Error::StoreExists { path: path.clone() }
            }
            _ => Error::Io { doing: "move the new store to", path: path.clone(), source },
        })?;
        disk::sync_directory(parent_of(&path))?;
        Ok(path)
    }
}

/// The directory that `path` is in.
pub(super) fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Creates a temporary directory and takes its writer lock. Another builder may take the directory
/// for abandoned in the instant before the lock, and remove it; then another one is created.
fn create_locked(parent: &Path, prefix: &OsStr) -> Result<(TemporaryDirectory, StoreLock)> {
    let mut tries = 0;
    loop {
        tries += 1;
        let directory = TemporaryDirectory::create(parent, prefix)?;
        match lock_writer(directory.path()) {
            Ok(lock) if directory.path().join(WRITER_LOCK).exists() => {
                return Ok((directory, lock));
            }
            Err(error) if tries == CREATE_TRIES => return Err(error),
            _ => {}
        }
    }
}

/// Removes the temporary directories of dead builders: those that are not locked.
fn remove_abandoned(parent: &Path, prefix: &OsStr) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    let names = entries.filter_map(|entry| Some(entry.ok()?.file_name()));
    for name in names.filter(|name| starts_with(name, prefix)) {
        let directory = parent.join(name);
        match File::open(directory.join(WRITER_LOCK)) {
            // The lock is held during the removal, so that no other process begins to use it.
            Ok(file) => {
                if let Some(_lock) = try_lock(file) {
                    let _ = disk::remove_directory_tree(&directory);
                }
            }
            Err(_) => {
                // An empty one may just have been created; then its builder creates another.
                let _ = disk::remove_empty_directory(&directory);
                if is_old(&directory) {
                    let _ = disk::remove_directory_tree(&directory);
                }
            }
        }
    }
}

fn starts_with(name: &OsStr, prefix: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(prefix.as_encoded_bytes())
}

fn is_old(directory: &Path) -> bool {
    let modified = fs::metadata(directory).and_then(|metadata| metadata.modified()).ok();
    let age = modified.and_then(|at| at.elapsed().ok());
    age.is_some_and(|age| age > UNLOCKED_GRACE)
}
