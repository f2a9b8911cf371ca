//! The functions for Windows, and for systems without tests.

use std::ffi::{OsStr, OsString};
use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io;
use std::path::Path;
use std::time::SystemTime;

use crate::refused::Refused;

/// Whether a file can be removed while it is open or mapped.
pub const REMOVES_OPEN_FILES: bool = false;

/// Whether a directory can be renamed while a file in it is open.
pub const MOVES_FOLDERS_IN_USE: bool = false;

/// Does nothing: pipes have a separate namespace on this system, so opening a file never waits.
pub fn never_wait(_: &mut OpenOptions, _follows_links: bool) {}

/// Always `None`: this system reports no special kinds of files, such as pipes.
pub fn special_kind(_: FileType) -> Option<&'static str> {
    None
}

/// Whether a directory is on a network file system. This system does not report it.
pub fn is_on_network(_: &Path) -> bool {
    false
}

/// The state of a file. Contains nothing, because this system offers no proof of no change.
#[derive(Debug, PartialEq, Eq)]
pub struct Stamp;

impl Stamp {
    pub fn of(_: &Metadata) -> Self {
        Stamp
    }

    /// Never, on this system: a changed file can have an equal stamp.
    pub fn is_proof(&self, _: &File, _asked: SystemTime) -> bool {
        false
    }
}

/// Whether `path` is a name of the open file `file`. Another file may have got the name: Windows 10
/// frees the name of a removed file at once, even if the file is open.
pub fn is_name_of(path: &Path, file: &File) -> bool {
    use same_file::Handle;
    let is_file = std::fs::symlink_metadata(path).is_ok_and(|there| there.is_file());
    let own = file.try_clone().and_then(Handle::from_file);
    is_file && matches!((own, Handle::from_path(path)), (Ok(own), Ok(there)) if own == there)
}

/// Removes a file, even a write-protected file, which file systems without POSIX deletion refuse to
/// remove, and so does Windows before version 1809.
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
        // Another process has mapped the file. Protects the file again, because its other names may
        // be in use.
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
        // A link to a directory is removed later, as a link.
        match entry.file_type()? {
            kind if kind.is_dir() => remove_tree(&entry.path())?,
            kind if kind.is_file() => remove_file(&entry.path())?,
            _ => {}
        }
    }
    fs::remove_dir_all(path).map_err(|_| refused)
}

/// Whether two directories are on the same disk. This system does not report it.
pub fn is_on_same_disk(_: &Path, _: &Path) -> bool {
    false
}

/// Whether a file belongs to the user of this process. On this system the permissions of its
/// directory decide instead who may remove it.
pub fn is_own(_: &Metadata) -> bool {
    true
}

/// The number of names of a file. This system does not report it.
pub fn link_count(_: &Metadata) -> u64 {
    1
}

/// The Unix permissions of a file, which do not exist on this system.
pub fn mode_of(_: &Metadata) -> Option<u32> {
    None
}

/// Does nothing, because this system has no Unix permissions.
pub fn set_mode(_: &File, _: u32) -> io::Result<()> {
    Ok(())
}

/// Does nothing, because this system has no Unix permissions.
pub fn create_with_mode(_: &mut OpenOptions, _: u32) {}

#[cfg(feature = "write")]
/// Does nothing, because this system has no Unix permissions.
pub fn temporary_with_mode(_: &mut tempfile::Builder<'_, '_>, _: u32) {}

/// Copies the permissions of the file that will be replaced to its new version.
pub fn take_over(file: &File, replaced: &Metadata) -> io::Result<()> {
    file.set_permissions(replaced.permissions())
}

/// Opens a directory for a sync; `None` if the system refuses, and makes names durable in its own
/// time.
pub fn directory_to_sync(path: &Path) -> io::Result<Option<File>> {
    use std::os::windows::fs::OpenOptionsExt;
    // `FILE_FLAG_BACKUP_SEMANTICS`, without which no directory can be opened. A flush needs write
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
        // The errors of file systems that cannot flush a directory: invalid function, access
        // denied, not supported, invalid parameter.
        Err(unknown) if matches!(unknown.raw_os_error(), Some(1 | 5 | 50 | 87)) => Ok(()),
        done => done,
    }
}

/// Whether a file can be synced and write-protected through a handle opened for reading.
pub const SYNCS_WHAT_IT_READS: bool = false;

/// Whether opening failed because the file is just being removed.
pub fn is_being_removed(failed: &io::Error) -> bool {
    // The Windows errors "access denied" and "delete pending".
    failed.kind() == io::ErrorKind::NotFound || matches!(failed.raw_os_error(), Some(5 | 303))
}

/// The number of attempts, and the pause between them, to read a directory while another process is
/// trying to remove it.
const READ_TRIES: u32 = 1000;
const READ_PAUSE: std::time::Duration = std::time::Duration::from_millis(2);

