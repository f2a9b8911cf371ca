//! Opening a file of a store by its name, where something else may stand under that name.
//!
//! A directory that others may write to can hold a pipe, a device or a directory in the place of a
//! file. Opening a pipe waits for its other end, for ever if there is none. So every file of a store
//! is opened here, without waiting, and refused unless it is a plain file. Nothing here reads.

use std::fs::{self, File, FileType};
use std::io;
use std::path::Path;

/// Why a file was not opened.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The system refused.
    Io(io::Error),
    /// It is no plain file but this, such as `a named pipe`.
    Kind(&'static str),
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Refused::Io(error)
    }
}

/// Opens a plain file for reading. Follows symbolic links.
pub(crate) fn open(path: &Path) -> Result<File, Refused> {
    // Opening some devices has effects, so they are refused unopened.
    refuse_others(fs::metadata(path)?.file_type())?;
    let mut options = File::options();
    options.read(true);
    // It returns at once whatever stands under the name.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        (rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY).bits().cast_signed(),
    );
    let file = options.open(path)?;
    // Another file may have got the name since.
    refuse_others(file.metadata()?.file_type())?;
    Ok(file)
}

/// Refuses all but plain files.
pub(crate) fn refuse_others(file_type: FileType) -> Result<(), Refused> {
    if file_type.is_file() { Ok(()) } else { Err(Refused::Kind(kind_of(file_type))) }
}

fn kind_of(file_type: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if file_type.is_fifo() {
            return "a named pipe";
        }
        if file_type.is_socket() {
            return "a socket";
        }
        if file_type.is_block_device() || file_type.is_char_device() {
            return "a device";
        }
    }
    match file_type {
        kind if kind.is_dir() => "a directory",
        kind if kind.is_symlink() => "a symbolic link",
        _ => "no plain file",
    }
}
