//! Removing directories of unfinished new stores that dead builders left behind.
//!
//! A directory is removed only if this process can prove that a builder of the same user made it
//! and has ended: by its name, its owner, the lock in it, and the name and kind of every file in
//! it. If in doubt, it is kept and reported by the caller.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
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
        let may_remove = is_temporary_name(&name, prefix) && is_own(&directory, Metadata::is_dir);
        if !(may_remove && remove(&directory)) {
            left.push(directory);
        }
    }
    left.sort();
    left
}

/// Removes an abandoned directory. Returns whether it is gone, or in use: a builder holds its lock.
fn remove(directory: &Path) -> bool {
    // An empty directory can be removed without a lock: its builder died, or has just made it and
    // will make another one.
    if remove_empty_directory(directory).is_ok() || !directory.exists() {
        return true;
    }
    if !is_own(&directory.join(WRITER_LOCK), Metadata::is_file) {
        return false;
    }
    // The lock is held during the removal, so that no other process starts to use the directory.
    match try_lock_writer(directory) {
        Ok(None) => true,
        Ok(Some(_lock)) if remove_files(directory) => true,
        Ok(Some(mut lock)) => {
            lock.keep_file();
            false
        }
        Err(_) => false,
    }
}

/// Removes a directory and the files of a store in it, the lock file last. Does nothing and returns
/// false if it contains anything else.
pub(super) fn remove_files(directory: &Path) -> bool {
    let Ok(mut names) = names_in(directory) else { return false };
    let is_removable =
        |name: &String| is_of_a_store(name) && is_own(&directory.join(name), Metadata::is_file);
    if !names.iter().all(is_removable) {
        return false;
    }
    names.sort_by_key(|name| name == WRITER_LOCK);
    names.iter().all(|name| remove_file(&directory.join(name)).is_ok())
        && remove_empty_directory(directory).is_ok()
}

/// Whether builders give files this name.
pub(super) fn is_of_a_store(name: &str) -> bool {
    LOCKS.contains(&name)
        || name == manifest::FILE_NAME
        || number_of(name).is_some()
        || is_unfinished(name)
}

/// Whether `path` is a directory or plain file, as `is_kind` demands, not a link, and belongs to the
/// user of this process.
fn is_own(path: &Path, is_kind: impl Fn(&Metadata) -> bool) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| is_kind(&found) && system::is_own(&found))
}
