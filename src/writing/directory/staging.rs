//! A new store under a temporary name beside its final path.

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::base::error::{Error, Result};
use crate::disk::parent_of;
use crate::disk::{self, TemporaryDirectory};
use crate::writing::directory::abandoned::{remove_abandoned, remove_files};
use crate::writing::directory::lock::{Patience, StoreLock, lock_writer};
use crate::writing::directory::names::TEMPORARY_PREFIX;

/// The builder gives up after this many new directories that another process removed before they
/// were locked.
const CREATE_TRIES: u32 = 5;
const MOVE: &str = "move the new store to";

/// A temporary directory that will move to `path`. Dropping it removes the directory.
#[derive(Debug)]
pub(super) struct Staging {
    /// `None` once it has moved.
    directory: Option<TemporaryDirectory>,
    path: PathBuf,
}

impl Staging {
    /// Creates and locks a directory beside `path`, and removes what dead processes left there.
    pub(super) fn create(path: &Path) -> Result<(Self, StoreLock)> {
        remove_leftovers(path);
        let (directory, lock) = create_locked(parent_of(path), &prefix_for(path))?;
        Ok((Staging { directory: Some(directory), path: path.into() }, lock))
    }

    /// Moves the directory with its `lock` to its final path and returns that path.
    ///
    /// After an error the store is not there; only after [`Error::InEffect`] with its `generation`
    /// it is.
    pub(super) fn move_into_place(
        mut self,
        lock: &mut StoreLock,
        generation: u64,
    ) -> Result<PathBuf> {
        let path = self.path.clone();
        let renamed = self.directory.take().map_or(Ok(()), |directory| directory.rename(&path));
        let moved = match renamed {
            Err(source)
                if matches!(
                    source.kind(),
                    ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists
                ) =>
            {
                return Err(Error::StoreExists { path });
            }
            // A rename that reports an error may have taken place.
            Err(source) if !lock.has_moved_to(&path) => {
                return Err(Error::Io { doing: MOVE, path, source });
            }
            renamed => renamed.map_err(Error::io(MOVE, &path)),
        };
        lock.moved_to(&path);
        let durable = moved.and_then(|()| disk::sync_directory(parent_of(&path)));
        durable.map_err(|source| Error::InEffect { generation, source: Box::new(source) })?;
        Ok(path)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // The lock file is the last to go: who is killed here leaves what the next build can prove
        // to be its own.
        if let Some(directory) = &self.directory {
            let _ = remove_files(directory.path());
        }
    }
}

/// The start of the names of new directories for the store at `path`.
fn prefix_for(path: &Path) -> OsString {
    let mut prefix = OsString::from(".");
    prefix.push(path.file_name().unwrap_or_default());
    prefix.push(TEMPORARY_PREFIX);
    prefix
}

/// Removes what dead builders of the store at `path` left beside it, and returns the directories
/// that only look like it.
pub(super) fn remove_leftovers(path: &Path) -> Vec<PathBuf> {
    remove_abandoned(parent_of(path), &prefix_for(path))
}

/// Creates a temporary directory and takes its writer lock. Another builder may take the directory
/// for abandoned in the instant before the lock, and remove it; then another one is created.
fn create_locked(parent: &Path, prefix: &OsStr) -> Result<(TemporaryDirectory, StoreLock)> {
    let mut tries = 0;
    loop {
        tries += 1;
        let directory = TemporaryDirectory::create(parent, prefix)?;
        match lock_writer(directory.path(), &Patience::default()) {
            Ok(lock) => return Ok((directory, lock)),
            Err(error) if tries == CREATE_TRIES => return Err(error),
            Err(_) => {}
        }
    }
}
