//! Temporary files and folders with names: removed with their process, or by a later one.
//!
//! A live process holds a lock on what it uses. A later process removes what nobody holds, if it is
//! certain that this program made it: other people have names that begin with "fpstore", too.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use tempfile::TempDir;

/// The start of the names of temporary folders, which go on with [`RANDOM_LEN`] letters and digits.
const FOLDER_PREFIX: &str = ".fpstore-work-";
const RANDOM_LEN: usize = 6;
/// A file in each temporary folder, which is locked while the folder is in use.
const MARK: &str = ".fpstore-in-use";

/// A temporary folder, which is removed with this value, or by a later process.
pub(super) struct ScratchDir {
    folder: TempDir,
    _lock: File,
}

impl ScratchDir {
    /// A folder in `parent`. Removes the folders that killed processes left there.
    pub(super) fn create(parent: &Path) -> io::Result<Self> {
        remove(parent, is_folder_name, remove_folder);
        loop {
            let mut builder = tempfile::Builder::new();
            builder.prefix(FOLDER_PREFIX).rand_bytes(RANDOM_LEN);
            let folder = builder.tempdir_in(parent).map_err(bare)?;
            // Another process may have taken it for one that was left, before it was locked.
            match File::create_new(folder.path().join(MARK)) {
                Ok(lock) => {
                    let _ = lock.lock();
                    if folder.path().join(MARK).exists() {
                        return Ok(ScratchDir { folder, _lock: lock });
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
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

fn is_folder_name(name: &str) -> bool {
    let random = name.strip_prefix(FOLDER_PREFIX).unwrap_or_default();
    random.len() == RANDOM_LEN && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Removes the files of this user in `folder` whose names are `ours`, and which no process holds. What
/// cannot be removed stays.
pub(super) fn remove_files(folder: &Path, ours: impl Fn(&str) -> bool) {
    remove(folder, ours, |path| match unheld(path)? {
        Some(_held) => fs::remove_file(path),
        None => Ok(()),
    });
}

fn remove(
    folder: &Path,
    ours: impl Fn(&str) -> bool,
    remove_one: impl Fn(&Path) -> io::Result<()>,
) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_str().is_some_and(&ours) {
            let _ = remove_one(&entry.path());
        }
    }
}

/// Removes a folder with a mark that nobody holds. One without a mark was made a moment ago, or by
/// somebody else, so it is removed only if it is empty.
fn remove_folder(path: &Path) -> io::Result<()> {
    if !path.symlink_metadata()?.is_dir() {
        return Ok(());
    }
    match unheld(&path.join(MARK)) {
        Ok(Some(_held)) => fs::remove_dir_all(path),
        Ok(None) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => fs::remove_dir(path),
        Err(error) => Err(error),
    }
}

/// A file of this user that no process has locked, which is locked now.
#[cfg(unix)]
fn unheld(path: &Path) -> io::Result<Option<File>> {
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    let metadata = file.metadata()?;
    // Other people's are theirs, and a lock on them might not be one.
    let is_own = metadata.is_file() && metadata.uid() == rustix::process::geteuid().as_raw();
    Ok((is_own && file.try_lock().is_ok()).then_some(file))
}

#[cfg(not(unix))]
fn unheld(_: &Path) -> io::Result<Option<File>> {
    Ok(None)
}

/// An error without the path that the library of temporary files adds to it.
pub(super) fn bare(failed: io::Error) -> io::Error {
    failed.raw_os_error().map_or(failed, io::Error::from_raw_os_error)
}
