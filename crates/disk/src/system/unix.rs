//! The functions for Linux, macOS and FreeBSD.

use std::ffi::{OsStr, OsString};
use std::fs::{File, FileType, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::SystemTime;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, statat};
use rustix::io::Errno;

use crate::refused::Refused;

/// Whether a file can be removed while it is open or mapped.
pub const REMOVES_OPEN_FILES: bool = true;

/// Whether a directory can be renamed while a file in it is open.
pub const MOVES_FOLDERS_IN_USE: bool = true;

/// Makes opening return at once, even if the name belongs to a pipe without another end.
pub fn never_wait(options: &mut OpenOptions, follows_links: bool) {
    let links = if follows_links { OFlags::empty() } else { OFlags::NOFOLLOW };
    options.custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY | links).bits().cast_signed());
}

/// The kind of a special file, such as a pipe; `None` for a plain file, a directory or a link.
pub fn special_kind(of: FileType) -> Option<&'static str> {
    match of {
        of if of.is_fifo() => Some("a named pipe"),
        of if of.is_socket() => Some("a socket"),
        of if of.is_block_device() || of.is_char_device() => Some("a device"),
        _ => None,
    }
}

/// Whether a directory is on a network file system, one served by another machine or program.
/// `false` if unknown.
pub fn is_on_network(directory: &Path) -> bool {
    #[cfg(target_os = "linux")]
    {
        // The type of `f_type` depends on the platform, but all values have 32 bits.
        rustix::fs::statfs(directory).is_ok_and(|found| is_network_type(found.f_type as u32))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = directory;
        false
    }
}

/// Whether `statfs` returns this number for a network file system. The numbers are from `statfs(2)`
/// and the sources of Linux, BeeGFS, GPFS (Spectrum Scale) and Lustre.
#[cfg(target_os = "linux")]
fn is_network_type(number: u32) -> bool {
    matches!(
        number,
        0x6969             // NFS
            | 0x517b       // SMB
            | 0xfe53_4d42  // SMB 2 and 3
            | 0xff53_4d42  // CIFS
            | 0x6573_5546  // FUSE: sshfs, s3fs, gcsfuse, GlusterFS
            | 0x0102_1997  // 9p
            | 0x5346_414f  // AFS
            | 0x6b41_4653  // AFS of the kernel
            | 0x1983_0326  // BeeGFS
            | 0x00c3_6400  // Ceph
            | 0x7375_7245  // Coda
            | 0x4750_4653  // GPFS
            | 0x0bd0_0bd0  // Lustre
            | 0x786f_4256 // folders of a VirtualBox host
    )
}

/// Identifies the state of a file: its device and inode number, its length, and the time of its
/// last change, which no program can set.
#[derive(Debug, PartialEq, Eq)]
pub struct Stamp([u64; 3], [i64; 2]);

impl Stamp {
    pub fn of(found: &Metadata) -> Self {
        let changed = [found.ctime(), found.ctime_nsec()];
        Stamp([found.dev(), found.ino(), found.len()], changed)
    }

    /// Whether every later change of the file or of its name changes the stamp, as long as `file`,
    /// the file of this stamp, is open. `asked` is a time before the contents were read.
    ///
    /// * Another file with the same name has another inode number: the number of an open file is
    ///   not used again, and neither is the number of its device.
    /// * A change of this file sets the time of its last change. File systems round times to at
    ///   most one second, so a change within the same second can leave the time equal. So the stamp
    ///   is no proof until the last change is two seconds old, or if the time is in the future
    ///   because the clock was set back.
    /// * Network file systems can return old stamps, so there the stamp is no proof. The same holds
    ///   for unknown file systems and other operating systems than Linux.
    pub fn is_proof(&self, file: &File, asked: SystemTime) -> bool {
        let asked = asked.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |asked| asked.as_secs());
        let is_old = u64::try_from(self.1[0]).is_ok_and(|changed| changed + 2 < asked);
        #[cfg(target_os = "linux")]
        {
            // The type of `f_type` depends on the platform, but all values have 32 bits.
            is_old
                && rustix::fs::fstatfs(file).is_ok_and(|found| is_local_type(found.f_type as u32))
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _ = (file, is_old);
            false
        }
    }
}

