//! Windows, and systems that nobody has tried.

use std::ffi::OsStr;
use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::fs::{FileType, OpenOptions};
use std::io;
use std::path::Path;

use crate::plain_file::Refused;

/// Whether a file that is open, or mapped, can be removed.
pub const REMOVES_OPEN_FILES: bool = false;

/// Whether a directory can be renamed while a file in it is open.
pub const MOVES_FOLDERS_IN_USE: bool = false;

/// Lets an opening return at once whatever stands under the name. Here pipes have names of their own.
pub fn never_wait(_: &mut OpenOptions, _follows_links: bool) {}

/// What a file is that is neither a plain file nor a directory nor a link.
pub fn special_kind(_: FileType) -> Option<&'static str> {
    None
}

/// Whether a directory lies on a file system that another machine or program serves. `false` where
/// the system does not tell.
pub fn is_on_network(_: &Path) -> bool {
    false
}

/// Whether `path` is a name of an open file. A file that is open may lose its name here, and another
/// one may get it: Windows 10 removes names at once.
pub fn is_name_of(path: &Path, file: &File) -> bool {
    use same_file::Handle;
    let is_file = std::fs::symlink_metadata(path).is_ok_and(|there| there.is_file());
    let own = file.try_clone().and_then(Handle::from_file);
    is_file && matches!((own, Handle::from_path(path)), (Ok(own), Ok(there)) if own == there)
}

/// Removes a file, also a write-protected one: file systems without the removal of POSIX refuse that,
/// and so does Windows before its version 1809.
pub fn remove_file(path: &Path) -> io::Result<()> {
    use std::fs;
    let refused = match fs::remove_file(path) {
        Err(refused) if refused.kind() == io::ErrorKind::PermissionDenied => refused,
        done => return done,
    };
    let mut permissions = fs::symlink_metadata(path)?.permissions();
    if !permissions.readonly() {
        return Err(refused);
    }
    let protect = |permissions: &mut fs::Permissions, protects: bool| {
        permissions.set_readonly(protects);
        fs::set_permissions(path, permissions.clone())
    };
    protect(&mut permissions, false)?;
    fs::remove_file(path).inspect_err(|_| {
        // Somebody has it mapped. Its other names are protected again, too.
        let _ = protect(&mut permissions, true);
    })
}

/// Removes a directory with all that is in it, also write-protected files.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    use std::fs;
    let refused = match fs::remove_dir_all(path) {
        Err(refused) if refused.kind() == io::ErrorKind::PermissionDenied => refused,
        done => return done,
    };
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        // A link to a directory is removed as a link, by the second try.
        match entry.file_type()? {
            kind if kind.is_dir() => remove_tree(&entry.path())?,
            kind if kind.is_file() => remove_file(&entry.path())?,
            _ => {}
        }
    }
    fs::remove_dir_all(path).map_err(|_| refused)
}

/// Whether two directories are on one disk. `false` where the system does not tell.
pub fn is_on_same_disk(_: &Path, _: &Path) -> bool {
    false
}

/// Whether a file or directory belongs to the user of this process. Here the rights on the directory
/// say who may remove it.
pub fn is_own(_: &Metadata) -> bool {
    true
}

/// How many names a file has.
pub fn link_count(_: &Metadata) -> u64 {
    1
}

/// The rights on a file; `None` where the system has no such rights.
pub fn mode_of(_: &Metadata) -> Option<u32> {
    None
}

/// Sets the rights on a file. Does nothing where the system has no such rights.
pub fn set_mode(_: &File, _: u32) -> io::Result<()> {
    Ok(())
}

/// Sets the rights on a file that an opening makes.
pub fn create_with_mode(_: &mut OpenOptions, _: u32) {}

#[cfg(feature = "write")]
/// Sets the rights on a temporary file or directory that will be made.
pub fn temporary_with_mode(_: &mut tempfile::Builder<'_, '_>, _: u32) {}

