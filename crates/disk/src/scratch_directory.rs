//! A private directory for temporary files. It is removed when dropped; if the process is killed,
//! by a later process.

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

/// The prefix of the directory names; random letters follow as for other temporary names.
const PREFIX: &str = ".fpstore-work-";
/// The name of a marker file in each directory; it is locked while the directory is in use.
const MARK: &str = ".fpstore-in-use";

/// A private directory for temporary files.
#[derive(Debug)]
pub struct ScratchDirectory {
    /// The directory; it keeps its marker file open and locked.
    directory: TemporaryDirectory,
}

impl ScratchDirectory {
    /// Creates a directory in `parent`, after removing directories left there by killed processes.
    pub fn create(parent: &Path) -> Result<Self> {
        each_stale(parent, |name| is_temporary_name(name, PREFIX), remove);
        loop {
            let mut directory = TemporaryDirectory::private(parent, OsStr::new(PREFIX))?;
            let mark = directory.path().join(MARK);
            // Fails with `NotFound` if another process has removed the directory, which had no lock
            // yet.
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

    /// Makes a random name of this form.
    pub fn new_name() -> io::Result<String> {
        let mut name = [0; RANDOM_LEN];
        getrandom::fill(&mut name).map_err(io::Error::other)?;
        let letters = name.iter().map(|byte| char::from(b'a' + byte % 26));
        Ok(letters.fold(PREFIX.into(), |name, letter| name + letter.encode_utf8(&mut [0; 4])))
    }

    /// Whether a name has the form of the names of such directories.
    pub fn is_name(name: &str) -> bool {
        is_temporary_name(name, PREFIX)
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Removes the directory now, and returns the error if that fails.
    pub fn remove(self) -> Result<()> {
        self.directory.remove()
    }
}

/// Removes a directory whose marker file is not locked. Without a marker file the directory is very
/// new or not from this program, so it is removed only if it is empty.
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