/// Whether `statfs` returns this number for a local file system, on a disk or in memory, whose
/// `stat` reports each change at once.
#[cfg(target_os = "linux")]
fn is_local_type(number: u32) -> bool {
    matches!(
        number,
        0xef53             // ext2, ext3, ext4
            | 0x5846_5342  // XFS
            | 0x9123_683e  // Btrfs
            | 0x2fc1_2fc1  // ZFS
            | 0xf2f5_2010  // F2FS
            | 0xca45_1a4e  // bcachefs
            | 0x0102_1994  // tmpfs
            | 0x794c_7630 // overlayfs, of containers
    )
}

/// Whether the metadata are of the same file, by device and inode number.
pub fn is_same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Whether two directories are on the same disk; `true` also if neither can be read.
pub fn is_on_same_disk(one: &Path, other: &Path) -> bool {
    let device = |path: &Path| path.metadata().map(|metadata| metadata.dev()).ok();
    device(one) == device(other)
}

/// Whether `path` is a name of the open file `file`.
pub fn is_name_of(path: &Path, file: &File) -> bool {
    let (own, there) = (file.metadata(), std::fs::symlink_metadata(path));
    matches!((own, there), (Ok(own), Ok(there)) if is_same(&own, &there))
}

/// Removes a file. On Unix, write protection of the file does not prevent this.
pub fn remove_file(path: &Path) -> io::Result<()> {
    std::fs::remove_file(path)
}

/// Removes a directory with its contents.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    std::fs::remove_dir_all(path)
}

/// Whether a file or directory belongs to the user of this process.
pub fn is_own(metadata: &Metadata) -> bool {
    metadata.uid() == rustix::process::geteuid().as_raw()
}

/// The number of names of a file.
pub fn link_count(metadata: &Metadata) -> u64 {
    metadata.nlink()
}

/// The permissions of a file: read, write and execute for user, group and others.
pub fn mode_of(metadata: &Metadata) -> Option<u32> {
    Some(metadata.mode() & 0o777)
}

/// Sets the permissions of a file.
pub fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(mode))
}

/// Sets the permissions for a file that opening will create.
pub fn create_with_mode(options: &mut OpenOptions, mode: u32) {
    options.mode(mode);
}

#[cfg(feature = "write")]
/// Sets the permissions for a temporary file or directory that will be created.
pub fn temporary_with_mode(builder: &mut tempfile::Builder<'_, '_>, mode: u32) {
    builder.permissions(Permissions::from_mode(mode));
}

/// Gives a file the mode of the file that it will replace; also the owner, if the system allows it.
pub fn take_over(file: &File, replaced: &Metadata) -> io::Result<()> {
    let own = file.metadata()?;
    if (own.uid(), own.gid()) != (replaced.uid(), replaced.gid()) {
        let _ = std::os::unix::fs::fchown(file, Some(replaced.uid()), Some(replaced.gid()));
    }
    set_mode(file, replaced.mode() & 0o777)
}

/// Opens a directory for a sync; `None` if it is not readable.
pub fn directory_to_sync(path: &Path) -> io::Result<Option<File>> {
    if_readable(File::open(path))
}

/// Makes the names in an open directory durable.
pub fn sync_directory(directory: &File) -> io::Result<()> {
    directory.sync_all()
}

/// `None` for a directory that is not readable: the system syncs its names in its own time.
fn if_readable(opened: io::Result<File>) -> io::Result<Option<File>> {
    match opened {
        Err(refused) if refused.kind() == io::ErrorKind::PermissionDenied => Ok(None),
        opened => opened.map(Some),
    }
}

/// Whether a file can be synced and write-protected through a handle opened for reading.
pub const SYNCS_WHAT_IT_READS: bool = true;

/// Whether opening failed because the file is just being removed.
pub fn is_being_removed(failed: &io::Error) -> bool {
    failed.kind() == io::ErrorKind::NotFound
}

