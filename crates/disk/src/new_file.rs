//! A new file that gets its name in a single step when it is complete.
//!
//! Until then the file has no name, so the system removes it whenever the process ends. Where files
//! without a name are impossible, the file has a temporary name, and if this process is killed, a
//! later process removes it. All operations use the open handle of the folder, even if another
//! folder gets the folder's name in the meantime.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::change::{Change, note};
use super::fail_point::{FailPoint, fail_point};
use super::files::{bare, create_directories, is_temporary_name, parent_of, renaming};
use super::refused::Refused;
use super::stale::remove_stale_files;
use super::system::{self, Folder};

const PREFIX: &str = ".fpstore-";
const SUFFIX: &str = ".tmp";

/// A file under construction that gets its name when it is complete.
///
/// Until then, dropping it or the end of the process removes it.
///
/// # Examples
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// use fpstore_disk::NewFile;
/// use std::io::Write;
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("removed.tsv");
///
/// let file = NewFile::create(path.clone(), None)?;
/// file.file()?.write_all(b"a\tb\n")?;
/// assert!(!path.exists());
/// file.publish()?;
/// assert_eq!(std::fs::read(&path)?, b"a\tb\n");
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct NewFile {
    /// The final path of the file.
    path: PathBuf,
    folder: Folder,
    file: File,
    /// The temporary name, if the file has one.
    temporary: Option<OsString>,
    /// Whether the file replaces an existing file.
    replaces: bool,
    /// The metadata of the replaced file, whose mode and owner the new file gets.
    replaced: Option<Metadata>,
}

impl NewFile {
    /// Creates a file that will get the name `path`. If `replaced` is the metadata of an existing
    /// file there, the new file replaces it and gets its mode and owner; without `replaced`, no
    /// file may have the name when the new file is complete.
    ///
    /// # Errors
    ///
    /// The error of the system.
    pub fn create(path: PathBuf, replaced: Option<Metadata>) -> io::Result<Self> {
        fail_point(parent_of(&path), FailPoint::Create)?;
        let folder = Folder::open(parent_of(&path), true)?;
        NewFile::create_in(folder, path, replaced.is_some(), replaced)
    }

    /// Creates a file that will get the name `path`, in the folder `root` or below it, and will
    /// replace an existing file. Creates missing folders below `root`; does not follow links below
    /// `root`.
    pub fn create_below(root: &Path, path: &Path) -> io::Result<Self> {
        create_directories(root)?;
        let mut folder = Folder::open(root, true)?;
        let mut at = root.to_path_buf();
        let between = parent_of(path).strip_prefix(root).map_err(io::Error::other)?;
        for part in between.components() {
            let Component::Normal(part) = part else { continue };
            let next = at.join(part);
            let opened = match folder.open_folder(part) {
                Err(Refused::Io(error)) if error.kind() == ErrorKind::NotFound => {
                    fail_point(&next, FailPoint::Create)?;
                    match folder.make_folder(part, false) {
                        // Another process or thread has just created the same folder.
                        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                        made => {
                            made?;
                            note(&next, || Change::CreateDirectory(next.clone()));
                        }
                    }
                    sync_names_of(&folder, &at)?;
                    folder.open_folder(part)
                }
                opened => opened,
            };
            folder = opened.map_err(|refused| match refused {
                Refused::Io(error) => error,
                Refused::Kind(kind) => io::Error::new(
                    ErrorKind::InvalidInput,
                    format!("{} is {kind}; remove it, or name another output", next.display()),
                ),
            })?;
            at = next;
        }
        fail_point(&at, FailPoint::Create)?;
        let name = name_of(path)?;
        let replaces = folder.has(name)?;
        let found = folder.open_file(name, false).ok().and_then(|file| file.metadata().ok());
        let found = found.filter(Metadata::is_file);
        NewFile::create_in(folder, path.into(), replaces, found)
    }

    /// Creates a file that will get the name `path`; `folder` is its open folder.
    pub(super) fn create_in(
        folder: Folder,
        path: PathBuf,
        replaces: bool,
        replaced: Option<Metadata>,
    ) -> io::Result<Self> {
        name_of(&path)?;
        let unnamed = folder.unnamed_file();
        // Removes leftovers: a file that has a temporary name, even for a moment, remains if its
        // process is killed then.
        if replaces || unnamed.is_none() {
            clean(&folder, parent_of(&path));
        }
        let (file, temporary) = match unnamed {
            Some(file) => (file, None),
            None => {
                let (file, name) = with_temporary_name(&path, |name| folder.create_file(name))?;
                (file, Some(name))
            }
        };
        // The lock shows other processes that the file is in use. Without locks they may remove it.
        let _ = file.try_lock();
        Ok(NewFile { path, folder, file, temporary, replaces, replaced })
    }

    /// Whether a name has the form of the temporary names of new files.
    pub fn is_temporary_name(name: &str) -> bool {
        name.strip_suffix(SUFFIX).is_some_and(|name| is_temporary_name(name, PREFIX))
    }

    /// Creates a file that never gets a name, for bytes used by this process alone.
    ///
    /// # Errors
    ///
    /// The error of the system.
    pub fn scratch(folder: &Path) -> io::Result<File> {
        fail_point(folder, FailPoint::Create)?;
        tempfile::tempfile_in(folder)
    }