/// Reads a directory that existed a moment ago, even while other processes are removing it.
fn read_directory(path: &Path) -> io::Result<std::fs::ReadDir> {
    let mut tries = 0;
    loop {
        tries += 1;
        match std::fs::read_dir(path) {
            // A sharing violation, which lasts until the other process has finished its attempt.
            Err(held) if held.raw_os_error() == Some(32) && tries < READ_TRIES => {
                std::thread::sleep(READ_PAUSE);
            }
            // If a directory is removed while its names are read, wine reports its name as invalid.
            Err(gone) if gone.raw_os_error() == Some(123) => {
                return Err(io::ErrorKind::NotFound.into());
            }
            read => return read,
        }
    }
}

/// Whether a directory could not be renamed because `path` already exists.
pub fn is_taken(failed: &io::Error, path: &Path) -> bool {
    // If the rename would replace a directory, Windows reports "access denied".
    failed.kind() == io::ErrorKind::AlreadyExists
        || failed.kind() == io::ErrorKind::PermissionDenied && path.is_dir()
}

#[cfg(feature = "write")]
/// Renames a temporary file over another file; if that fails, the temporary file is kept. The
/// rename of the standard library can also replace a file that is being read, if the file system
/// has POSIX renames; that of `tempfile` cannot.
pub fn replace(name: tempfile::TempPath, to: &Path) -> Result<(), tempfile::PathPersistError> {
    // Removes the Windows attribute of temporary files.
    let kept = name.keep()?;
    std::fs::rename(&kept, to).map_err(|error| {
        let mut path =
            tempfile::TempPath::try_from_path(kept).expect("names of new files are absolute");
        path.disable_cleanup(true);
        tempfile::PathPersistError { error, path }
    })
}

/// Whether a file could not be replaced because it is open.
pub fn is_in_use(failed: &io::Error) -> bool {
    // The Windows errors "access denied" and "sharing violation".
    matches!(failed.raw_os_error(), Some(5 | 32))
}

/// Creates a hard link to a file; for a symbolic link, to its target, because a symbolic link in a
/// store would break when its target is moved.
pub fn hard_link(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::hard_link(from.canonicalize()?, to)
}

/// A directory. On this system it is only a path, so it is lost if the directory is renamed.
#[derive(Debug)]
pub struct Folder(std::path::PathBuf);

impl Folder {
    /// Opens a directory; a link to a directory only if `follows_links`.
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

    /// Creates a subdirectory. This system has no Unix permissions that would make it private.
    pub fn make_folder(&self, name: &OsStr, _is_private: bool) -> io::Result<()> {
        std::fs::create_dir(self.0.join(name))
    }

    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Folder(self.0.clone()))
    }

    /// Whether the directory belongs to the user of this process.
    pub fn is_own(&self) -> io::Result<bool> {
        self.0.metadata().map(|metadata| is_own(&metadata))
    }

    /// Whether `path` is the directory itself, and not a link to it.
    pub fn is_at(&self, path: &Path) -> bool {
        path.symlink_metadata().is_ok_and(|there| there.is_dir())
    }

    /// The names of all entries of the directory.
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

    /// Opens a file in the directory for reading; if `appends`, also for appending, and creates it
    /// if it is missing.
    pub fn open_file(&self, name: &OsStr, appends: bool) -> Result<File, Refused> {
        let mut options = File::options();
        Ok(options.read(true).append(appends).create(appends).open(self.0.join(name))?)
    }

    /// Creates a file in the directory; no entry may have the name.
    pub fn create_file(&self, name: &OsStr) -> io::Result<File> {
        File::options().read(true).write(true).create_new(true).open(self.0.join(name))
    }

    /// Always `None`: this system has no files without a name.
    pub fn unnamed_file(&self) -> Option<File> {
        None
    }

    /// Never called on this system, which has no files without a name.
    pub fn name_file(&self, _: &File, _: &OsStr) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Renames a file in the directory; an existing file is replaced.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        std::fs::rename(self.0.join(from), self.0.join(to))
    }

    /// Renames a file in the directory; no entry may have the new name.
    #[cfg(feature = "write")]
    pub fn rename_to_free_name(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        let from = std::path::absolute(self.0.join(from))?;
        let from = tempfile::TempPath::try_from_path(from)?;
        from.persist_noclobber(self.0.join(to)).map_err(|failed| failed.error)
    }

    /// Removes a file or a link in the directory, but not a subdirectory.
    pub fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        remove_file(&self.0.join(name))
    }

    /// Removes a subdirectory with its contents.
    pub fn remove_tree(&self, name: &OsStr) -> io::Result<()> {
        remove_tree(&self.0.join(name))
    }

    /// Makes the names in the directory durable.
    pub fn sync(&self) -> io::Result<()> {
        directory_to_sync(&self.0)?.map_or(Ok(()), |directory| sync_directory(&directory))
    }
}

/// Reads from `offset` on until `buffer` is full.
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

/// The file name with these bytes; `None` if they are not UTF-8, the only names used here.
pub fn name_of_bytes(bytes: Vec<u8>) -> Option<OsString> {
    String::from_utf8(bytes).ok().map(OsString::from)
}
