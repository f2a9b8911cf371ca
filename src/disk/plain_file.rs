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

#[cfg(feature = "write")]
impl From<Refused> for io::Error {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Io(error) => error,
            Refused::Kind(kind) => {
                io::Error::new(io::ErrorKind::InvalidInput, format!("it is {kind}"))
            }
        }
    }
}

/// Opens a plain file for reading. Follows symbolic links.
pub(crate) fn open(path: &Path) -> Result<File, Refused> {
    open_if(path, fs::metadata(path)?.file_type(), false)
}

/// Opens a plain file for reading that has this name itself: a symbolic link to it is refused.
#[cfg(feature = "write")]
pub(crate) fn open_unlinked(path: &Path) -> Result<File, Refused> {
    open_if(path, fs::symlink_metadata(path)?.file_type(), true)
}

#[cfg_attr(not(unix), expect(unused_variables, reason = "links are checked by their type alone"))]
fn open_if(path: &Path, found: FileType, refuses_links: bool) -> Result<File, Refused> {
    // Opening some devices has effects, so they are refused unopened.
    refuse_others(found)?;
    let mut options = File::options();
    options.read(true);
    // It returns at once whatever stands under the name.
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        let follow = if refuses_links { OFlags::NOFOLLOW } else { OFlags::empty() };
        let flags = (OFlags::NONBLOCK | OFlags::NOCTTY | follow).bits().cast_signed();
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags);
    }
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

/// Whether two are of one file.
#[cfg(feature = "write")]
pub(crate) fn is_same(one: &fs::Metadata, other: &fs::Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        (one.dev(), one.ino()) == (other.dev(), other.ino())
    }
    #[cfg(not(unix))]
    {
        one.is_file() == other.is_file()
    }
}