/// Gives a file the mode of the one that it will replace, and its owner if the system allows it.
pub fn take_over(file: &File, replaced: &Metadata) -> io::Result<()> {
    file.set_permissions(replaced.permissions())
}

/// A directory, open to be synced; `None` where the system lets nobody open it for that, and keeps
/// names as it likes.
pub fn directory_to_sync(path: &Path) -> io::Result<Option<File>> {
    use std::os::windows::fs::OpenOptionsExt;
    // `FILE_FLAG_BACKUP_SEMANTICS`, without which no directory is opened; a flush needs the right to
    // write.
    let opened = File::options().write(true).custom_flags(0x0200_0000).open(path);
    match opened {
        Err(missing) if missing.kind() == io::ErrorKind::NotFound => Err(missing),
        opened => Ok(opened.ok()),
    }
}

/// Makes the names in an open directory durable, where the file system knows how to.
pub fn sync_directory(directory: &File) -> io::Result<()> {
    match directory.sync_all() {
        // Invalid function, access denied, not supported, invalid parameter: of file systems that
        // flush no directory.
        Err(unknown) if matches!(unknown.raw_os_error(), Some(1 | 5 | 50 | 87)) => Ok(()),
        done => done,
    }
}

/// Whether a file that is open for reading can be synced and protected.
pub const SYNCS_WHAT_IT_READS: bool = false;

/// Whether an opening failed because what has the name is being removed at this moment.
pub fn is_being_removed(failed: &io::Error) -> bool {
    // Windows: access denied, delete pending.
    failed.kind() == io::ErrorKind::NotFound || matches!(failed.raw_os_error(), Some(5 | 303))
}

/// How often, and after which pause, a directory is read again that somebody tries to remove.
const READ_TRIES: u32 = 1000;
const READ_PAUSE: std::time::Duration = std::time::Duration::from_millis(2);

/// Reads a directory that was there a moment ago, and that others may be removing.
fn read_directory(path: &Path) -> io::Result<std::fs::ReadDir> {
    let mut tries = 0;
    loop {
        tries += 1;
        match std::fs::read_dir(path) {
            // A sharing violation, until the other process has its answer.
            Err(held) if held.raw_os_error() == Some(32) && tries < READ_TRIES => {
                std::thread::sleep(READ_PAUSE);
            }
            // wine calls the name of a directory invalid that goes while its names are looked for.
            Err(gone) if gone.raw_os_error() == Some(123) => {
                return Err(io::ErrorKind::NotFound.into());
            }
            read => return read,
        }
    }
}

/// Whether a directory was not renamed to `path` because something is there.
pub fn is_taken(failed: &io::Error, path: &Path) -> bool {
    // Windows denies access to a directory that would be replaced.
    failed.kind() == io::ErrorKind::AlreadyExists
        || failed.kind() == io::ErrorKind::PermissionDenied && path.is_dir()
}

#[cfg(feature = "write")]
/// Gives a temporary file the name of another one; where that fails, it stays. Unlike `persist`, the
/// standard library also replaces a file that somebody reads, where the file system has the rename of
/// POSIX.
pub fn replace(name: tempfile::TempPath, to: &Path) -> Result<(), tempfile::PathPersistError> {
    // It has no mark of a temporary file any more.
    let kept = name.keep()?;
    std::fs::rename(&kept, to).map_err(|error| {
        let mut path =
            tempfile::TempPath::try_from_path(kept).expect("names of new files are absolute");
        path.disable_cleanup(true);
        tempfile::PathPersistError { error, path }
    })
}

/// Whether a file was not replaced because somebody has it open.
pub fn is_in_use(failed: &io::Error) -> bool {
    // Windows: access denied, sharing violation.
    matches!(failed.raw_os_error(), Some(5 | 32))
}

/// A second name for a file, of which the first may be a symbolic link: a link as such in a store
/// would break when the file that it leads to is moved.
pub fn hard_link(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::hard_link(from.canonicalize()?, to)
}

/// An open directory, whose files are reached through it, whatever gets its name later. Here it is a
/// path.
#[derive(Debug)]
pub struct Folder(std::path::PathBuf);

