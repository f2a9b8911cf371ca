//! Removes temporary files and directories that killed processes left behind.
//!
//! A running process keeps locks on the files it uses. A later process removes unlocked files only
//! if it is certain that this program created them: other programs may choose names that begin with
//! "fpstore", too.

use super::change::{Change, note};
use super::{FailPoint, fail_point, plain_file, system};
use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Removes the unlocked files of this user in an open folder whose names `ours` accepts. Ignores
/// files that cannot be removed.
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

/// Calls `remove` with each path in `directory` whose name `ours` accepts. Ignores errors.
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

/// Opens and locks a plain file of this user; `None` if another process has locked it.
pub(super) fn unheld(path: &Path) -> io::Result<Option<File>> {
    let file = plain_file::open_unlinked(path)?;
    Ok(is_unheld(&file)?.then_some(file))
}

/// Tries to lock a plain file of this user. Returns whether that succeeded, so that no process uses
/// it.
fn is_unheld(file: &File) -> io::Result<bool> {
    let found = file.metadata()?;
    // The files of other users must not be changed, and locks on them may have no effect.
    Ok(found.is_file() && system::is_own(&found) && file.try_lock().is_ok())
}
