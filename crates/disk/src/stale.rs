//! Removes named temporary files and directories left behind by killed processes.
//!
//! A live process holds a lock on the files it uses. A later process removes unlocked files if it
//! is certain that this program created them: names chosen by other people may begin with
//! "fpstore", too.

use super::change::{Change, note};
use super::{FailPoint, fail_point, plain_file, system};
use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Removes the files of this user in an open folder whose names are `ours` and that are not locked.
/// Files that cannot be removed are left.
pub(super) fn remove_stale_files(
    folder: &system::Folder,
    path: &Path,
    ours: impl Fn(&str) -> bool,
) {
    for name in folder.names().unwrap_or_default() {
        if !name.to_str().is_some_and(&ours) {
            continue;
        }
        let Ok(file) = folder.open_file(&name, false) else { continue };
        let path = path.join(&name);
        if is_unheld(&file).unwrap_or(false) && fail_point(&path, FailPoint::Remove).is_ok() {
            let removed = folder.remove_file(&name);
            if removed.is_ok() {
                note(&path, || Change::Remove(path.clone()));
            }
        }
    }
}

/// Calls `remove` with each path in `directory` whose name is `ours`. Errors are ignored.
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

/// Opens and locks a file of this user that no process has locked.
pub(super) fn unheld(path: &Path) -> io::Result<Option<File>> {
    let file = plain_file::open_unlinked(path)?;
    Ok(is_unheld(&file)?.then_some(file))
}

/// Locks a plain file of this user. Returns whether that succeeded: then no other process uses it.
fn is_unheld(file: &File) -> io::Result<bool> {
    let found = file.metadata()?;
    // Files of other users must not be changed, and locking them may have no effect.
    Ok(found.is_file() && system::is_own(&found) && file.try_lock().is_ok())
}
