//! A new store under a temporary name next to its final path.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::base::error::{Error, IoError, Result};
use crate::writing::directory::abandoned::{remove_abandoned, remove_files};
use crate::writing::directory::lock::{Patience, StoreLock, TEMPORARY_PREFIX, lock_writer};
use fpstore_disk::{self as disk, TemporaryDirectory, parent_of, system};

/// The builder gives up after this many new directories that another process removed before they
/// were locked.
const CREATE_TRIES: u32 = 5;
const MOVE: &str = "move the new store to";

/// A temporary directory that will be moved to `path`. Dropping it removes the directory.
#[derive(Debug)]
pub(super) struct Staging {
    /// The temporary directory; `None` after the move.
    directory: Option<TemporaryDirectory>,
    path: PathBuf,
}

impl Staging {
    /// Creates and locks a directory next to `path`, and removes leftovers of dead processes there.
    pub(super) fn create(path: &Path) -> Result<(Self, StoreLock)> {
        remove_leftovers(path);
        let mut tries = 0;
        loop {
            tries += 1;
            let directory = TemporaryDirectory::create(parent_of(path), &prefix_for(path))?;
            // If another builder regards the directory as abandoned and removes it before it is
            // locked, create another one.
            match lock_writer(directory.path(), &Patience::default()) {
                Ok(lock) => {
                    return Ok((Staging { directory: Some(directory), path: path.into() }, lock));
                }
                Err(error) if tries == CREATE_TRIES => return Err(error),
                Err(_) => {}
            }
        }
    }

    /// Moves the directory with its `lock` to its final path and returns that path.
    ///
    /// After an error there is no store at the path. The exception is [`Error::InEffect`] with
    /// `generation`: then the store is in place.
    pub(super) fn move_into_place(
        mut self,
        lock: &mut StoreLock,
        generation: u64,
    ) -> Result<PathBuf> {
        let path = self.path.clone();
        lock.prepare_to_move();
        let renamed = self.directory.take().map_or(Ok(()), |directory| directory.rename(&path));
        let moved = match renamed {
            Err(source) if system::is_taken(&source, &path) => {
                return Err(Error::StoreExists { path });
            }
            // A rename that reports an error may nevertheless have moved the directory.
            Err(source) if !lock.has_moved_to(&path) => {
                return Err(Error::Io(IoError { doing: MOVE, path, source }));
            }
            renamed => renamed.map_err(Error::io(MOVE, &path)),
        };
        lock.moved_to(&path);
        let durable = moved.and_then(|()| Ok(disk::sync_directory(parent_of(&path))?));
        durable.map_err(Error::in_effect(generation))?;
        Ok(path)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // The lock file is removed last: if the process is killed here, the next build can still
        // prove that a builder left the other files.
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

/// Removes leftovers of dead builders of the store at `path`, and returns the directories that only
/// look like leftovers.
pub(super) fn remove_leftovers(path: &Path) -> Vec<PathBuf> {
    remove_abandoned(parent_of(path), &prefix_for(path))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::writing::directory::StoreDirectory;
    use fpstore_disk::FailPoint;
    use fpstore_disk::fail_points::{self, Fault};

    /// A new store without segments, to be moved to `path`.
    fn staged(path: &Path) -> (StoreDirectory, u64) {
        let directory = StoreDirectory::stage(path, [7; 16], None).unwrap();
        let generation = directory.begin().unwrap().commit(Vec::new()).unwrap();
        (directory, generation)
    }

    fn names_in(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap();
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_move_that_took_place_is_in_effect_and_one_that_did_not_leaves_nothing() {
        let mut effects = Vec::new();
        for fails_at in 1.. {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("store.fps");
            let (directory, generation) = staged(&path);
            fail_points::plan(folder.path(), fails_at, Fault::Full);
            let done = directory.finish(generation).map(drop);
            let passed = fail_points::forget(folder.path());
            let failed = passed.get(fails_at as usize - 1).copied();
            let case = format!("{failed:?}: {done:?}");
            match done {
                Err(Error::InEffect { generation: 1, .. }) => effects.extend(failed),
                Err(Error::Io(IoError { doing: MOVE, .. })) => {
                    assert_eq!(failed, Some(FailPoint::Rename), "{case}");
                    assert!(names_in(folder.path()).is_empty(), "{case}");
                    continue;
                }
                // An error in removing the lock file is ignored.
                _ => assert!(done.is_ok() && matches!(failed, None | Some(FailPoint::Remove))),
            }
            assert_eq!(names_in(folder.path()), ["store.fps"], "{case}");
            if failed != Some(FailPoint::Remove) {
                assert_eq!(names_in(&path), ["MANIFEST"], "{case}");
            }
            if failed.is_none() {
                break;
            }
        }
        // Some systems make names durable without a sync of the directory.
        let syncs = system::directory_to_sync(Path::new(".")).unwrap().is_some();
        let all = [FailPoint::RenameReport, FailPoint::SyncDirectory];
        assert_eq!(effects, all[..1 + usize::from(syncs)]);
    }

    #[test]
    fn a_store_that_came_first_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.fps");
        let (directory, generation) = staged(&path);
        let (other, of_other) = staged(&path);
        other.finish(of_other).unwrap();
        let refused = directory.finish(generation).unwrap_err();
        assert!(matches!(refused, Error::StoreExists { .. }), "{refused}");
        assert_eq!(names_in(folder.path()), ["store.fps"]);
        // A builder that gives up removes its directory; a dead builder leaves it to the next one.
        let (given_up, _) = staged(&path);
        assert_eq!(names_in(folder.path()).len(), 2);
        drop(given_up);
        assert_eq!(names_in(folder.path()), ["store.fps"]);
        fs::create_dir(folder.path().join(".store.fps.tmp-abc123")).unwrap();
        assert_eq!(remove_leftovers(&path), Vec::<PathBuf>::new());
        assert_eq!(names_in(folder.path()), ["store.fps"]);
    }
}
