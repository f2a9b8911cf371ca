//! A private directory for temporary files: removed with its value, or by a later process.

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

/// The start of the names, which go on as those of all temporary directories.
const PREFIX: &str = ".fpstore-work-";
/// A file in each directory, which is locked while the directory is in use.
const MARK: &str = ".fpstore-in-use";

/// A directory that nobody else reads.
#[derive(Debug)]
pub struct ScratchDirectory {
    /// It has the file of the mark, locked.
    directory: TemporaryDirectory,
}

impl ScratchDirectory {
    /// A directory in `parent`. Removes the ones that killed processes left there.
    pub fn create(parent: &Path) -> Result<Self> {
        each_stale(parent, |name| is_temporary_name(name, PREFIX), remove);
        loop {
            let mut directory = TemporaryDirectory::private(parent, OsStr::new(PREFIX))?;
            let mark = directory.path().join(MARK);
            // Another process may have taken it for one that was left, before it was locked.
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

    /// A name of such a directory that nothing has.
    pub fn new_name() -> io::Result<String> {
        let mut name = [0; RANDOM_LEN];
        getrandom::fill(&mut name).map_err(io::Error::other)?;
        let letters = name.iter().map(|byte| char::from(b'a' + byte % 26));
        Ok(letters.fold(PREFIX.into(), |name, letter| name + letter.encode_utf8(&mut [0; 4])))
    }

    /// Whether such directories have names like this.
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

/// Removes a directory with a mark that nobody holds. One without a mark was made a moment ago, or
/// by somebody else, so it is removed only if it is empty.
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
