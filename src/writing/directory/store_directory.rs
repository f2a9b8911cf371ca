//! The directory of a store whose lock this process holds.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::base::error::{Error, IoError, Result};
use crate::base::steps::Counted;
use crate::format::manifest::{self, Manifest, NUMBER_MAX, StoreId, segment_number};
use crate::search::snapshot::read_manifest;
use crate::store::Store;
use crate::writing::directory::Transaction;
use crate::writing::directory::lock::{
    COMPACTION_LOCK, LockOwner, Patience, StoreLock, is_unfinished, lock_compaction,
    lock_publication, number_of, try_lock_publication,
};
use crate::writing::directory::staging::Staging;
use crate::writing::directory::uncommitted::{SegmentFile, UncommittedSegment};
use fpstore_disk::{
    TemporaryFile, is_temporary_name, names_in, plain_file, remove_file, sync_directory, sync_file,
};

/// The minimum time for which a writer waits for the publication lock. A compactor holds the lock
/// for an instant, unless its process is stopped in that instant.
const WRITER_PATIENCE: Duration = Duration::from_secs(60);
/// The minimum time for which a compactor waits for the publication lock. A deletion holds the lock
/// during a pass over the store, and waiting costs less than repeating the merge. The time is
/// limited, because a stopped process may never release the lock.
const COMPACTOR_PATIENCE: Duration = Duration::from_secs(3600);

/// The directory of a store, open for changes.
#[derive(Debug)]
pub(crate) struct StoreDirectory {
    path: PathBuf,
    owner: LockOwner,
    /// The id of the existing store to be changed; `None` for a new store.
    store_id: Option<StoreId>,
    /// The id of a new store, which the next manifest creates; `None` to change the existing store.
    new_store: Option<StoreId>,
    patience: Patience,
    /// A new directory that is not at its final path yet: no other process publishes in it.
    staging: Option<Staging>,
    // Fields are dropped in order, so the locks are released last.
    lock: StoreLock,
    _reservation: Option<StoreLock>,
}

impl StoreDirectory {
    /// The directory at `path`, whose writer lock is `lock`. With `new_store` the next manifest
    /// replaces the existing store, if any, by a new one with that id. Removes unfinished files of
    /// dead processes.
    ///
    /// Makes the existing manifest durable: its writer may have died or failed between the rename
    /// and the last sync. After that, files that it does not list can be removed safely, and a
    /// power loss cannot change the answers.
    pub(super) fn for_writer(
        path: &Path,
        lock: StoreLock,
        new_store: Option<StoreId>,
        patience: Patience,
    ) -> Result<Self> {
        StoreDirectory::open(path, LockOwner::Writer, lock, new_store, patience)
    }

    /// The directory at `path`, whose compaction lock is `lock`. Removes unfinished files of dead
    /// compactors.
    pub(crate) fn for_compactor(path: &Path, lock: StoreLock, patience: Patience) -> Result<Self> {
        StoreDirectory::open(path, LockOwner::Compactor, lock, None, patience)
    }

    fn open(
        path: &Path,
        owner: LockOwner,
        lock: StoreLock,
        new_store: Option<StoreId>,
        patience: Patience,
    ) -> Result<Self> {
        let names = names_in(path)?;
        let is_compactors =
            |name: &String| is_temporary_name(name, LockOwner::Compactor.temporary_prefix());
        // If this process holds a lock or can take it, all earlier holders have ended, so their
        // unfinished files are abandoned. Releasing the compaction lock also removes the lock file.
        let is_of_compactor = |name: &String| name == COMPACTION_LOCK || is_compactors(name);
        let compaction = match owner {
            LockOwner::Writer if names.iter().any(is_of_compactor) => {
                lock_compaction(path, &Patience::default()).ok()
            }
            _ => None,
        };
        let is_abandoned = |name: &&String| {
            if is_compactors(name) {
                owner == LockOwner::Compactor || compaction.is_some()
            } else {
                owner == LockOwner::Writer && is_unfinished(name)
            }
        };
        for name in names.iter().filter(is_abandoned) {
            let _ = remove_file(&path.join(name));
        }
        let store_id = match new_store {
            Some(_) => None,
            None => Some(read_manifest(path)?.store_id),
        };
        if owner == LockOwner::Writer && new_store.is_none() {
            sync_file(&path.join(manifest::FILE_NAME))?;
            sync_directory(path)?;
        }
        let path = path.into();
        let (staging, _reservation) = (None, None);
        Ok(StoreDirectory {
            path,
            owner,
            store_id,
            new_store,
            patience,
            staging,
            lock,
            _reservation,
        })
    }

