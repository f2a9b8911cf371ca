//! Files and directories with temporary names, renamed to their final names when they are complete.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::{NamedTempFile, TempDir};

use super::change::{Change, note};
use super::fail_point::{FailPoint, fail_point};
use super::files::{
    RANDOM_LEN, bare, remove_directory_tree, remove_file, renaming, sync, without_path,
};
use super::plain_file::{self, Result};
use super::refused::Refused;
use super::system;
use fpstore_base::IoError;

/// The number of attempts to replace a file, and the pause between them, on systems that cannot
/// replace an open file.
const REPLACE_TRIES: u32 = 5000;
const REPLACE_PAUSE: Duration = Duration::from_millis(2);

/// A file with a temporary name. Dropping it removes the file, unless it was renamed.
#[derive(Debug)]
pub struct TemporaryFile {
    file: File,
    /// `None` after the rename to the final name.
    name: Option<tempfile::TempPath>,
    path: PathBuf,
    directory: PathBuf,
    /// Whether the temporary name is a hard link to an existing file, opened for reading only.
    is_link: bool,
}

impl TemporaryFile {
    /// Creates a file in the directory of a store, with a name that starts with `prefix`. Users who
    /// may read the directory get permission to read the file.
    pub fn create_in_store(directory: &Path, prefix: &str) -> Result<Self> {
        let created = TemporaryFile::create(directory, prefix)?;
        share_as(&created.file, directory);
        Ok(created)
    }

    /// Creates a file in `directory` with a name that starts with `prefix`.
    pub fn create(directory: &Path, prefix: &str) -> Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(prefix).rand_bytes(RANDOM_LEN).disable_cleanup(true);
        // By default, temporary files are private. But files that get a final name should have the
        // usual permissions of new files under the user's file mode mask, and files in a store the
        // same readers as the store.
        system::temporary_with_mode(&mut builder, 0o666);
        let created = fail_point(directory, FailPoint::Create)
            .and_then(|()| builder.tempfile_in(directory))
            .map(NamedTempFile::into_parts);
        let (file, name) = created.map_err(without_path("create a file in", directory))?;
        let path = name.to_path_buf();
        note(&path, || Change::CreateFile(path.clone()));
        let directory = directory.into();
        Ok(TemporaryFile { file, name: Some(name), path, directory, is_link: false })
    }

    /// Gives the file at `from` a second name in `directory`, a hard link whose name starts with
    /// `prefix`. If `from` is a symbolic link, its target gets the name. Fails if the system cannot
    /// make a hard link from one place to the other.
    pub fn link(directory: &Path, prefix: &str, from: &Path) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(prefix).rand_bytes(RANDOM_LEN).disable_cleanup(true);
        fail_point(directory, FailPoint::Create)?;
        let linked = builder.make_in(directory, |path| {
            system::hard_link(from, path)?;
            Ok(plain_file::open_unlinked(path).inspect_err(|refused| {
                if matches!(refused, Refused::Kind(_)) {
                    let _ = std::fs::remove_file(path);
                }
            })?)
        });
        let (file, name) = linked.map_err(bare)?.into_parts();
        open_as(&file, directory);
        let path = name.to_path_buf();
        note(&path, || Change::CreateFile(path.clone()));
        note(&path, || {
            let bytes = std::fs::read(from).unwrap_or_default();
            Change::Write { path: path.clone(), end: bytes.len() as u64, bytes }
        });
        let directory = directory.into();
        Ok(TemporaryFile { file, name: Some(name), path, directory, is_link: true })
    }

    /// The path with the temporary name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the finished file read-only and durable. Leaves a hard link to an existing file
    /// unchanged on systems that can do this only to a file opened for writing.
    pub fn protect_and_sync(&self) -> Result<()> {
        if self.is_link && !system::SYNCS_WHAT_IT_READS {
            return Ok(());
        }
        let protect = || {
            fail_point(&self.directory, FailPoint::Protect)?;
            let mut permissions = self.file.metadata()?.permissions();
            permissions.set_readonly(true);
            self.file.set_permissions(permissions)
        };
        protect().map_err(IoError::of("protect a file in", &self.directory))?;
        self.sync(&self.directory)
    }

    /// Makes the bytes of the file durable; `shown` is its path in messages.
    pub fn sync(&self, shown: &Path) -> Result<()> {
        sync(&self.file, shown, || Change::Sync(self.path.clone()))
    }

    /// Renames the file to `path`, which must not exist. After an error the file may nevertheless
    /// be there.
    pub fn rename_to_free_name(self, path: &Path) -> io::Result<()> {
        self.rename(path, |name| name.persist_noclobber(path))
    }

    /// Renames the file to `path` in a single step; an existing file is replaced. After an error,
    /// either the old or the new file has the name.
    pub fn rename_over(self, path: &Path) -> io::Result<()> {
        self.rename(path, |name| {
            let (mut name, mut tries) = (name, 0);
            loop {
                match system::replace(name, path) {
                    // Another process is reading the existing file, which should take an instant.
                    Err(failed) if system::is_in_use(&failed.error) && tries < REPLACE_TRIES => {
                        (name, tries) = (failed.path, tries + 1);
                        std::thread::sleep(REPLACE_PAUSE);
                    }
                    Err(failed) if system::is_in_use(&failed.error) => {
                        let (waited, error) = (REPLACE_PAUSE * tries, failed.error);
                        let reason = format!(
                            "{error}: other programs kept it open for {} s of attempts; it is \
                             unchanged",
                            waited.as_secs()
                        );
                        let error = io::Error::new(error.kind(), reason);
                        return Err(tempfile::PathPersistError { error, path: failed.path });
                    }
                    done => return done,
                }
            }
        })
    }

    fn rename(
        mut self,
        to: &Path,
        rename: impl FnOnce(tempfile::TempPath) -> std::result::Result<(), tempfile::PathPersistError>,
    ) -> io::Result<()> {
        renaming(&self.path, to, || match self.name.take().map(rename) {
            Some(Err(failed)) => {
                self.name = Some(failed.path);
                Err(failed.error)
            }
            Some(Ok(())) | None => Ok(()),
        })
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if self.name.is_some() {
            // If this fails, the next writer removes the file.
            let _ = remove_file(&self.path);
        }
    }
}

