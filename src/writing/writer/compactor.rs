//! The compactor: merges segments while a writer may be active.

use std::path::PathBuf;
use std::time::Duration;

use crate::base::error::Result;
use crate::store::Store;
use crate::writing::directory::{StoreDirectory, lock_compaction, refuse_follower};
use crate::writing::sort::SortResources;
use crate::writing::writer::compact::compact;
use crate::writing::writer::merge::Merger;
use crate::writing::writer::{Compacted, Compaction, WriterOptions};

/// The minimum wait for the compaction lock, because writers can hold it for a short time.
const PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 0 } else { 5 });

/// A compactor of a store: it merges segments while a writer adds and deletes.
///
/// Compaction does not take the writer lock. It reads segments, which never change, and writes a
/// new file; only its short transactions prevent others from publishing. Records that are deleted
/// from the merged segments meanwhile are deleted from the new segment before it is published; if
/// one of the merged segments was removed, the compactor starts again with the others. Only one
/// compactor can run at a time, and while it exists, a [`Writer`](crate::Writer) does not merge.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("pages.fps");
/// # fpstore::Builder::new(&path)?.finish()?;
/// # fpstore::Builder::append(&path, fpstore::BuildOptions::default())?.finish()?;
/// use fpstore::Writer;
/// use fpstore::writer::{Compaction, Compactor};
///
/// let mut writer = Writer::open(&path)?;
/// writer.push(7.into(), "a.html")?;
/// let done = Compactor::open(&path)?.compact(&Compaction::One)?;
/// assert_eq!((done.merged, done.made), (2, 1));
/// writer.commit()?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Compactor {
    directory: StoreDirectory,
    options: WriterOptions,
    resources: SortResources,
    store: Store,
}

impl Compactor {
    /// A compactor of the store in the directory `path`.
    ///
    /// # Errors
    ///
    /// The same as [`Compactor::with_options`].
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        Compactor::with_options(path, WriterOptions::default())
    }

    /// A compactor with the given options; options for new records are ignored. Removes unfinished
    /// files of dead compactors.
    ///
    /// # Errors
    ///
    /// * [`Error::Compacting`](crate::Error::Compacting) if another process, or another compactor
    ///   or writer of this process, is merging segments and does not end within some seconds, or
    ///   within [`WriterOptions::wait`](crate::WriterOptions::wait) if that is longer.
    /// * [`Error::InvalidOptions`](crate::Error::InvalidOptions) if the memory is too little for
    ///   the threads.
    /// * The errors of [`Store::open`].
    pub fn with_options(path: impl Into<PathBuf>, options: WriterOptions) -> Result<Self> {
        let path = path.into();
        let store = Store::map(&path)?;
        let patience = options.patience();
        let lock = lock_compaction(&path, &patience.at_least(PATIENCE))?;
        refuse_follower(&path)?;
        let directory = StoreDirectory::for_compactor(&path, lock, patience)?;
        let resources = SortResources::of(&options.resources, || path)?;
        store.refresh()?;
        Ok(Compactor { directory, options, resources, store })
    }

    /// Like [`Writer::compact`](crate::Writer::compact), but a writer may add and delete meanwhile.
    /// Segments that are added meanwhile are ignored.
    ///
    /// # Errors
    ///
    /// The same as [`Writer::compact`](crate::Writer::compact).
    pub fn compact(&mut self, what: &Compaction) -> Result<Compacted> {
        let Some(recipe) = self.store.recipe() else { return Ok(Compacted::default()) };
        let (directory, store) = (&self.directory, &self.store);
        let (options, resources) = (&self.options, &self.resources);
        compact(what, &mut Merger::new(directory, store, options, resources, &recipe))
    }

    /// The current store: it and its clones are refreshed with each merge.
    pub fn store(&self) -> &Store {
        &self.store
    }
}
