//! Opens a file of a store by name, and refuses anything that is not a plain file.
//!
//! A directory writable by others can contain a pipe, a device or a directory in the place of a
//! file. Opening a pipe waits for its other end, possibly for ever. So every file of a store is
//! opened here, without waiting, and refused unless it is a plain file. Nothing here reads.

use std::fs::{self, File, FileType};
use std::path::Path;

pub use super::refused::Refused;
use super::system;
use fpstore_base::IoError;

/// Opens a plain file for reading. Follows symbolic links.
pub fn open(path: &Path) -> Result<File, Refused> {
    open_if(path, fs::metadata(path)?.file_type(), true)
}

/// Opens a plain file of this name for reading; a symbolic link to a file is refused.
pub fn open_unlinked(path: &Path) -> Result<File, Refused> {
    open_if(path, fs::symlink_metadata(path)?.file_type(), false)
}

fn open_if(path: &Path, found: FileType, follows_links: bool) -> Result<File, Refused> {
    // Opening some devices has effects, so they are refused unopened.
    refuse_others(found)?;
    let mut options = File::options();
    options.read(true);
    system::never_wait(&mut options, follows_links);
    let file = options.open(path)?;
    // Another file may have taken the name since.
    refuse_others(file.metadata()?.file_type())?;
    Ok(file)
}

/// Refuses everything except plain files.
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