/// Whether a directory could not be renamed because `path` already exists.
pub fn is_taken(failed: &io::Error, _: &Path) -> bool {
    matches!(failed.kind(), io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists)
}

#[cfg(feature = "write")]
/// Renames a temporary file over another file; if that fails, the temporary file is kept.
pub fn replace(name: tempfile::TempPath, to: &Path) -> Result<(), tempfile::PathPersistError> {
    name.persist(to)
}

/// Whether a file could not be replaced because it is open; never on Unix.
pub fn is_in_use(_: &io::Error) -> bool {
    false
}

/// Creates a hard link to a file; for a symbolic link, to its target, because a symbolic link in a
/// store would break when its target is moved.
pub fn hard_link(from: &Path, to: &Path) -> io::Result<()> {
    Ok(linkat(CWD, from, CWD, to, AtFlags::SYMLINK_FOLLOW)?)
}

/// An open directory. Files are opened relative to its handle, so renaming it or replacing it by a
/// link has no effect. Links in it are not followed.
#[derive(Debug)]
pub struct Folder(File);
impl Folder {
    /// Opens a directory; a link to a directory only if `follows_links`.
    pub fn open(path: &Path, follows_links: bool) -> io::Result<Self> {
        let links = if follows_links { OFlags::empty() } else { OFlags::NOFOLLOW };
        match rustix::fs::open(path, FOLDER_FLAGS | links, Mode::empty()) {
            // A directory can be writable without being readable; it is then opened as a path.
            #[cfg(target_os = "linux")]
            Err(Errno::ACCESS) => {
                let flags = FOLDER_FLAGS | links | OFlags::PATH;
                Ok(Folder(rustix::fs::open(path, flags, Mode::empty())?.into()))
            }
            opened => Ok(Folder(opened?.into())),
        }
    }

