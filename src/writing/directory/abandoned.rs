//! Removing directories of unfinished new stores that dead builders left behind.
//!
//! A directory is removed only if this process can prove that a builder of the same user made it
//! and has ended: by its name, its owner, the lock in it, and the name and kind of every file in
//! it. If in doubt, it is kept and reported by the caller.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::format::manifest;
use crate::writing::directory::lock::{
    LOCKS, WRITER_LOCK, is_unfinished, number_of, try_lock_writer,
};
use fpstore_disk::{is_temporary_name, names_in, remove_empty_directory, remove_file, system};

/// Removes the abandoned directories in `parent` whose names start with `prefix`, and returns the
/// other unlocked directories with such names.
pub(super) fn remove_abandoned(parent: &Path, prefix: &OsStr) -> Vec<PathBuf> {
    // A directory whose name is not UTF-8 is kept and not returned.
    let (Some(prefix), Ok(entries)) = (prefix.to_str(), fs::read_dir(parent)) else {
        return Vec::new();
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut left = Vec::new();
    for name in names.filter(|name| name.starts_with(prefix)) {
        let directory = parent.join(&name);
        let outcome = match is_temporary_name(&name, prefix) && is_own(&directory, Kind::Directory)
        {
            true => remove(&directory),
            false => Outcome::Left,
        };
        if outcome == Outcome::Left {
            left.push(directory);
        }
    }
    left.sort();
    left
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Gone,
    /// A builder holds the lock of the directory.
    InUse,
    Left,
}

fn remove(directory: &Path) -> Outcome {
    // An empty directory can be removed without a lock: its builder died, or has just made it and
    // will make another one.
    if remove_empty_directory(directory).is_ok() || !directory.exists() {
        return Outcome::Gone;
    }
    if !is_own(&directory.join(WRITER_LOCK), Kind::File) {
        return Outcome::Left;
    }
    // The lock is held during the removal, so that no other process starts to use the directory.
    match try_lock_writer(directory) {
        Ok(None) => Outcome::InUse,
        Ok(Some(_lock)) if remove_files(directory) => Outcome::Gone,
        Ok(Some(mut lock)) => {
            lock.keep_file();
            Outcome::Left
        }
        Err(_) => Outcome::Left,
    }
}

/// Removes a directory and the files of a store in it, the lock file last. Does nothing and returns
/// false if it contains anything else.
pub(super) fn remove_files(directory: &Path) -> bool {
    let Ok(mut names) = names_in(directory) else { return false };
    if !names.iter().all(|name| is_of_a_store(name) && is_own(&directory.join(name), Kind::File)) {
        return false;
    }
    names.sort_by_key(|name| name == WRITER_LOCK);
    names.iter().all(|name| remove_file(&directory.join(name)).is_ok())
        && remove_empty_directory(directory).is_ok()
}

/// Whether builders give files this name.
fn is_of_a_store(name: &str) -> bool {
    LOCKS.contains(&name)
        || name == manifest::FILE_NAME
        || number_of(name).is_some()
        || is_unfinished(name)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Directory,
    File,
}

/// Whether `path` is a directory or plain file of the given kind, not a link, that belongs to the
/// user of this process.
fn is_own(path: &Path, kind: Kind) -> bool {
    let Ok(metadata) = fs::symlink_metadata(path) else { return false };
    let is_kind = match kind {
        Kind::Directory => metadata.is_dir(),
        Kind::File => metadata.is_file(),
    };
    is_kind && system::is_own(&metadata)
}
