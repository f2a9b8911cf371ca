//! Windows, and untested systems.

use std::ffi::{OsStr, OsString};
use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io;
use std::path::Path;
use std::time::SystemTime;

use crate::refused::Refused;

/// Whether an open or mapped file can be removed.
pub const REMOVES_OPEN_FILES: bool = false;

/// Whether a directory can be renamed while a file in it is open.
pub const MOVES_FOLDERS_IN_USE: bool = false;

/// Makes opening return at once, whatever kind of file has the name. Pipes have a separate
/// namespace here.
pub fn never_wait(_: &mut OpenOptions, _follows_links: bool) {}

/// The kind of a file that is neither a plain file nor a directory nor a link.
pub fn special_kind(_: FileType) -> Option<&'static str> {
    None
}

/// Whether a directory is on a file system served by another machine or program. `false` if the
/// system does not report it.
pub fn is_on_network(_: &Path) -> bool {
    false
}

/// The state of a file, which is unknown on this system.
#[derive(Debug, PartialEq, Eq)]
pub struct Stamp;

impl Stamp {
    pub fn of(_: &Metadata) -> Self {
        Stamp
    }

    /// Whether every later change of the file or of its name changes the stamp.
    pub fn is_proof(&self, _: &File, _asked: SystemTime) -> bool {
        false
    }
}

/// Whether `path` is a name of an open file. An open file may lose its name here, and another file
/// may get it: Windows 10 removes names at once.
pub fn is_name_of(path: &Path, file: &File) -> bool {
    use same_file::Handle;
    let is_file = std::fs::symlink_metadata(path).is_ok_and(|there| there.is_file());
    let own = file.try_clone().and_then(Handle::from_file);
    is_file && matches!((own, Handle::from_path(path)), (Ok(own), Ok(there)) if own == there)
}

/// Removes a file, even a write-protected one: file systems without POSIX deletion refuse that, and
/// so does Windows before version 1809.
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
        // A process has mapped the file. Protects it again, also for its other names.
        let _ = protect(&mut permissions, true);
    })
}

/// Removes a directory with its contents, write-protected files included.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    use std::fs;
    let refused = match fs::remove_dir_all(path) {
        Err(refused) if refused.kind() == io::ErrorKind::PermissionDenied => refused,
        done => return done,
    };
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        // A link to a directory is removed as a link, in the second attempt.
        match entry.file_type()? {
            kind if kind.is_dir() => remove_tree(&entry.path())?,
            kind if kind.is_file() => remove_file(&entry.path())?,
            _ => {}
        }
    }
    fs::remove_dir_all(path).map_err(|_| refused)
}

/// Whether two directories are on the same disk. `false` if the system does not report it.
pub fn is_on_same_disk(_: &Path, _: &Path) -> bool {
    false
}

/// Whether a file or directory belongs to the user of this process. Here the permissions of the
/// directory determine who may remove it.
pub fn is_own(_: &Metadata) -> bool {
    true
}

/// The number of names of a file.
pub fn link_count(_: &Metadata) -> u64 {
    1
}

/// The permissions of a file; `None` on systems without such permissions.
pub fn mode_of(_: &Metadata) -> Option<u32> {
    None
}

/// Sets the permissions of a file. Does nothing on systems without such permissions.
pub fn set_mode(_: &File, _: u32) -> io::Result<()> {
    Ok(())
}

/// Sets the permissions of a file created by opening it.
pub fn create_with_mode(_: &mut OpenOptions, _: u32) {}

#[cfg(feature = "write")]
/// Sets the permissions of a temporary file or directory to be created.
pub fn temporary_with_mode(_: &mut tempfile::Builder<'_, '_>, _: u32) {}

/// Gives a file the mode of the file that it will replace, and its owner if the system allows it.
pub fn take_over(file: &File, replaced: &Metadata) -> io::Result<()> {
    file.set_permissions(replaced.permissions())
}

/// A directory opened for syncing; `None` if the system does not allow that, and persists names in
/// its own time.
pub fn directory_to_sync(path: &Path) -> io::Result<Option<File>> {
    use std::os::windows::fs::OpenOptionsExt;
    // `FILE_FLAG_BACKUP_SEMANTICS`, which is required to open a directory; a flush needs write
    // access.
    let opened = File::options().write(true).custom_flags(0x0200_0000).open(path);
    match opened {
        Err(missing) if missing.kind() == io::ErrorKind::NotFound => Err(missing),
        opened => Ok(opened.ok()),
    }
}

/// Makes the names in an open directory durable, if the file system supports it.
pub fn sync_directory(directory: &File) -> io::Result<()> {
    match directory.sync_all() {
        // Invalid function, access denied, not supported, invalid parameter: from file systems that
        // cannot flush a directory.
        Err(unknown) if matches!(unknown.raw_os_error(), Some(1 | 5 | 50 | 87)) => Ok(()),
        done => done,
    }
}

/// Whether a file that is open for reading can be synced and protected.
pub const SYNCS_WHAT_IT_READS: bool = false;

/// Whether opening failed because the file is just being removed.
pub fn is_being_removed(failed: &io::Error) -> bool {
    // Windows: access denied, delete pending.
    failed.kind() == io::ErrorKind::NotFound || matches!(failed.raw_os_error(), Some(5 | 303))
}