    pub fn open_folder(&self, name: &OsStr) -> Result<Self, Refused> {
        match rustix::fs::openat(&self.0, name, FOLDER_FLAGS | OFlags::NOFOLLOW, Mode::empty()) {
            // For a link, some systems report one of these errors and some another.
            Err(Errno::LOOP | Errno::MLINK | Errno::NOTDIR) => {
                Err(Refused::Kind(match statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(of) if rustix::fs::FileType::from_raw_mode(of.st_mode).is_symlink() => {
                        "a symbolic link"
                    }
                    _ => "no folder",
                }))
            }
            opened => Ok(Folder(opened.map_err(io::Error::from)?.into())),
        }
    }

    /// Creates a subdirectory, accessible only to its owner if `is_private`.
    pub fn make_folder(&self, name: &OsStr, is_private: bool) -> io::Result<()> {
        let mode = if is_private { Mode::RWXU } else { Mode::from_raw_mode(0o777) };
        Ok(rustix::fs::mkdirat(&self.0, name, mode)?)
    }

    pub fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(Folder)
    }

    /// Whether the directory belongs to the user of this process.
    pub fn is_own(&self) -> io::Result<bool> {
        self.0.metadata().map(|metadata| is_own(&metadata))
    }

    /// Whether `path` is the directory itself, and not a link to it.
    pub fn is_at(&self, path: &Path) -> bool {
        is_name_of(path, &self.0)
    }

    /// The names of all entries of the directory.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.0)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                names.push(name.into());
            }
        }
        Ok(names)
    }

    /// Whether the directory contains an entry of this name, even a dangling link.
    pub fn has(&self, name: &OsStr) -> io::Result<bool> {
        match statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(false),
            found => Ok(found.map(|_| true)?),
        }
    }

    /// Opens a file in the directory for reading; if `appends`, also for appending, and creates it
    /// if it is missing.
    pub fn open_file(&self, name: &OsStr, appends: bool) -> Result<File, Refused> {
        let how = match appends {
            true => OFlags::RDWR | OFlags::APPEND | OFlags::CREATE,
            false => OFlags::RDONLY,
        };
        let flags = how | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.0, name, flags, Mode::RUSR | Mode::WUSR) {
            Err(Errno::LOOP | Errno::MLINK) => Err(Refused::Kind("a symbolic link")),
            opened => Ok(opened.map_err(io::Error::from)?.into()),
        }
    }

    /// Creates a file in the directory; no entry may have the name.
    pub fn create_file(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.0, name, flags, Mode::from_raw_mode(0o666))?.into())
    }

    /// Creates a file without a name in the directory; `None` if the system or the file system has
    /// no such files.
    pub fn unnamed_file(&self) -> Option<File> {
        #[cfg(target_os = "linux")]
        {
            // Without /proc the file could not get its name later.
            let can_be_named = Path::new("/proc/self/fd").is_dir();
            let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
            let open = || rustix::fs::openat(&self.0, ".", flags, Mode::from_raw_mode(0o666));
            can_be_named.then(open)?.ok().map(File::from)
        }
        #[cfg(not(target_os = "linux"))]
        None
    }

    /// Gives a file without a name this name; no entry of the directory may have it.
    pub fn name_file(&self, file: &File, name: &OsStr) -> io::Result<()> {
        let open = format!("/proc/self/fd/{}", file.as_raw_fd());
        Ok(linkat(CWD, open, &self.0, name, AtFlags::SYMLINK_FOLLOW)?)
    }

    /// Renames a file in the directory; an existing file is replaced.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.0, from, &self.0, to)?)
    }

    /// Renames a file in the directory; no entry may have the new name.
    #[cfg(feature = "write")]
    pub fn rename_to_free_name(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        #[cfg(any(target_os = "linux", target_vendor = "apple"))]
        {
            let flags = rustix::fs::RenameFlags::NOREPLACE;
            match rustix::fs::renameat_with(&self.0, from, &self.0, to, flags) {
                // The file system cannot check and rename in a single step.
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
                renamed => return Ok(renamed?),
            }
        }
        linkat(&self.0, from, &self.0, to, AtFlags::empty())?;
        self.remove_file(from)
    }

    /// Removes a file or a link in the directory, but not a subdirectory.
    pub fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// Removes a subdirectory with its contents.
    pub fn remove_tree(&self, name: &OsStr) -> io::Result<()> {
        let below = self.open_folder(name).map_err(io::Error::from)?;
        for name in below.names()? {
            match rustix::fs::unlinkat(&below.0, &name, AtFlags::empty()) {
                // For a directory, Linux reports one of these errors and POSIX the other.
                Err(Errno::ISDIR | Errno::PERM) => below.remove_tree(&name)?,
                removed => removed?,
            }
        }
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::REMOVEDIR)?)
    }

    /// Makes the names in the directory durable.
    pub fn sync(&self) -> io::Result<()> {
        match rustix::fs::fsync(&self.0) {
            // The handle of an unreadable directory cannot be synced; the system syncs it in its
            // own time.
            Err(Errno::BADF) => Ok(()),
            synced => Ok(synced?),
        }
    }
}
const FOLDER_FLAGS: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Reads from `offset` on until `buffer` is full.
pub fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

/// The file name with these bytes; on Unix any bytes are valid.
pub fn name_of_bytes(bytes: Vec<u8>) -> Option<OsString> {
    Some(std::os::unix::ffi::OsStringExt::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Root can read every directory, so the test simulates the error.
    #[test]
    fn a_directory_that_is_not_readable_is_synced_by_the_system_and_a_missing_one_is_an_error() {
        assert!(if_readable(Err(io::ErrorKind::PermissionDenied.into())).unwrap().is_none());
        assert!(if_readable(Err(io::ErrorKind::NotFound.into())).is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn network_file_systems_are_known_by_their_numbers() {
        assert!(is_network_type(0x6969) && is_network_type(0x6573_5546));
        let local = [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0x794c_7630, 0x2fc1_2fc1];
        assert!(local.into_iter().all(|number| !is_network_type(number)));
        assert!(!is_on_network(&std::env::temp_dir().join("no such directory")));
    }
}
