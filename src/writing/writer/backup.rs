//! Backup: a folder with one snapshot of a store, updated by copying only missing files.
//!
//! Files of a store never change and their names are never reused, so an existing file with the
//! right digest is up to date. The manifest is written last, in one step: at any time the folder is
//! the store at some generation, or not yet a store. The copied store is never changed.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::copied_state::{BackedUp, BackupOptions, StateSource, copy_state};
use super::lasting_state::with_lasting_state;
use crate::base::error::{Error, Result};
use crate::format::deletions;
use crate::format::manifest::Manifest;
use crate::search::snapshot::Snapshot;
use crate::store::Store;
use fpstore_disk::plain_file;

/// Updates the folder `to` to the snapshot in `store`: its segments, deletions, labels and runs,
/// its id and its generation. `to` is then an ordinary store, which can be read at any time, even
/// during the next backup into it.
///
/// A file that is already in the folder is not copied again. Each copied segment is fully checked,
/// and is durable before the manifest lists it. Files that the new manifest does not list are
/// removed, except files held by a reader, so that the folder contains one snapshot. Files copied
/// before an error are kept, and the next call continues.
///
/// The copied snapshot is fixed, so other processes may add, delete and merge meanwhile; if they
/// remove a segment before it is copied, a later snapshot is copied. To restore a store, copy the
/// folder while no backup into it is running.
///
/// # Errors
///
/// * [`Error::NotAStore`] if `to` is neither missing nor a store.
/// * [`Error::InvalidOptions`] if `to` contains another store, a later snapshot of `store`, or a
///   snapshot that is not in the history of `store` because both were changed; if `to` is the store
///   itself, or `store` is a part of a store.
/// * [`Error::Locked`] if another process writes to `to`.
/// * [`Error::Corrupt`] if a segment of the store is damaged. `to` is then unchanged.
/// * [`Error::Io`] if a file operation fails, [`Error::Interrupted`] if the observer ends the work:
///   `to` is unchanged; [`Error::InEffect`] and [`Error::InDoubt`] as for every change of a store.
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

/// Rejects a part of a store, and a copy of a store to itself.
fn check_source(snapshot: &Snapshot, manifest: &Manifest, to: &Path) -> Result<()> {
    let is_part = snapshot.segments().len() != manifest.segments.len() || snapshot.is_united();
    let is_same = || {
        let canonical = |path: &Path| path.canonicalize().ok();
        canonical(to).is_some_and(|to| canonical(snapshot.path()) == Some(to))
    };
    let reason = match (is_part, is_part || is_same()) {
        (true, _) => {
            "only a whole store can be backed up; export copies some of its segments".into()
        }
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
