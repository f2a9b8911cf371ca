//! Temporary files and directories with names that killed processes left behind.
//!
//! A live process holds a lock on what it uses. A later process removes what nobody holds, if it is
//! certain that this program made it: other people have names that begin with "fpstore", too.

use std::fs::{self, File};
use std::io;
use std::path::Path;

#[cfg(feature = "documents")]
use super::remove_file;
use super::{plain_file, system};

/// Removes the files of this user in `directory` whose names are `ours`, and which no process holds.
/// What cannot be removed stays.
#[cfg(feature = "documents")]
pub(super) fn remove_stale_files(directory: &Path, ours: impl Fn(&str) -> bool) {
    each_stale(directory, ours, |path| match unheld(path)? {
        Some(_held) => remove_file(path),
        None => Ok(()),
    });
}

/// Calls `remove` with each path in `directory` whose name is `ours`. An error is no obstacle.
pub(super) fn each_stale(
    directory: &Path,
    ours: impl Fn(&str) -> bool,
    remove: impl Fn(&Path) -> io::Result<()>,
) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_str().is_some_and(&ours) {
            let _ = remove(&entry.path());
        }
    }
}

/// A file of this user that no process has locked, which is locked now.
pub(super) fn unheld(path: &Path) -> io::Result<Option<File>> {
    let file = plain_file::open_unlinked(path)?;
    // Other people's are theirs, and a lock on them might not be one.
    let is_own = system::is_own(&file.metadata()?);
    Ok((is_own && file.try_lock().is_ok()).then_some(file))
}
