//! The store: a directory with a manifest that names the live segments.

mod info;
mod live;
mod open;
mod warm;

pub use info::{SectionInfo, SegmentInfo, StoreInfo, TableInfo};
pub(crate) use live::{LiveIds, OpenSegment};
#[cfg(feature = "build")]
pub(crate) use open::read_manifest;
pub(crate) use open::{Snapshot, parse_manifest, read_manifest_bytes};
pub use warm::Warm;

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::recipe::Recipe;
use crate::search::{Match, Plan, Searcher};

/// A store, open for reading: a cheap handle that any number of threads can share.
///
/// It shows the state of the store at the time it was opened, or at the last [`Store::refresh`]; its clones
/// show the same. What is under way keeps the state it began with. Segments are mapped, not read:
/// opening costs the same for a thousand and for a billion fingerprints, and processes that
/// open the same store share its memory.
///
/// # Soundness
///
/// A memory map is sound only while nobody shortens or rewrites the mapped file. The store's
/// own protocol keeps that: segments are written once under names never used again, made
/// read-only, and only ever removed whole. A program that cuts a segment file short while it
/// is open can end this process with SIGBUS; changed bytes are found by checksums where they
/// are read for the first time.
#[derive(Clone, Debug)]
pub struct Store {
    current: Arc<RwLock<Arc<Snapshot>>>,
}

impl Store {
    /// Opens the store in the directory `path`.
    ///
    /// Writes nothing, so a read-only directory will do, and waits for no lock. Where the system has such locks, it holds a shared one on
    /// each segment file, up to 256 in a process, so that a writer leaves the file where it is. A cold page that a query needs blocks its
    /// thread until it is read.
    ///
    /// # Errors
    ///
    /// * [`Error::NoStore`], [`Error::NotAStore`] if there is nothing, or something else.
    /// * [`Error::Corrupt`], [`Error::UnsupportedVersion`] if manifest, header or recipe of a
    ///   segment cannot be used.
    /// * [`Error::RecipeMismatch`] if two segments hold fingerprints made in different ways.
    /// * [`Error::Io`] if the system refuses.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Ok(Store::of(Snapshot::open(path.as_ref())?))
    }

    pub(crate) fn of(snapshot: Snapshot) -> Self {
        Store::showing(Arc::new(snapshot))
    }

    fn showing(snapshot: Arc<Snapshot>) -> Self {
        Store { current: Arc::new(RwLock::new(snapshot)) }
    }

    /// A store of its own that keeps showing what this one shows now.
    #[cfg(feature = "build")]
    pub(crate) fn pinned(&self) -> Self {
        Store::showing(self.snapshot())
    }

    /// How many manifests the store had had when it was in the state that is shown.
    pub fn generation(&self) -> u64 {
        self.snapshot().generation()
    }

    /// Shows the newest state of the store from now on, to all clones of this handle, and says whether that is
    /// another one than before.
    ///
    /// Searchers, answers and whatever else is under way keep the state they began with; see
    /// [`Searcher::follow`]. Costs one look at the manifest, a few microseconds, where nothing changed;
    /// else the segments that are new are opened.
    ///
    /// # Errors
    ///
    /// As [`Store::open`]. The state that was shown is shown still.
    ///
    /// # Examples
    ///
    #[cfg_attr(feature = "build", doc = "```")]
    #[cfg_attr(not(feature = "build"), doc = "```ignore")]
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("news.fps");
    /// # fpstore::Builder::new(&path)?.finish()?;
    /// use fpstore::{Store, Writer};
    ///
    /// let store = Store::open(&path)?;
    /// let mut writer = Writer::open(&path)?;
    /// writer.push(7.into(), "a.html")?;
    /// writer.commit()?;
    /// assert!(store.query(7.into(), 3)?.is_empty());
    /// assert!(store.refresh()?);
    /// assert_eq!(store.query(7.into(), 3)?.len(), 1);
    /// # Ok(()) }
    /// ```
    pub fn refresh(&self) -> Result<bool> {
        let before = self.snapshot();
        let Some(next) = before.next()? else { return Ok(false) };
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have been faster, and what it found may be newer.
        if Arc::ptr_eq(&current, &before) || current.generation() < next.generation() {
            *current = Arc::new(next);
        }
        Ok(true)
    }

    /// Finds every stored fingerprint within `k` bits of `needle`, with ids.
    ///
    /// Matches come nearest first, ties by ascending fingerprint, each once. An empty vector
    /// means there is none. A [`Searcher`] does the same without allocating for each query.
    ///
    /// # Errors
    ///
    /// As [`Searcher::search`].
    ///
    /// # Examples
    ///
    #[cfg_attr(feature = "build", doc = "```")]
    #[cfg_attr(not(feature = "build"), doc = "```ignore")]
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use fpstore::{Builder, Fingerprint};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let mut builder = Builder::new(folder.path().join("news.fps"))?;
    /// builder.push(Fingerprint::new(0x0123_4567_89ab_cdef), "a.html")?;
    /// let store = builder.finish()?;
    ///
    /// // Bits 0 and 40 differ.
    /// let hits = store.query(Fingerprint::new(0x0123_4467_89ab_cdee), 3)?;
    /// assert_eq!(hits[0].distance, 2);
    /// assert_eq!(hits[0].ids[0].to_string(), "a.html");
    /// # Ok(()) }
    /// ```
    pub fn query(&self, needle: Fingerprint, k: u32) -> Result<Vec<Match>> {
        self.searcher().search(needle, k)?.to_matches()
    }

    /// A searcher for one thread.
    pub fn searcher(&self) -> Searcher {
        Searcher::new(self.snapshot())
    }

    /// The distance that the store is tuned for: the least of its segments', 3 without any.
    pub fn tuned_k(&self) -> u32 {
        let snapshot = self.snapshot();
        let tuned = snapshot.segments().iter().map(|open| open.segment.header().tuned_k);
        tuned.min().unwrap_or(3)
    }

    /// How the fingerprints were made; `None` for a store without segments.
    pub fn recipe(&self) -> Option<Recipe> {
        self.snapshot().segments().first().map(|open| open.segment.recipe().clone())
    }

    /// How each segment answers distance `k`, in the order of the segments.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidDistance`] if `k` is above 64.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use fpstore::{Plan, Store};
    ///
    /// for plan in Store::open("pages.fps")?.plans(9)? {
    ///     match plan {
    ///         Plan::Probe { tables, .. } => println!("probes {} tables", tables.len()),
    ///         other => println!("{other:?}"),
    ///     }
    /// }
    /// # Ok::<(), fpstore::Error>(())
    /// ```
    pub fn plans(&self, k: u32) -> Result<Vec<Plan>> {
        if k > 64 {
            return Err(Error::InvalidDistance { k });
        }
        let plan = |open: &OpenSegment| Plan::new(open.choice(k), &open.segment.header().tables);
        Ok(self.snapshot().segments().iter().map(plan).collect())
    }

    /// Counts and lengths; reads no table data.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// let info = fpstore::Store::open("pages.fps")?.info();
    /// println!("{} fingerprints in {} bytes", info.fingerprint_count(), info.file_len());
    /// # Ok::<(), fpstore::Error>(())
    /// ```
    pub fn info(&self) -> StoreInfo {
        StoreInfo::of(&self.snapshot())
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }
}