/// How often, and after which pause, reading a directory is retried while another process tries to
/// remove it.
const READ_TRIES: u32 = 1000;
const READ_PAUSE: std::time::Duration = std::time::Duration::from_millis(2);

/// Reads a directory that existed a moment ago, and that other processes may be removing.
fn read_directory(path: &Path) -> io::Result<std::fs::ReadDir> {
    let mut tries = 0;
    loop {
        tries += 1;
        match std::fs::read_dir(path) {
            // A sharing violation, until the other process has finished its attempt.
            Err(held) if held.raw_os_error() == Some(32) && tries < READ_TRIES => {
                std::thread::sleep(READ_PAUSE);
            }
            // wine reports the name of a directory as invalid if it is removed while its names are
            // read.
            Err(gone) if gone.raw_os_error() == Some(123) => {
                return Err(io::ErrorKind::NotFound.into());
            }
            read => return read,
        }
    }
}

/// Whether a directory was not renamed to `path` because that exists.
pub fn is_taken(failed: &io::Error, path: &Path) -> bool {
    // Windows reports access denied for a directory that would be replaced.
    failed.kind() == io::ErrorKind::AlreadyExists
        || failed.kind() == io::ErrorKind::PermissionDenied && path.is_dir()
}

#[cfg(feature = "write")]
/// Renames a temporary file over another file; if that fails, the file is kept. Unlike `persist`,
/// the standard library also replaces a file that is being read, if the file system has POSIX
/// renames.
pub fn replace(name: tempfile::TempPath, to: &Path) -> Result<(), tempfile::PathPersistError> {
    // The file is no longer marked as temporary.
    let kept = name.keep()?;
    std::fs::rename(&kept, to).map_err(|error| {
        let mut path =
            tempfile::TempPath::try_from_path(kept).expect("names of new files are absolute");
        path.disable_cleanup(true);
        tempfile::PathPersistError { error, path }
    })
}

/// Whether a file was not replaced because it is open.
pub fn is_in_use(failed: &io::Error) -> bool {
    // Windows: access denied, sharing violation.
    matches!(failed.raw_os_error(), Some(5 | 32))
}

/// Creates a hard link to a file, following a symbolic link first: a symbolic link in a store would
/// break when its target is moved.
pub fn hard_link(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::hard_link(from.canonicalize()?, to)
}

/// An open directory. On this system it is only a path, so renaming the directory has an effect.
#[derive(Debug)]
pub struct Folder(std::path::PathBuf);

impl Folder {
    /// Opens a directory, following links only if `follows_links`.
    pub fn open(path: &Path, follows_links: bool) -> io::Result<Self> {
        let found = if follows_links { path.metadata() } else { path.symlink_metadata() };
        match found?.is_dir() {
            true => Ok(Folder(path.into())),
            false => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    pub fn open_folder(&self, name: &OsStr) -> Result<Self, Refused> {
        let path = self.0.join(name);
        match path.symlink_metadata()? {
            found if found.is_dir() => Ok(Folder(path)),
            found if found.is_symlink() => Err(Refused::Kind("a symbolic link")),
            _ => Err(Refused::Kind("no folder")),
        }
    }

    /// Creates a subdirectory, private to its owner if `is_private`.
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

    /// Whether `path` is the directory itself, and not a link to it.
    pub fn is_at(&self, path: &Path) -> bool {
        path.symlink_metadata().is_ok_and(|there| there.is_dir())
    }

    /// The names in it.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        read_directory(&self.0)?.map(|entry| Ok(entry?.file_name())).collect()
    }

    /// Whether the directory contains an entry of this name, even a dangling link.
    pub fn has(&self, name: &OsStr) -> io::Result<bool> {
        match self.0.join(name).symlink_metadata() {
            Err(missing) if missing.kind() == io::ErrorKind::NotFound => Ok(false),
            found => found.map(|_| true),
        }
    }

    /// Opens a file in it for reading; or, with `appends`, for appending, creating it if it is
    /// missing.
    pub fn open_file(&self, name: &OsStr, appends: bool) -> Result<File, Refused> {
        let mut options = File::options();
        Ok(options.read(true).append(appends).create(appends).open(self.0.join(name))?)
    }

    /// Creates a file in it, under a free name.
    pub fn create_file(&self, name: &OsStr) -> io::Result<File> {
        File::options().read(true).write(true).create_new(true).open(self.0.join(name))
    }

    /// A file in it without a name, or `None` if the system or the file system has no such files.
    pub fn unnamed_file(&self) -> Option<File> {
        None
    }

    /// Gives a file without a name its name, which must be free.
    pub fn name_file(&self, _: &File, _: &OsStr) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Renames a file in it, replacing an existing file.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        std::fs::rename(self.0.join(from), self.0.join(to))
    }

    /// Renames a file in it to a free name.
    #[cfg(feature = "write")]
    pub fn rename_to_free_name(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        let from = std::path::absolute(self.0.join(from))?;
        let from = tempfile::TempPath::try_from_path(from)?;
        from.persist_noclobber(self.0.join(to)).map_err(|failed| failed.error)
    }

    /// Removes a file or a link in it, but not a directory.
    pub fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        remove_file(&self.0.join(name))
    }

    /// Removes a subdirectory with its contents.
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

/// A file name of these bytes; `None` if the system has no such names.
pub fn name_of_bytes(bytes: Vec<u8>) -> Option<OsString> {
    String::from_utf8(bytes).ok().map(OsString::from)
}