impl Folder {
    /// Opens a directory, at the end of links only if `follows_links`.
    pub fn open(path: &Path, follows_links: bool) -> io::Result<Self> {
        let found = if follows_links { path.metadata() } else { path.symlink_metadata() };
        match found?.is_dir() {
            true => Ok(Folder(path.into())),
            false => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    /// Opens a directory in it.
    pub fn open_folder(&self, name: &OsStr) -> Result<Self, Refused> {
        let path = self.0.join(name);
        match path.symlink_metadata()? {
            found if found.is_dir() => Ok(Folder(path)),
            found if found.is_symlink() => Err(Refused::Kind("a symbolic link")),
            _ => Err(Refused::Kind("no folder")),
        }
    }

    /// Makes a directory in it, which only its owner may read if it `is_private`.
    pub fn make_folder(&self, name: &OsStr, _is_private: bool) -> io::Result<()> {
        std::fs::create_dir(self.0.join(name))
    }

    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Folder(self.0.clone()))
    }

    /// Whether it belongs to the user of this process.
    pub fn is_own(&self) -> io::Result<bool> {
        self.0.metadata().map(|metadata| is_own(&metadata))
    }

    /// Whether it has this name, which is no link to it.
    pub fn is_at(&self, path: &Path) -> bool {
        path.symlink_metadata().is_ok_and(|there| there.is_dir())
    }

    /// The names in it.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        read_directory(&self.0)?.map(|entry| Ok(entry?.file_name())).collect()
    }

    /// Whether anything has this name in it, also a link that leads nowhere.
    pub fn has(&self, name: &OsStr) -> io::Result<bool> {
        match self.0.join(name).symlink_metadata() {
            Err(missing) if missing.kind() == io::ErrorKind::NotFound => Ok(false),
            found => found.map(|_| true),
        }
    }

    /// Opens a file in it for reading, or makes it where it is missing and appends to it.
    pub fn open_file(&self, name: &OsStr, appends: bool) -> Result<File, Refused> {
        let mut options = File::options();
        Ok(options.read(true).append(appends).create(appends).open(self.0.join(name))?)
    }

    /// Makes a file in it, under a name that nothing has.
    pub fn create_file(&self, name: &OsStr) -> io::Result<File> {
        File::options().read(true).write(true).create_new(true).open(self.0.join(name))
    }

    /// A file in it without a name, or `None` where the system or the file system has no such files.
    pub fn unnamed_file(&self) -> Option<File> {
        None
    }

    /// Gives a file without a name its name, which nothing has.
    pub fn name_file(&self, _: &File, _: &OsStr) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Renames a file in it, in place of the one that is there.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        std::fs::rename(self.0.join(from), self.0.join(to))
    }

    /// Renames a file in it to a name that nothing has.
    pub fn rename_to_free_name(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        let from = std::path::absolute(self.0.join(from))?;
        let from = tempfile::TempPath::try_from_path(from)?;
        from.persist_noclobber(self.0.join(to)).map_err(|failed| failed.error)
    }

    /// Removes a file in it, or a link; no directory.
    pub fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        remove_file(&self.0.join(name))
    }

    /// Removes a directory in it with all that is in it.
    pub fn remove_tree(&self, name: &OsStr) -> io::Result<()> {
        remove_tree(&self.0.join(name))
    }

    /// Makes its names durable.
    pub fn sync(&self) -> io::Result<()> {
        directory_to_sync(&self.0)?.map_or(Ok(()), |directory| sync_directory(&directory))
    }
}

/// Fills `buffer` from `offset` on.
pub fn read_exact_at(file: &File, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, buffer, offset)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            len => {
                buffer = &mut buffer[len..];
                offset += len as u64;
            }
        }
    }
    Ok(())
}

/// The name of a file with these bytes; `None` if the system has no such names.
pub fn name_of_bytes(bytes: Vec<u8>) -> Option<OsString> {
    String::from_utf8(bytes).ok().map(OsString::from)
}
