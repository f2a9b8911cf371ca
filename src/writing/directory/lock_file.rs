//! The file of a lock: its access rights and its content.
//!
//! Everyone who can open a lock file, even for reading, can take an advisory lock on it. So only
//! users who may write to the directory can open the file. Such a user can also replace the file by
//! anything; so it is opened without following links and without waiting, and written to only if it
//! contains nothing but the id of a process.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::base::error::{Error, IoError, Result};
use fpstore_disk as disk;
use fpstore_disk::plain_file::{self, Refused};
use fpstore_disk::system;

/// The maximum length of a lock file: a process id of ten digits, and a newline.
const NOTE_LEN_MAX: u64 = 11;
/// The number of attempts to open a lock file if permission is denied: another process may just
/// have made it, and not yet set its final access rights.
const DENIED_TRIES: u32 = 5;
const DENIED_PAUSE: Duration = Duration::from_millis(5);

/// The open file of a lock.
#[derive(Debug)]
pub(super) struct LockFile {
    pub(super) file: File,
    pub(super) path: PathBuf,
    /// Whether the file has other names (hard links), as in a copy made by `cp -al`. Then nothing
    /// is written to it: it may be a link to an unrelated file.
    pub(super) has_other_names: bool,
}

impl LockFile {
    /// Opens the file `name` in `directory`, or makes it. `None` if another process removed it
    /// meanwhile.
    pub(super) fn open(directory: &Path, name: &str) -> Result<Option<Self>> {
        let path = directory.join(name);
        let mut tries = 0;
        loop {
            tries += 1;
            match open(directory, &path) {
                Ok(None) => return Ok(None),
                Ok(Some((file, has_other_names))) => {
                    return Ok(Some(LockFile { file, path, has_other_names }));
                }
                Err(Refused::Io(source))
                    if source.kind() == ErrorKind::PermissionDenied && tries < DENIED_TRIES =>
                {
                    std::thread::sleep(DENIED_PAUSE);
                }
                Err(Refused::Io(source)) => {
                    return Err(Error::Io(IoError { doing: "lock", path, source }));
                }
                Err(Refused::Kind(kind)) => {
                    let detail = format!("it is {kind}; remove it, writers make a plain file");
                    let source = io::Error::new(ErrorKind::InvalidInput, detail);
                    return Err(Error::Io(IoError { doing: "lock", path, source }));
                }
            }
        }
    }

    /// Whether the file still has its name. If another process removed it before this one locked
    /// it, the lock protects nothing.
    pub(super) fn is_in_place(&self) -> bool {
        self.is_at(&self.path)
    }

    /// Whether `path` is a name of the open file.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        system::is_name_of(path, &self.file)
    }

    /// Records the id of this process for messages of other processes, unless the file contains
    /// anything other than a process id.
    pub(super) fn note_process(&mut self) {
        if self.holds_note() {
            // The process id is only used in messages, so an error is ignored.
            let _ = self.file.rewind().and_then(|()| {
                self.file.set_len(0)?;
                writeln!(self.file, "{}", std::process::id())
            });
        }
    }

    fn holds_note(&mut self) -> bool {
        let mut bytes = Vec::new();
        let read = (&self.file).take(NOTE_LEN_MAX + 1).read_to_end(&mut bytes);
        let digits = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        read.is_ok() && bytes.len() as u64 <= NOTE_LEN_MAX && digits.iter().all(u8::is_ascii_digit)
    }

    /// The process id recorded by the holder of the lock.
    pub(super) fn noted_process(&self) -> Option<u32> {
        let mut text = String::new();
        (&self.file).take(NOTE_LEN_MAX).read_to_string(&mut text).ok()?;
        text.trim().parse().ok()
    }

    /// Removes the file: an idle store should be copyable, and its readers may lack the right to
    /// read the lock file.
    pub(super) fn remove(&self) {
        if self.is_in_place() {
            let _ = disk::remove_file(&self.path);
        }
    }
}

fn open(directory: &Path, path: &Path) -> Result<Option<(File, bool)>, Refused> {
    match fs::symlink_metadata(path) {
        Ok(there) => plain_file::refuse_others(there.file_type())?,
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error.into()),
    }
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    let rights = rights(directory);
    system::never_wait(&mut options, false);
    system::create_with_mode(&mut options, rights);
    let file = options.open(path)?;
    let metadata = file.metadata()?;
    plain_file::refuse_others(metadata.file_type())?;
    match system::link_count(&metadata) {
        0 => return Ok(None),
        1 => {}
        _ => return Ok(Some((file, true))),
    }
    set_rights(&file, &metadata, rights);
    Ok(Some((file, false)))
}

/// The access rights of a lock file: reading and writing for each class of users that may write to
/// the directory, none for other classes.
fn rights(directory: &Path) -> u32 {
    let mode = fs::metadata(directory).ok().and_then(|of| system::mode_of(&of)).unwrap_or(0);
    0o600 | [0o020, 0o002].iter().filter(|&&bit| mode & bit != 0).map(|bit| bit * 3).sum::<u32>()
}

/// Sets the access rights of a file of this user, which the file mode mask may have reduced. Does
/// nothing for files of other users.
fn set_rights(file: &File, metadata: &fs::Metadata, rights: u32) {
    if system::is_own(metadata) && system::mode_of(metadata).is_some_and(|mode| mode != rights) {
        // Ignore errors: on file systems without access rights, the lock is as safe as its
        // directory.
        let _ = system::set_mode(file, rights);
    }
}
