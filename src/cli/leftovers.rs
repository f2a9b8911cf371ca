//! Temporary files and folders with names: removed with their process, or by a later one.
//!
//! A live process holds a lock on what it uses. A later process removes what nobody holds.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use tempfile::TempDir;

/// The start of the names of temporary folders.
const FOLDER_PREFIX: &str = "fpstore-";

/// A temporary folder, which is removed with this value, or by a later process.
pub(super) struct ScratchDir {
    folder: TempDir,
    _lock: Option<File>,
}

impl ScratchDir {
    /// A folder in `parent`. Removes the folders that killed processes left there.
    pub(super) fn create(parent: &Path) -> io::Result<Self> {
        remove(parent, |name| name.starts_with(FOLDER_PREFIX));
        loop {
            let mut builder = tempfile::Builder::new();
            let folder = builder.prefix(FOLDER_PREFIX).tempdir_in(parent).map_err(bare)?;
            let lock = File::open(folder.path()).ok();
            let lock = lock.filter(|lock| lock.lock().is_ok());
            // Another process may have taken it for one that was left, before it was locked.
            if folder.path().is_dir() {
                return Ok(ScratchDir { folder, _lock: lock });
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Removes the folder now.
    pub(super) fn close(self) -> io::Result<()> {
        self.folder.close()
    }
}

/// Removes the files and folders of this user in `folder` whose names are `ours`, and which no
/// process holds. What cannot be removed stays.
pub(super) fn remove(folder: &Path, ours: impl Fn(&str) -> bool) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_str().is_some_and(&ours) {
            let _ = remove_unheld(&entry.path());
        }
    }
}

#[cfg(unix)]
fn remove_unheld(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    let metadata = file.metadata()?;
    // Other people's are theirs, and a lock on them might not be one.
    if metadata.uid() != rustix::process::geteuid().as_raw() || file.try_lock().is_err() {
        return Ok(());
    }
    if metadata.is_dir() {
        fs::remove_dir_all(path)
    } else if metadata.is_file() {
        fs::remove_file(path)
    } else {
        Ok(())
    }
}

#[cfg(not(unix))]
fn remove_unheld(_: &Path) -> io::Result<()> {
    Ok(())
}

/// An error without the path that the library of temporary files adds to it.
pub(super) fn bare(failed: io::Error) -> io::Error {
    failed.raw_os_error().map_or(failed, io::Error::from_raw_os_error)
}
