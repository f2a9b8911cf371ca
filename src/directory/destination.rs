//! The destination of a build: a path at which there is no store yet, or one to replace or extend.

use std::io;
use std::path::{Path, PathBuf};

use crate::directory::lock::{
    COMPACTION_LOCK, PUBLICATION_LOCK, StoreLock, WRITER_LOCK, lock_writer,
};
use crate::directory::staging::parent_of;
use crate::directory::store_directory::{StoreDirectory, TEMPORARY_PREFIX, random_store_id};
use crate::disk::names_in;
use crate::error::{Error, Result};
use crate::format::manifest::{self, StoreId};
use crate::snapshot::read_manifest;

/// What happens to a store that is at the path already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenMode {
    /// There must be none.
    Create,
    /// It answers until a new one is whole, and is replaced then.
    Replace,
    /// There must be one, and it is changed.
    Change,
}

/// A path at which a store can be made or changed.
#[derive(Debug)]
pub(crate) struct Destination {
    path: PathBuf,
    mode: OpenMode,
    /// The writer lock, if there is a directory: empty, or with a store.
    lock: Option<StoreLock>,
}

impl Destination {
    /// Checks that `path` suits `mode`, and takes the writer lock if there is a directory.
    pub(crate) fn acquire(path: PathBuf, mode: OpenMode) -> Result<Self> {
        let names = match names_in(&path) {
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                if path.is_symlink() {
                    return Err(Error::NotAStore { path, found: "a symbolic link to nothing" });
                }
                return match mode {
                    OpenMode::Change => Err(Error::NoStore { path }),
                    OpenMode::Create | OpenMode::Replace => {
                        Ok(Destination { path, mode, lock: None })
                    }
                };
            }
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotADirectory => {
                return Err(Error::NotAStore { path, found: "a file, not a directory" });
            }
            names => names?,
        };
        let is_of_a_store = |name: &String| {
            [WRITER_LOCK, COMPACTION_LOCK, PUBLICATION_LOCK].contains(&name.as_str())
                || name.starts_with(TEMPORARY_PREFIX)
        };
        if path.join(manifest::FILE_NAME).is_file() {
            if mode == OpenMode::Create {
                return Err(Error::StoreExists { path });
            }
        } else if mode == OpenMode::Change {
            return Err(Error::NotAStore { path, found: "a directory without a manifest" });
        } else if !names.iter().all(is_of_a_store) {
            return Err(Error::NotAStore { path, found: "a directory with other files in it" });
        }
        let lock = Some(lock_writer(&path)?);
        Ok(Destination { path, mode, lock })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn mode(&self) -> OpenMode {
        self.mode
    }

    /// A directory on the disk of the store, for temporary files.
    pub(crate) fn scratch_directory(&self) -> &Path {
        match self.lock {
            Some(_) => &self.path,
            None => parent_of(&self.path),
        }
    }

    /// Opens the directory for changes. A new store gets the id `store_id`, or a random one.
    pub(crate) fn open(self, store_id: Option<StoreId>) -> Result<StoreDirectory> {
        let Destination { path, mode, lock } = self;
        let new_store = match mode {
            OpenMode::Change => {
                read_manifest(&path)?;
                None
            }
            OpenMode::Create | OpenMode::Replace => {
                Some(store_id.map_or_else(random_store_id, Ok)?)
            }
        };
        match (lock, new_store) {
            (Some(lock), new_store) => StoreDirectory::for_writer(&path, lock, new_store),
            (None, Some(store_id)) => StoreDirectory::stage(&path, store_id),
            (None, None) => Err(Error::NoStore { path }),
        }
    }
}
