//! The file of a lock: who may open it, and what may be written to it.
//!
//! An advisory lock can be taken by everyone who can open its file, if only for reading. So the
//! file can be opened by those who may write to its directory, and by no other reader. Whoever may
//! write to the directory can put anything in the place of the file; it is opened without following
//! links and without waiting, and written to only if it holds what writers put there.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::base::error::{Error, IoError, Result};
use fpstore_disk as disk;
use fpstore_disk::plain_file::{self, Refused};
use fpstore_disk::system;

/// The longest note of a process number: ten digits and a newline.
const NOTE_LEN_MAX: u64 = 11;
/// For an instant after another process made the file, it has not yet its final rights.
const DENIED_TRIES: u32 = 5;
const DENIED_PAUSE: Duration = Duration::from_millis(5);

/// The open file of a lock.
#[derive(Debug)]
pub(super) struct LockFile {
    pub(super) file: File,
    pub(super) path: PathBuf,
    /// Whether the file has other names (hard links), as in a copy that `cp -al` made of the store.
    /// Nothing is written to it then: somebody may have linked any file here.
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

    /// Whether the file still has its name. Another process may have removed it before this one
    /// locked it; then the lock is worth nothing.
    pub(super) fn is_in_place(&self) -> bool {
        self.is_at(&self.path)
    }

    /// Whether `path` is a name of the file.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        system::is_name_of(path, &self.file)
    }

    /// Notes the number of this process for messages to others, unless the file holds anything else
    /// than such a number.
    pub(super) fn note_process(&mut self) {
        if self.holds_note() {
            // The number is for messages alone, so writing it may fail.
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

    /// The number that the holder of the lock noted.
    pub(super) fn noted_process(&self) -> Option<u32> {
        let mut text = String::new();
        (&self.file).take(NOTE_LEN_MAX).read_to_string(&mut text).ok()?;
        text.trim().parse().ok()
    }

    /// Removes the file, so that a store at rest has no files that its readers cannot copy.
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

/// Reading and writing for each class of users that may write to the directory; nothing for others.
fn rights(directory: &Path) -> u32 {
    let mode = fs::metadata(directory).ok().and_then(|of| system::mode_of(&of)).unwrap_or(0);
    0o600 | [0o020, 0o002].iter().filter(|&&bit| mode & bit != 0).map(|bit| bit * 3).sum::<u32>()
}

/// Sets the rights of a file of this user: the file mode mask may have taken some, and files of
/// others keep theirs.
fn set_rights(file: &File, metadata: &fs::Metadata, rights: u32) {
    if system::is_own(metadata) && system::mode_of(metadata).is_some_and(|mode| mode != rights) {
        // Where the system has no such rights, the lock is as good as its directory.
        let _ = system::set_mode(file, rights);
    }
}
