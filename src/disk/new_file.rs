//! A file that appears under its name when it is complete, in one step.
//!
//! Until then it has no name, so that the system removes it however the process ends. Where that
//! is impossible it has a temporary name, and a later process removes it if this one is killed.

use std::collections::BTreeSet;
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tempfile::NamedTempFile;

use super::change::{Change, note};
use super::fail_point::{FailPoint, fail_point};
use super::files::{bare, create_directories, is_temporary_name, parent_of, renaming, sync_names};
use super::stale::remove_stale_files;
use super::system;

const PREFIX: &str = ".fpstore-";
const SUFFIX: &str = ".tmp";

/// A file that is being written, and appears under its name when it is complete.
///
/// Dropping it leaves nothing behind, and neither does the end of the process. The outputs of
/// [`Cleaner`](crate::corpus::Cleaner) are such files; a caller writes lists of its own in the same
/// way.
///
/// # Examples
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// use fpstore::corpus::NewFile;
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
    /// The name that it will get.
    path: PathBuf,
    /// The file of this name that it will replace.
    replaced: Option<Metadata>,
    held: Held,
}

#[derive(Debug)]
enum Held {
    Unnamed(File),
    Named(NamedTempFile),
}

impl NewFile {
    /// A file that will be `path`. It replaces the file of which `replaced` is the metadata, and
    /// takes over its mode and owner; if there is none, `path` must be free when the file is
    /// complete.
    ///
    /// # Errors
    ///
    /// That of the system if it refuses.
    pub fn create(path: PathBuf, replaced: Option<Metadata>) -> io::Result<Self> {
        let folder = parent_of(&path);
        fail_point(folder, FailPoint::Create)?;
        if let Some(file) = system::unnamed_file(folder) {
            // It will have a second name for a moment, which a process that is killed then leaves.
            if replaced.is_some() {
                let _ = file.try_lock();
                clean(folder);
            }
            return Ok(NewFile { path, replaced, held: Held::Unnamed(file) });
        }
        clean(folder);
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX).suffix(SUFFIX);
        system::temporary_with_mode(&mut builder, 0o666);
        let named = builder.tempfile_in(folder).map_err(bare)?;
        // The lock says that the file is in use.
        let _ = named.as_file().try_lock();
        Ok(NewFile { path, replaced, held: Held::Named(named) })
    }

    /// Whether a file that is being written has a name like this, where it has one.
    pub(crate) fn is_temporary_name(name: &str) -> bool {
        name.strip_suffix(SUFFIX).is_some_and(|name| is_temporary_name(name, PREFIX))
    }

    /// A file that never gets a name, for bytes that are of use to this process alone.
    ///
    /// # Errors
    ///
    /// That of the system if it refuses.
    pub fn scratch(folder: &Path) -> io::Result<File> {
        fail_point(folder, FailPoint::Create)?;
        tempfile::tempfile_in(folder)
    }

    /// Makes a folder for such files, and those above it, where they are missing. Their names are
    /// durable.
    ///
    /// # Errors
    ///
    /// That of the system if it refuses.
    pub fn make_folder(path: &Path) -> io::Result<()> {
        create_directories(path)
    }

    /// The name that the file will get.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file, to write to.
    ///
    /// # Errors
    ///
    /// That of the system if it refuses.
    pub fn file(&self) -> io::Result<File> {
        match &self.held {
            Held::Unnamed(file) => file.try_clone(),
            Held::Named(file) => file.as_file().try_clone(),
        }
    }

    /// Makes the file durable, gives it its name, and makes the name durable.
    ///
    /// # Errors
    ///
    /// That of the system if it refuses; [`io::ErrorKind::AlreadyExists`] if the name is taken and
    /// nothing is replaced. Where the last rename or sync reported the error, the whole file may
    /// have its name.
    pub fn publish(self) -> io::Result<()> {
        let path = self.path.clone();
        self.publish_for_now()?;
        sync_names(parent_of(&path))
    }

    /// As [`NewFile::publish`]; the name is durable once its folder is synced.
    pub(crate) fn publish_for_now(self) -> io::Result<()> {
        let file = self.file()?;
        if let Some(replaced) = &self.replaced {
            system::take_over(&file, replaced)?;
        }
        fail_point(&self.path, FailPoint::Sync)?;
        file.sync_all()?;
        let path = self.path.clone();
        let from = || path.with_file_name(".fpstore-new.tmp");
        note(&path, || Change::CreateFile(from()));
        note(&path, || {
            let bytes = bytes_of(&file);
            Change::Write { path: from(), end: bytes.len() as u64, bytes }
        });
        note(&path, || Change::Sync(from()));
        renaming(&from(), &path, || self.give_name())
    }

    fn give_name(self) -> io::Result<()> {
        match self.held {
            Held::Unnamed(file) if self.replaced.is_none() => system::name_file(&file, &self.path),
            Held::Unnamed(file) => {
                // A link never replaces a file, so there is a second name for a moment.
                let builder = &mut tempfile::Builder::new();
                let name = builder.prefix(PREFIX).suffix(SUFFIX);
                let linked =
                    name.make_in(parent_of(&self.path), |name| system::name_file(&file, name));
                let linked = linked.map_err(bare)?.into_temp_path();
                linked.persist(&self.path).map_err(|failed| failed.error)
            }
            Held::Named(file) if self.replaced.is_none() => {
                file.persist_noclobber(&self.path).map(drop).map_err(|failed| failed.error)
            }
            Held::Named(file) => file.persist(&self.path).map(drop).map_err(|failed| failed.error),
        }
    }
}

/// Removes what killed processes left in a folder, the first time that this process writes there: a
/// folder may get very many files.
fn clean(folder: &Path) {
    static CLEANED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    if CLEANED.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.into()) {
        remove_stale_files(folder, NewFile::is_temporary_name);
    }
}

/// The bytes of an open file, for tests that replay changes.
fn bytes_of(file: &File) -> Vec<u8> {
    let mut bytes = vec![0; file.metadata().map_or(0, |of| of.len() as usize)];
    // A file without a name may be open for writing alone; tests have those that are not.
    let _ = system::read_exact_at(file, &mut bytes, 0);
    bytes
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Write;

    use std::fs;

    use super::*;

    /// The second name of a file that replaces another one, of a killed process, of this one, and of
    /// somebody else who chose a name like it.
    #[test]
    fn second_names_of_killed_processes_are_removed_and_those_in_use_stay() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["out.tsv", ".fpstore-abc123.tmp", ".fpstore-notes.tmp", "fpstore-abc123.tmp"] {
            fs::write(at(name), name).unwrap();
        }
        let other = tempfile::tempdir_in(folder.path()).unwrap();
        let replaced = || Some(at("out.tsv").metadata().unwrap());
        // As in the moment in which it has its second name.
        let in_use = NewFile::create(other.path().join("out.tsv"), replaced()).unwrap();
        let Held::Unnamed(file) = &in_use.held else { panic!("{in_use:?}") };
        system::name_file(file, &at(".fpstore-use123.tmp")).unwrap();
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
