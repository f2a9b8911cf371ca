//! The destination of a build: a path for a new store, or a store to replace or extend. Also checks
//! other output paths.

use std::io;
use std::path::{Path, PathBuf};

use crate::base::error::{Error, IoError, Result};
use crate::format::manifest::{self, StoreId};
use crate::search::snapshot::read_manifest;
use crate::writing::directory::followed::refuse_follower;
use crate::writing::directory::lock::{
    LOCKS, Patience, StoreLock, is_unfinished, lock_writer, reserve,
};
use crate::writing::directory::staging::remove_leftovers;
use crate::writing::directory::store_directory::{StoreDirectory, random_store_id};
use fpstore_base::read_inputs;
use fpstore_disk::{names_in, parent_of};

/// How an existing store at the path is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenMode {
    /// There must be no store.
    Create,
    /// Replaces an existing store once the new store is complete. Until then the existing one
    /// answers queries.
    Replace,
    /// Changes the existing store; fails without one.
    Change,
}

/// A path at which a store can be made or changed.
#[derive(Debug)]
pub(crate) struct Destination {
    pub(crate) path: PathBuf,
    pub(crate) mode: OpenMode,
    pub(crate) patience: Patience,
    /// The writer lock of the directory, if the directory exists.
    lock: Option<StoreLock>,
    /// If the directory does not exist: a lock that keeps other builders from making the same
    /// store.
    reservation: Option<StoreLock>,
    /// Directories next to the path that look like leftovers of a dead builder, but without proof.
    pub(crate) left: Vec<PathBuf>,
}

impl Destination {
    /// Checks that `path` suits `mode`, and takes the writer lock if the directory exists,
    /// otherwise a lock on the name. Rejects a directory that follows another store.
    pub(crate) fn acquire(path: PathBuf, mode: OpenMode, patience: Patience) -> Result<Self> {
        let destination = Destination::acquire_copy(path, mode, patience)?;
        if destination.lock.is_some() {
            refuse_follower(&destination.path)?;
        }
        Ok(destination)
    }

    /// Like [`Destination::acquire`], but accepts a directory that follows another store.
    pub(super) fn acquire_copy(path: PathBuf, mode: OpenMode, patience: Patience) -> Result<Self> {
        loop {
            let is_there = exists(&path, mode)?;
            if mode != OpenMode::Change {
                check_output(&path)?;
            }
            let (lock, reservation) = match is_there {
                true => (Some(lock_writer(&path, &patience)?), None),
                false => (None, reserve(&path, &patience)?),
            };
            // Another process may have made a store before it released the lock.
            if exists(&path, mode)? != is_there {
                continue;
            }
            let left = if is_there { Vec::new() } else { remove_leftovers(&path) };
            return Ok(Destination { path, mode, patience, lock, reservation, left });
        }
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
        let Destination { path, mode, patience, lock, reservation, .. } = self;
        if mode != OpenMode::Change {
            // Check again: since the first check, the path may have become an input of this
            // process.
            check_output(&path)?;
        }
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
            (Some(lock), new_store) => StoreDirectory::for_writer(&path, lock, new_store, patience),
            (None, Some(store_id)) => StoreDirectory::stage(&path, store_id, reservation),
            (None, None) => Err(Error::NoStore { path }),
        }
    }
}

/// Checks that `path` and the file or directory there, if any, suit `mode`. Returns whether there is
/// a directory, which is empty or contains a store.
fn exists(path: &Path, mode: OpenMode) -> Result<bool> {
    let names = match names_in(path) {
        Err(IoError { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            if path.is_symlink() {
                let found = "a symbolic link to nothing";
                return Err(Error::NotAStore { path: path.into(), found });
            }
            return match mode {
                OpenMode::Change => Err(Error::NoStore { path: path.into() }),
                OpenMode::Create | OpenMode::Replace => Ok(false),
            };
        }
        // Systems report different errors for a path that is a file.
        Err(IoError { source, .. })
            if source.kind() == io::ErrorKind::NotADirectory || path.is_file() =>
        {
            let found = "a file, not a directory";
            return Err(Error::NotAStore { path: path.into(), found });
        }
        names => names?,
    };
    let is_of_a_store = |name: &String| LOCKS.contains(&name.as_str()) || is_unfinished(name);
    if path.join(manifest::FILE_NAME).is_file() {
        if mode == OpenMode::Create {
            return Err(Error::StoreExists { path: path.into() });
        }
    } else if mode == OpenMode::Change {
        // A manifest that is not a plain file is rejected when it is read.
        if path.join(manifest::FILE_NAME).exists() {
            return Ok(true);
        }
        let found = "a directory without a manifest";
        return Err(Error::NotAStore { path: path.into(), found });
    } else if !names.iter().all(is_of_a_store) {
        let found = "a directory with other files in it";
        return Err(Error::NotAStore { path: path.into(), found });
    }
    Ok(true)
}

/// Rejects an output path that is an input of this process, is in a folder whose files are inputs,
/// or is inside a store, which only its writers may change. Inputs are known if
/// [`remember`](fpstore_base::read_inputs::remember) was called.
///
/// The functions that make stores and segment files call this at the start and before the output
/// gets its final name. Programs call it for their other outputs.
///
/// # Errors
///
/// [`Error::InvalidOptions`] with the path and a remedy.
pub fn check_output(path: &Path) -> Result<()> {
    let refused = |fault: &str| {
        let reason = format!("{} {fault}", path.display());
        Err(Error::InvalidOptions { reason })
    };
    if let Some(fault) = read_inputs::fault_of_output(path) {
        return refused(&fault);
    }
    // Some folders of the path may not exist yet.
    let place = read_inputs::place_of(path);
    let folder = parent_of(&place);
    let is_store = |folder: &&Path| {
        folder.join(manifest::FILE_NAME).is_file() && read_manifest(folder).is_ok()
    };
    match folder.ancestors().find(is_store) {
        None => Ok(()),
        Some(store) if store == folder => {
            refused("lies in a store, which may contain only its own files; name another output")
        }
        Some(store) => refused(&format!(
            "lies in the store {}, which may contain only its own files; name another output",
            store.display()
        )),
    }
}