    /// Creates a folder for new files, and its missing parents, and makes their names durable.
    ///
    /// # Errors
    ///
    /// The error of the system.
    pub fn make_folder(path: &Path) -> io::Result<()> {
        create_directories(path)
    }

    /// The final name of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A handle to write to the file.
    ///
    /// # Errors
    ///
    /// The error of the system.
    pub fn file(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Makes the file durable, gives it its final name, and makes the name durable.
    ///
    /// # Errors
    ///
    /// The error of the system; [`io::ErrorKind::AlreadyExists`] if a file has the name and must
    /// not be replaced. If the error came from the last rename or sync, the complete file may have
    /// its name.
    pub fn publish(mut self) -> io::Result<()> {
        self.appear()?;
        sync_names_of(&self.folder, parent_of(&self.path))
    }

    /// Like [`NewFile::publish`], but the name is durable only after a sync of the folder.
    pub fn publish_for_now(mut self) -> io::Result<()> {
        self.appear()
    }

    fn appear(&mut self) -> io::Result<()> {
        if let Some(replaced) = &self.replaced {
            system::take_over(&self.file, replaced)?;
        }
        let path = self.path.clone();
        fail_point(&path, FailPoint::Sync)?;
        self.file.sync_all()?;
        let from = || path.with_file_name(".fpstore-new.tmp");
        note(&path, || Change::CreateFile(from()));
        note(&path, || {
            let bytes = bytes_of(&self.file);
            Change::Write { path: from(), end: bytes.len() as u64, bytes }
        });
        note(&path, || Change::Sync(from()));
        renaming(&from(), &path, || self.take_name())
    }

    fn take_name(&mut self) -> io::Result<()> {
        let to = name_of(&self.path)?;
        let from = match &self.temporary {
            Some(name) => name,
            None if !self.replaces => return self.folder.name_file(&self.file, to),
            // A hard link cannot replace a file, so the file first gets a temporary name.
            None => {
                let link = |name: &OsStr| self.folder.name_file(&self.file, name);
                self.temporary.insert(with_temporary_name(&self.path, link)?.1)
            }
        };
        match self.replaces {
            true => self.folder.rename(from, to)?,
            false => self.folder.rename_to_free_name(from, to)?,
        }
        self.temporary = None;
        Ok(())
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(name) = &self.temporary {
            let _ = self.folder.remove_file(name);
        }
    }
}

fn name_of(path: &Path) -> io::Result<&OsStr> {
    let refused = || io::Error::new(ErrorKind::InvalidInput, "it has no file name");
    path.file_name().ok_or_else(refused)
}

/// Calls `make` with a temporary name next to `path`. Returns the created object and the name.
fn with_temporary_name<T>(
    path: &Path,
    mut make: impl FnMut(&OsStr) -> io::Result<T>,
) -> io::Result<(T, OsString)> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX).disable_cleanup(true);
    let made = builder.make_in(parent_of(path), |path| make(name_of(path)?)).map_err(bare)?;
    let (made, path) = made.into_parts();
    Ok((made, name_of(&path)?.into()))
}

/// Makes the names in an open folder durable. `path` is its path, for fail points and records.
fn sync_names_of(folder: &Folder, path: &Path) -> io::Result<()> {
    fail_point(path, FailPoint::SyncDirectory)?;
    folder.sync()?;
    note(path, || Change::SyncDirectory(path.into()));
    Ok(())
}

/// Removes leftovers of killed processes when this process first writes to a folder. Not again,
/// because a folder may contain very many files.
fn clean(folder: &Folder, path: &Path) {
    static CLEANED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    if CLEANED.lock().unwrap_or_else(PoisonError::into_inner).insert(path.into()) {
        remove_stale_files(folder, path, NewFile::is_temporary_name);
    }
}

/// The bytes of an open file, for the record of changes in tests.
fn bytes_of(file: &File) -> Vec<u8> {
    let mut bytes = vec![0; file.metadata().map_or(0, |of| of.len() as usize)];
    // A file without a name may be open for writing only, but in tests it is readable.
    let _ = system::read_exact_at(file, &mut bytes, 0);
    bytes
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Write;

    use std::fs;

    use super::*;

    /// Three temporary names in a folder: one of a killed process, one that is in use, and a
    /// similar name that this program did not make.
    #[test]
    fn second_names_of_killed_processes_are_removed_and_those_in_use_stay() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["out.tsv", ".fpstore-abc123.tmp", ".fpstore-notes.tmp", "fpstore-abc123.tmp"] {
            fs::write(at(name), name).unwrap();
        }
        let other = tempfile::tempdir_in(folder.path()).unwrap();
        let replaced = || Some(at("out.tsv").metadata().unwrap());
        // Simulates the moment in which the file has its temporary name.
        let in_use = NewFile::create(other.path().join("out.tsv"), replaced()).unwrap();
        let named = Folder::open(folder.path(), true).unwrap();
        named.name_file(&in_use.file, OsStr::new(".fpstore-use123.tmp")).unwrap();
        let new = NewFile::create(at("out.tsv"), replaced()).unwrap();
        new.file().unwrap().write_all(b"new").unwrap();
        new.publish().unwrap();
        let mut names: Vec<String> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap())
            .filter(|entry| entry.path().is_file())
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(
            names,
            [".fpstore-notes.tmp", ".fpstore-use123.tmp", "fpstore-abc123.tmp", "out.tsv"]
                .map(String::from)
        );
        assert_eq!(fs::read(at("out.tsv")).unwrap(), b"new");
    }
}
