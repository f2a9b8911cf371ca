//! Backup: a folder that holds one state of a store, and takes only the files that it lacks.
//!
//! Files of a store never change and their names are never used again, so a file that is there with
//! the right digest is the right one. The manifest is written last, in one step: at any time the
//! folder is the store as it was at some generation, or no store yet. The program calls it; it never
//! changes the store that it copies.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::copied_state::{StateSource, copy_state};
use super::lasting_state::with_lasting_state;
use crate::base::error::{Error, Result};
use crate::base::setters::setters;
use crate::format::deletions;
use crate::format::manifest::Manifest;
use crate::search::snapshot::Snapshot;
use crate::store::Store;
use crate::writing::directory::Waiting;
use fpstore_base::watch::Observer;
use fpstore_disk::plain_file;

/// Makes the folder `to` hold the state of `store`: its segments, deletions, labels and runs, its id and
/// its generation. `to` is then a store like any other; it may be read at any time, also while the
/// next backup is made into it.
///
/// A file that is in the folder already is not copied again. Each copied segment is checked
/// completely, and durable before the manifest that names it. Files that the new manifest does not
/// name are removed, except those that a reader holds, so that the folder holds one state. What was
/// copied before an error stays, and the next call goes on.
///
/// `store` is one state, so others may add, delete and merge meanwhile; a later one is copied if they
/// remove a segment before that is. To restore a store, copy the folder while no backup is made into it.
///
/// # Errors
///
/// * [`Error::NotAStore`] if there is something else at `to`.
/// * [`Error::InvalidOptions`] if `to` holds another store, a later state of this one, or a state that
///   is not of its history, as after both were written to; if `to` is the store itself, or `store` a
///   part of one.
/// * [`Error::Locked`] if another process writes to `to`.
/// * [`Error::Corrupt`] if a segment of the store is damaged. `to` is then as before.
/// * [`Error::Io`] if the system refuses, [`Error::Interrupted`] if the observer ends the work: `to` is
///   as before; [`Error::InEffect`] and [`Error::InDoubt`] as for every change of a store.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("pages.fps");
/// # let mut builder = fpstore::Builder::new(&path)?;
/// # builder.push(7.into(), "a.html")?;
/// # builder.finish()?;
/// # let to = folder.path().join("backup.fps");
/// use fpstore::Store;
/// use fpstore::writer::{BackupOptions, backup};
///
/// let done = backup(&Store::open(&path)?, &to, &BackupOptions::default())?;
/// assert_eq!((done.is_new, done.copied), (true, 1));
/// let again = backup(&Store::open(&path)?, &to, &BackupOptions::default())?;
/// assert_eq!((again.is_new, again.copied, again.kept), (false, 0, 1));
/// assert_eq!(Store::open(&to)?.query(7.into(), 0)?.len(), 1);
/// # Ok(()) }
/// ```
pub fn backup(store: &Store, to: impl AsRef<Path>, options: &BackupOptions) -> Result<BackedUp> {
    let to = to.as_ref();
    with_lasting_state(store, |snapshot| {
        let manifest = snapshot.manifest();
        check_source(snapshot, manifest, to)?;
        copy_state(manifest.clone(), &**snapshot, to, options)
    })
}

/// Refuses a part of a store, and a copy of a store to itself.
fn check_source(snapshot: &Snapshot, manifest: &Manifest, to: &Path) -> Result<()> {
    let is_part = snapshot.segments().len() != manifest.segments.len() || snapshot.is_united();
    let is_same = || {
        let canonical = |path: &Path| path.canonicalize().ok();
        canonical(to).is_some_and(|to| canonical(snapshot.path()) == Some(to))
    };
    let reason = match (is_part, is_part || is_same()) {
        (true, _) => "a part of a store cannot be backed up, export it".into(),
        (_, true) => format!("{} is the store itself, name another folder", to.display()),
        (false, false) => return Ok(()),
    };
    Err(Error::InvalidOptions { reason })
}

impl StateSource for Snapshot {
    fn place(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    fn open(&self, name: &str, _: Option<u64>) -> io::Result<Box<dyn Read + '_>> {
        let deletions = self.segments().iter().find_map(|open| {
            let is_of =
                open.entry.deletions.is_some_and(|of| deletions::file_name(of.number) == name);
            open.deleted.as_ref().filter(|_| is_of).map(|of| of.encode(open.entry.digest))
        });
        match deletions {
            Some(bytes) => Ok(Box::new(io::Cursor::new(bytes))),
            None => Ok(Box::new(plain_file::open(&self.place(name))?)),
        }
    }
}

/// How a backup is made.
#[derive(Clone, Debug, Default)]
pub struct BackupOptions {
    pub(super) verify: bool,
    pub(super) max_rate: Option<u64>,
    pub(super) wait: Waiting,
    pub(super) observer: Option<Observer>,
}

impl BackupOptions {
    setters!(max_rate, wait, observer);

    /// Sets whether segments that are in the folder already are read and checked as a whole, and
    /// copied again if they are damaged. Copies are always checked when they are made.
    #[must_use]
    pub fn verify(self, verify: bool) -> Self {
        BackupOptions { verify, ..self }
    }
}

/// What [`backup`](super::backup) did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackedUp {
    /// The folder.
    pub path: PathBuf,
    /// The generation that it holds now.
    pub generation: u64,
    /// Whether it held another one before, or none.
    pub is_new: bool,
    /// Segments that were copied.
    pub copied: u64,
    /// Bytes of their files.
    pub copied_len: u64,
    /// Segments that were there already.
    pub kept: u64,
}
