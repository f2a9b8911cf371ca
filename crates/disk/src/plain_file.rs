//! Opens files of a store by name, and refuses everything that is not a plain file.
//!
//! In a directory that others can write to, a name can belong to a pipe, a device or a directory.
//! Opening a pipe waits for its other end, possibly for ever. So every file of a store is opened
//! here: without waiting, and only if it is a plain file. Nothing here reads.

use std::fs::{self, File, FileType};
use std::path::Path;

pub use super::refused::Refused;
use super::system;
use fpstore_base::IoError;

/// Opens a plain file for reading. Follows symbolic links.
pub fn open(path: &Path) -> Result<File, Refused> {
    open_if(path, fs::metadata(path)?.file_type(), true)
}

/// Opens a plain file for reading; refuses a symbolic link, even to a plain file.
pub fn open_unlinked(path: &Path) -> Result<File, Refused> {
    open_if(path, fs::symlink_metadata(path)?.file_type(), false)
}

fn open_if(path: &Path, found: FileType, follows_links: bool) -> Result<File, Refused> {
    // Opening some devices has effects, so only plain files are opened.
    refuse_others(found)?;
    let mut options = File::options();
    options.read(true);
    system::never_wait(&mut options, follows_links);
    let file = options.open(path)?;
    // Another file may have got the name since the first check.
    refuse_others(file.metadata()?.file_type())?;
    Ok(file)
}

/// Returns an error for everything except plain files.
pub fn refuse_others(file_type: FileType) -> Result<(), Refused> {
    if file_type.is_file() { Ok(()) } else { Err(Refused::Kind(kind_of(file_type))) }
}

fn kind_of(file_type: FileType) -> &'static str {
    match file_type {
        kind if kind.is_dir() => "a directory",
        kind if kind.is_symlink() => "a symbolic link",
        kind => system::special_kind(kind).unwrap_or("no plain file"),
    }
}

/// The result of an operation on files.
pub type Result<T, E = IoError> = std::result::Result<T, E>;
