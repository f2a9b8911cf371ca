//! A private directory for temporary files, removed on drop, or by a later process.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::files::{RANDOM_LEN, is_temporary_name, remove_directory_tree, remove_empty_directory};
use super::plain_file::Result;
use super::stale::{each_stale, unheld};
use super::system;
use super::temporary::TemporaryDirectory;
use fpstore_base::IoError;

/// The prefix of the names, followed by the usual suffix of temporary directories.
const PREFIX: &str = ".fpstore-work-";
/// A file in each directory, locked while the directory is in use.
const MARK: &str = ".fpstore-in-use";

/// A private directory.
#[derive(Debug)]
pub struct ScratchDirectory {
    /// Contains the locked mark file.
    directory: TemporaryDirectory,
}

impl ScratchDirectory {
    /// Creates a directory in `parent`. Removes directories left there by killed processes.
    pub fn create(parent: &Path) -> Result<Self> {
        each_stale(parent, |name| is_temporary_name(name, PREFIX), remove);
        loop {
            let mut directory = TemporaryDirectory::private(parent, OsStr::new(PREFIX))?;
            let mark = directory.path().join(MARK);
            // Another process may have taken it for a leftover before it was locked.
            match File::create_new(&mark) {
                Ok(lock) => {
                    let _ = lock.lock();
                    if mark.exists() {
                        directory.keep_open(lock);
                        return Ok(ScratchDirectory { directory });
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(IoError::of("create a file in", directory.path())(error)),
            }
        }
    }

    /// A free name for such a directory.
    pub fn new_name() -> io::Result<String> {
        let mut name = [0; RANDOM_LEN];
        getrandom::fill(&mut name).map_err(io::Error::other)?;
        let letters = name.iter().map(|byte| char::from(b'a' + byte % 26));
        Ok(letters.fold(PREFIX.into(), |name, letter| name + letter.encode_utf8(&mut [0; 4])))
    }

    /// Whether a name has the form of such a directory.
    pub fn is_name(name: &str) -> bool {
        is_temporary_name(name, PREFIX)
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Removes the directory now.
    pub fn remove(self) -> Result<()> {
        self.directory.remove()
    }
}

/// Removes a directory whose mark is not locked. A directory without a mark was created a moment
/// ago, or by somebody else, so it is removed only if it is empty.
fn remove(path: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(path)?.is_dir() {
        return Ok(());
    }
    match unheld(&path.join(MARK)) {
        Ok(Some(held)) => {
            let _held = system::REMOVES_OPEN_FILES.then_some(held);
            remove_directory_tree(path)
        }
        Ok(None) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => remove_empty_directory(path),
        Err(error) => Err(error),
    }
}