impl Write for TemporaryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        fail_point(&self.directory, FailPoint::Write)?;
        let written = self.file.write(bytes).map_err(bare)?;
        let end = || (&self.file).stream_position();
        note(&self.path, || Change::Write {
            path: self.path.clone(),
            end: end().unwrap_or(u64::MAX),
            bytes: bytes.get(..written).unwrap_or_default().into(),
        });
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for TemporaryFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// A directory with a temporary name. Dropping it removes the directory with its contents, unless
/// it was renamed.
#[derive(Debug)]
pub struct TemporaryDirectory {
    path: PathBuf,
    /// Whether the directory was renamed or removed.
    is_gone: bool,
    /// A marker file, kept open while the directory exists.
    mark: Option<File>,
}

impl TemporaryDirectory {
    /// Creates a directory in `parent` with a name that starts with `prefix`.
    pub fn create(parent: &Path, prefix: &OsStr) -> Result<Self> {
        TemporaryDirectory::with_mode(parent, prefix, 0o777)
    }

    /// Like [`TemporaryDirectory::create`], but only this user can access the directory.
    pub(super) fn private(parent: &Path, prefix: &OsStr) -> Result<Self> {
        TemporaryDirectory::with_mode(parent, prefix, 0o700)
    }

    fn with_mode(parent: &Path, prefix: &OsStr, mode: u32) -> Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(prefix).rand_bytes(RANDOM_LEN);
        system::temporary_with_mode(&mut builder, mode);
        let path = fail_point(parent, FailPoint::Create)
            .and_then(|()| builder.tempdir_in(parent))
            .map(TempDir::keep)
            .map_err(without_path("create a directory in", parent))?;
        note(&path, || Change::CreateDirectory(path.clone()));
        Ok(TemporaryDirectory { path, is_gone: false, mark: None })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps a file of the directory open until the directory has been removed; a lock on the file
    /// is kept, too.
    pub(super) fn keep_open(&mut self, mark: File) {
        self.mark = Some(mark);
    }

    /// Removes the directory with its contents.
    pub(super) fn remove(mut self) -> Result<()> {
        self.remove_tree().map_err(IoError::of("remove", &self.path))
    }

    fn remove_tree(&mut self) -> io::Result<()> {
        self.is_gone = true;
        if !system::REMOVES_OPEN_FILES {
            self.mark = None;
        }
        remove_directory_tree(&self.path)
    }

    /// Renames the directory to `path`. After an error the directory may nevertheless be there.
    pub fn rename(mut self, path: &Path) -> io::Result<()> {
        renaming(&self.path, path, || {
            std::fs::rename(&self.path, path)?;
            self.is_gone = true;
            Ok(())
        })
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        if !self.is_gone {
            // If this fails, the next builder removes the directory.
            let _ = self.remove_tree();
        }
    }
}

/// Lets the users who may read a directory read a new file in it, even if the file mode mask of the
/// writer would exclude them. No other user may write to the file.
fn share_as(file: &File, directory: &Path) {
    let Some((own, of_directory)) = modes_of(file, directory) else { return };
    let rights = of_directory & 0o444 | 0o600;
    if own != rights {
        // On systems without Unix permissions this does nothing.
        let _ = system::set_mode(file, rights);
    }
}

/// Lets the users who may read a directory read a hard link in it. Existing permissions are kept,
/// because they also apply to the other names of the file.
fn open_as(file: &File, directory: &Path) {
    let Some((own, of_directory)) = modes_of(file, directory) else { return };
    let rights = own | of_directory & 0o444;
    if own != rights {
        // Fails if another user owns the file, which then keeps its mode: the error is ignored.
        let _ = system::set_mode(file, rights);
    }
}

/// The permissions of a file and of a directory, if both can be read.
fn modes_of(file: &File, directory: &Path) -> Option<(u32, u32)> {
    let own = system::mode_of(&file.metadata().ok()?)?;
    Some((own, system::mode_of(&std::fs::metadata(directory).ok()?)?))
}