    /// A new directory next to `path`, which [`StoreDirectory::finish`] moves to `path`.
    /// `reservation` is the lock on the name of the future store.
    pub(crate) fn stage(
        path: &Path,
        store_id: StoreId,
        reservation: Option<StoreLock>,
    ) -> Result<Self> {
        let (staging, lock) = Staging::create(path)?;
        Ok(StoreDirectory {
            path: lock.directory().into(),
            owner: LockOwner::Writer,
            store_id: None,
            new_store: Some(store_id),
            patience: Patience::default(),
            staging: Some(staging),
            lock,
            _reservation: reservation,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Fails if the directory at the path was removed or replaced: then this process does not hold
    /// the lock of the present directory.
    fn check_place(&self) -> Result<()> {
        match self.lock.is_in_place() {
            true => Ok(()),
            false => Err(Error::Replaced { path: self.path.clone() }),
        }
    }

    /// A new segment file, to be written, finished, and added to a transaction.
    pub(crate) fn new_segment(&self) -> Result<SegmentFile> {
        self.check_place()?;
        let file = TemporaryFile::create_in_store(&self.path, self.owner.temporary_prefix())?;
        Ok(SegmentFile::of(file, &self.path))
    }

    /// Hard-links the segment file at `from` into the directory, to be added to a transaction.
    /// Nothing is copied, and `from` is kept. Fails if the system cannot link files between the two
    /// directories.
    pub(crate) fn link_segment(&self, from: &Path, label: &str) -> Result<UncommittedSegment> {
        let file = TemporaryFile::link(&self.path, self.owner.temporary_prefix(), from)
            .map_err(Error::io("link", from))?;
        SegmentFile::of(file, &self.path).finish(label)
    }

    /// Writes a deletion file at `path` durably. A file there must be damaged or listed in no
    /// manifest, because it is replaced.
    pub(crate) fn write_deletions(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        self.check_place()?;
        let mut file = TemporaryFile::create_in_store(&self.path, self.owner.temporary_prefix())?;
        file.write_all(bytes).map_err(Error::io("write a file in", &self.path))?;
        file.protect_and_sync()?;
        file.rename_over(path).map_err(Error::io("move the new file to", path))
    }

    /// Begins a transaction: no other process publishes until it ends. Write segments before the
    /// call, to keep the transaction short. Waits while another process publishes; the observer of
    /// the directory can end the wait.
    ///
    /// Fails with [`Error::Replaced`] if the directory, or the store in it, was replaced since it
    /// was opened.
    pub(crate) fn begin(&self) -> Result<Transaction> {
        self.check_place()?;
        let least = match self.owner {
            LockOwner::Writer => WRITER_PATIENCE,
            LockOwner::Compactor => COMPACTOR_PATIENCE,
        };
        let lock = match self.staging {
            None => Some(lock_publication(&self.path, &self.patience.at_least(least))?),
            Some(_) => None,
        };
        let lock = lock.transpose().map_err(|process| match self.owner {
            LockOwner::Writer => Error::Compacting { path: self.path.clone(), process },
            LockOwner::Compactor => Error::Locked { path: self.path.clone(), process },
        })?;
        self.check_place()?;
        let names = names_in(&self.path)?;
        let mut manifest = self.manifest(&names)?;
        if self.store_id.is_some_and(|id| id != manifest.store_id) {
            return Err(Error::Replaced { path: self.path.clone() });
        }
        // Do not reuse the numbers of files that a dead writer left and no manifest lists.
        let numbers = names.iter().filter_map(|name| number_of(name));
        let after_last = numbers.filter(|&number| number < NUMBER_MAX).max().map_or(1, |n| n + 1);
        manifest.next_number = manifest.next_number.max(after_last);
        Ok(Transaction::new(&self.path, self.owner, manifest, lock))
    }

    /// The manifest that a transaction replaces: the current one, or an empty one for a new store.
    fn manifest(&self, names: &[String]) -> Result<Manifest> {
        let read = read_manifest(&self.path);
        let Some(store_id) = self.new_store else { return read };
        // A store to be replaced may be damaged. Only its generation and its file numbers are
        // needed.
        let (generation, next_number) = match read {
            Ok(old) => (old.generation, old.next_number),
            Err(_) => {
                let numbers = names.iter().filter_map(|name| segment_number(name));
                (numbers.filter(|&number| number < NUMBER_MAX).max().unwrap_or(0), 1)
            }
        };
        let (segments, runs) = (Vec::new(), Vec::new());
        Ok(Manifest { store_id, generation, next_number, segments, runs })
    }

    /// Ends the changes and opens the store: moves a new directory to its path, and removes
    /// orphaned files from an existing directory. `generation` is the generation of the last
    /// change.
    ///
    /// An error is [`Error::InEffect`], unless a new directory could not be moved.
    pub(crate) fn finish(mut self, generation: u64) -> Result<Store> {
        let staging = self.staging.take();
        let is_new = staging.is_some();
        if let Some(staging) = staging {
            self.path = staging.move_into_place(&mut self.lock, generation)?;
        }
        let store = Store::map(&self.path).map_err(Error::in_effect(generation))?;
        if !is_new {
            self.collect_garbage();
        }
        Ok(store)
    }

    /// Removes orphaned files: segment and deletion files that the manifest does not list. Files
    /// held by a reader are kept for a later collection; all files are kept while another process
    /// publishes.
    pub(crate) fn collect_garbage(&self) {
        // Needs the publication lock: a new file has its final name before the manifest lists it.
        let lock = self.staging.is_none().then(|| try_lock_publication(&self.path));
        if matches!(lock, Some(None)) {
            return;
        }
        let (Ok(manifest), Ok(names)) = (read_manifest(&self.path), names_in(&self.path)) else {
            return;
        };
        let live: BTreeSet<Counted<u64>> = manifest
            .segments
            .iter()
            .flat_map(|entry| [Some(entry.number), entry.deletions.map(|of| of.number)])
            .flatten()
            .map(Counted)
            .collect();
        for name in names {
            if number_of(&name).is_some_and(|number| !live.contains(&Counted(number))) {
                unlink_unless_held(&self.path.join(name));
            }
        }
    }
}

impl Drop for StoreDirectory {
    fn drop(&mut self) {
        if self.staging.is_some() {
            self.lock.prepare_to_move();
        }
    }
}

/// Removes a file unless a reader holds a lock on it.
fn unlink_unless_held(path: &Path) {
    // If the file system has no locks, removing the file is safe: the system keeps a mapped file
    // until it is unmapped. Special files, such as pipes and links, are not opened, which might
    // wait for ever.
    let held = plain_file::open_unlinked(path).ok().map(|file| (file.try_lock(), file));
    if !matches!(held, Some((Err(fs::TryLockError::WouldBlock), _))) {
        let _ = remove_file(path);
    }
}

/// Draws the id of a new store.
pub(crate) fn random_store_id() -> Result<StoreId> {
    let mut id = StoreId::default();
    // All zeros is not a valid id.
    while id == StoreId::default() {
        getrandom::fill(&mut id).map_err(|failed| {
            Error::Io(IoError {
                doing: "draw a store id from",
                path: "the random numbers of the system".into(),
                source: failed.into(),
            })
        })?;
    }
    Ok(id)
}
