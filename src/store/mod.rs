//! The store, open for reading: a handle to a snapshot of its live segments.
//!
//! [`Store`] opens a directory, refreshes, and answers single queries; searchers, joins and
//! `verify` take their snapshot from it. `info` reports counts and lengths, `for_each` visits all
//! records in order and samples them for the planner, `log` compares several snapshots, `warm`
//! reads pages before queries, `stores` queries several stores together. `rows` defines the rows of
//! answers. Nothing here writes.

pub(crate) mod find;
mod for_each;
mod info;
pub(crate) mod log;
#[cfg(feature = "serde")]
pub mod rows;
pub mod state;
pub(crate) mod stores;
pub(crate) mod verify;
mod warm;

pub use info::{SectionInfo, SegmentInfo, StoreInfo, TableInfo};
pub(crate) use warm::warm_for_batch;
pub use warm::{Warm, Warmed};

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use crate::base::error::{Error, Result, check_distance};
use crate::base::steps::Counted;
use crate::format::manifest;
use crate::plan::Plan;
use crate::search::snapshot::{OpenSegment, Snapshot};
use crate::search::{Match, Searcher};
use crate::segment::access::Access;
use fpstore_base::{Fingerprint, Recipe, Width, setters};

/// A store, open for reading: a cheap handle that any number of threads can share.
///
/// It shows a snapshot: the store at the time of opening, or of the last [`Store::refresh`]. Its
/// clones show the same snapshot. Searchers and answers keep the snapshot with which they started.
/// Segments are mapped, not read: opening costs the same for a thousand and for a billion
/// fingerprints, and processes that open the same store share its memory. On a network file system
/// the segments are read into memory if they fit; see [`Access`](crate::Access) and
/// [`Store::with_options`].
///
/// # Soundness
///
/// A memory map is sound only while no program shortens or rewrites the mapped file. The protocol
/// of the store guarantees this: a segment is written once, under a name that is never reused, is
/// made read-only, and is only removed as a whole. A program that shortens a segment file while it
/// is mapped can end this process with SIGBUS; [`Access::Memory`](crate::Access) is immune. Changed
/// bytes are detected by checksums when they are first read.
#[derive(Clone, Debug)]
pub struct Store {
    current: Arc<RwLock<Arc<Snapshot>>>,
}

impl Store {
    /// Whether the directory `path` contains a store. Does not check that the store is sound.
    pub fn is_at(path: impl AsRef<Path>) -> bool {
        path.as_ref().join(manifest::FILE_NAME).is_file()
    }

    /// Opens the store in the directory `path`, with [`Access::Auto`](crate::Access).
    ///
    /// # Errors
    ///
    /// The same as [`Store::with_options`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Store::with_options(path, OpenOptions::default())
    }

    /// Opens the store in the directory `path` with the given options.
    ///
    /// Writes nothing, so the directory may be read-only, and waits for no lock. On systems with
    /// file locks it holds a shared lock on each segment file, up to 256 per process, so that a
    /// writer does not remove the file. A query for a page that is not in memory blocks its thread
    /// until the page is read.
    ///
    /// # Errors
    ///
    /// * [`Error::NoStore`] if the path does not exist, [`Error::NotAStore`] if it is not a store.
    /// * [`Error::Corrupt`], [`Error::UnsupportedVersion`] if the manifest, or the header or recipe
    ///   of a segment, is unusable.
    /// * [`Error::RecipeMismatch`] if two segments have different recipes.
    /// * [`Error::Io`] if a file cannot be read.
    /// * [`Error::InvalidOptions`] if the segments must be read into memory and exceed the memory
    ///   of the machine or of the control group.
    /// * [`Error::OtherGeneration`] if the store is not at the requested generation.
    pub fn with_options(path: impl AsRef<Path>, options: OpenOptions) -> Result<Self> {
        let snapshot = Snapshot::open(path.as_ref(), options.access)?;
        let Some(wanted) = options.generation else { return Ok(Store::of(snapshot)) };
        let store = Store::of(snapshot.fixed());
        store.expect_generation(wanted)?;
        Ok(store)
    }

    /// Opens a store through memory maps on any file system, because a writer has a memory
    /// limit.
    pub(crate) fn map(path: &Path) -> Result<Self> {
        Ok(Store::of(Snapshot::open(path, Access::Map)?))
    }

    pub(crate) fn of(snapshot: Snapshot) -> Self {
        Store::showing(Arc::new(snapshot))
    }

    fn showing(snapshot: Arc<Snapshot>) -> Self {
        Store { current: Arc::new(RwLock::new(snapshot)) }
    }

    /// A new handle that shows the current snapshot. A refresh of either handle does not change the
    /// other, so several calls can be answered from one snapshot.
    pub fn pinned(&self) -> Self {
        Store::showing(self.snapshot())
    }

    /// A single segment as a store, to be searched, joined or queried in batches without the other
    /// segments. `number` is a [`SegmentInfo::number`](crate::info::SegmentInfo::number).
    ///
    /// The result keeps the current snapshot; [`Store::refresh`] does not change it. The answers of
    /// all segments together contain every match of the store; a fingerprint in two segments is
    /// found in both, each time with the ids of that segment.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOptions`] if no live segment has that number.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use fpstore::Store;
    ///
    /// let store = Store::open("pages.fps")?;
    /// for segment in store.info().segments {
    ///     let matches = store.segment(segment.number)?.query(7.into(), 3)?;
    ///     println!("{}: {}", segment.label, matches.len());
    /// }
    /// # Ok::<(), fpstore::Error>(())
    /// ```
    pub fn segment(&self, number: u64) -> Result<Store> {
        let snapshot = self.snapshot();
        let numbers = || snapshot.segments().iter().map(|open| open.entry.number);
        match numbers().position(|of| of == number) {
            Some(at) => Ok(self.part(&[at])),
            None => {
                let known: Vec<String> = numbers().map(|of| of.to_string()).collect();
                let reason = format!(
                    "{} has no segment {number} at generation {}; existing segments: {}",
                    snapshot.path().display(),
                    snapshot.generation(),
                    if known.is_empty() { "none".into() } else { known.join(", ") }
                );
                Err(Error::InvalidOptions { reason })
            }
        }
    }

    /// A store with only the segments with one of these labels; the empty label selects segments
    /// without a label. Keeps the current snapshot: [`Store::refresh`] does not change the result.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOptions`] if one of the labels is the label of no live segment.
    pub fn with_labels<L: AsRef<str>>(&self, labels: &[L]) -> Result<Store> {
        let snapshot = self.snapshot();
        let all = || snapshot.segments().iter().map(|open| open.entry.label.as_str());
        let known: BTreeSet<Counted<&str>> = all().map(Counted).collect();
        let wanted = || labels.iter().map(|label| Counted(label.as_ref()));
        if let Some(Counted(unknown)) = wanted().find(|label| !known.contains(label)) {
            let known = known.iter().map(|label| label.0).filter(|label| !label.is_empty());
            let known: Vec<&str> = known.collect();
            let known = if known.is_empty() { "none".into() } else { known.join(", ") };
            let path = snapshot.title();
            let reason =
                format!("{path} has no segment with the label '{unknown}'; labels: {known}");
            return Err(Error::InvalidOptions { reason });
        }
        let wanted: BTreeSet<Counted<&str>> = wanted().collect();
        let is_wanted = |&(_, label): &(usize, &str)| wanted.contains(&Counted(label));
        let positions: Vec<usize> = all().enumerate().filter(is_wanted).map(|(at, _)| at).collect();
        Ok(self.part(&positions))
    }

    /// A store with only the segments at `positions` of the current snapshot. `refresh` does not
    /// change it.
    pub(crate) fn part(&self, positions: &[usize]) -> Store {
        Store::of(self.snapshot().part(positions))
    }

    /// The generation of the shown snapshot: the number of manifests that the store had until then.
    pub fn generation(&self) -> u64 {
        self.snapshot().generation()
    }

    /// Whether a run with this name has added to the store. The manifest keeps the last 1 024
    /// names; a build that replaces the store removes them.
    pub fn has_run(&self, name: &str) -> bool {
        self.snapshot().runs().iter().any(|run| run == name)
    }

    /// Makes this handle and its clones show the newest snapshot of the store. Returns whether the
    /// snapshot changed.
    ///
    /// Searchers and answers keep the snapshot with which they started; see [`Searcher::follow`].
    ///
    /// On local file systems of Linux, an unchanged manifest that is more than two seconds old
    /// costs one `stat`, about a microsecond. Otherwise the manifest is read, and after a change
    /// the new segments are opened. No change is missed: the manifest of the shown snapshot is kept
    /// open, so no other file can get its inode number, and a change of the file itself changes its
    /// length or its modification time.
    ///
    /// # Errors
    ///
    /// The same as [`Store::open`]. After an error the handle shows the old snapshot.
    ///
    /// # Examples
    ///
    #[cfg_attr(feature = "write", doc = "```")]
    #[cfg_attr(not(feature = "write"), doc = "```ignore")]
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
        self.refresh_after(|_| Ok(()))
    }

    /// Reads part of the store and verifies its checksums now instead of in the first query that
    /// needs them. Prefix indexes and heads come first. Mapped pages are read only as far as they
    /// fit in the free memory of the machine and of its control groups: more pages would displace
    /// the pages read first.
    ///
    /// The pages remain in memory as long as the system has memory for them. Pages that were not in
    /// memory are read as huge pages, if the system supports them for files (Linux with ext4, XFS
    /// or Btrfs). Queries are faster in huge pages, so call this before any other read of the
    /// store.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`](crate::Error::Corrupt) for the first damaged page.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// let store = fpstore::Store::open("pages.fps")?;
    /// let warmed = store.warm(fpstore::Warm::All)?;
    /// println!("{} pages are in memory and sound", warmed.pages);
    /// if warmed.left_out > 0 {
    ///     println!("{} pages exceed the memory", warmed.left_out);
    /// }
    /// # Ok::<(), fpstore::Error>(())
    /// ```
    pub fn warm(&self, what: Warm) -> Result<Warmed> {
        warm::warm_all(&self.snapshot(), what, warm::Pages::All)
    }

    /// Like [`Store::refresh`], but reads and verifies the pages of the new snapshot before it is
    /// shown. Meanwhile searches continue in the old snapshot, and no search waits for a new page.
    /// Verified sections that both snapshots share are not read again.
    ///
    /// # Errors
    ///
    /// The errors of [`Store::refresh`] and [`Store::warm`]. After an error the handle shows the
    /// old snapshot.
    pub fn refresh_warm(&self, what: Warm) -> Result<bool> {
        self.refresh_after(|next| warm::warm_all(next, what, warm::Pages::New).map(drop))
    }

    /// Makes this handle show the newest snapshot once `prepare` has succeeded on it.
    fn refresh_after(&self, prepare: impl FnOnce(&Snapshot) -> Result<()>) -> Result<bool> {
        let before = self.snapshot();
        let Some(next) = before.next()? else { return Ok(false) };
        prepare(&next)?;
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        // Keep the snapshot of another thread that has refreshed to a newer one meanwhile.
        if Arc::ptr_eq(&current, &before) || current.generation() < next.generation() {
            *current = Arc::new(next);
        }
        Ok(true)
    }

    /// Finds every stored fingerprint within `k` bits of `needle`, with ids.
    ///
    /// Matches are sorted nearest first, ties by ascending fingerprint, without duplicates. For
    /// many queries use a [`Searcher`], which does not allocate for each query.
    ///
    /// # Errors
    ///
    /// The same as [`Searcher::search`].
    ///
    /// # Examples
    ///
    #[cfg_attr(feature = "write", doc = "```")]
    #[cfg_attr(not(feature = "write"), doc = "```ignore")]
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

    /// A searcher for many queries; it belongs to one thread.
    pub fn searcher(&self) -> Searcher {
        Searcher::new(self.snapshot())
    }

    /// The distance for which the store is tuned: the minimum over its segments; 3 without
    /// segments.
    pub fn tuned_k(&self) -> u32 {
        self.snapshot().tuned_k()
    }

    /// The recipe of the fingerprints; `None` for a store without segments.
    pub fn recipe(&self) -> Option<Recipe> {
        self.snapshot().recipe()
    }

    /// The width of the fingerprints: 64 bits, or the width declared by [`Recipe::external_of`]. A
    /// search for a fingerprint with more bits is rejected.
    ///
    /// ```no_run
    /// let store = fpstore::Store::open("crc.fps")?;
    /// let answer = store.query(0xdead_beef.into(), 2)?;
    /// answer.iter().for_each(|found| println!("{}", store.width().hex(found.fingerprint)));
    /// # Ok::<(), fpstore::Error>(())
    /// ```
    pub fn width(&self) -> Width {
        self.snapshot().width()
    }

    /// The number of bytes of the sketch stored with each id; 0 without sketches.
    pub fn sketch_len(&self) -> u8 {
        self.snapshot().sketch_len()
    }

    /// The plan of each segment for distance `k`, in the order of the segments.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidDistance`] if `k` is above 64.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use fpstore::Store;
    /// use fpstore::plan::PlanPath;
    ///
    /// for plan in Store::open("pages.fps")?.plans(9)? {
    ///     match plan.path {
    ///         PlanPath::Probe { tables } => println!("probes {} tables", tables.len()),
    ///         PlanPath::Scan { .. } => println!("scans"),
    ///     }
    /// }
    /// # Ok::<(), fpstore::Error>(())
    /// ```
    pub fn plans(&self, k: u32) -> Result<Vec<Plan>> {
        check_distance(k)?;
        let plan = |open: &OpenSegment| Plan::new(open.plan(k), &open.segment.header().tables);
        Ok(self.snapshot().segments().iter().map(plan).collect())
    }

    /// The expected time in nanoseconds of a search within `k` bits if all pages are in memory: the
    /// sum over the segments. After the first call for a distance, a call costs a few nanoseconds
    /// per segment.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidDistance`] if `k` is above 64.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// let store = fpstore::Store::open("pages.fps")?;
    /// let cheap = (0..=64).take_while(|&k| store.expected_nanos(k).is_ok_and(|nanos| nanos < 1e5));
    /// println!("searches within {:?} bits take less than 100 us", cheap.last());
    /// # Ok::<(), fpstore::Error>(())
    /// ```
    pub fn expected_nanos(&self, k: u32) -> Result<f64> {
        check_distance(k)?;
        Ok(self.snapshot().segments().iter().map(|open| open.plan(k).expected_nanos).sum())
    }

    /// Counts and lengths of the store and its parts. Reads no table data.
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

impl Searcher {
    /// Switches the searcher to the current snapshot of a store, see [`Store::refresh`]. Costs as
    /// much as a clone of an `Arc`.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// let store = fpstore::Store::open("pages.fps")?;
    /// let mut searcher = store.searcher();
    /// for page in [7, 8, 9] {
    ///     store.refresh()?; // here or in one thread for all
    ///     searcher.follow(&store);
    ///     println!("{}", searcher.search(page.into(), 3)?.len());
    /// }
    /// # Ok::<(), fpstore::Error>(())
    /// ```
    pub fn follow(&mut self, store: &Store) {
        self.set_snapshot(store.snapshot());
    }
}

/// The options of [`Store::with_options`](crate::Store::with_options).
///
/// # Examples
///
/// ```no_run
/// use fpstore::{Access, OpenOptions, Store};
///
/// // For a server whose store is on a network disk.
/// let options = OpenOptions::default().access(Access::Memory);
/// let store = Store::with_options("/mnt/share/pages.fps", options)?;
/// # Ok::<(), fpstore::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    pub(crate) access: Access,
    pub(crate) generation: Option<u64>,
}

impl OpenOptions {
    setters! {
        /// Sets how segments are accessed, now and after each [refresh](crate::Store::refresh).
        access: Access,
        /// Rejects the store unless it is at this [generation](crate::Store::generation), so that
        /// all tasks of a job see the same snapshot. [`Store::refresh`](crate::Store::refresh) then
        /// changes nothing.
        ///
        /// A past generation cannot be opened. To keep reading a generation while the store
        /// changes, link its files with `export_linked`.
        generation: impl Into<Option<u64>>,
    }
}

#[cfg(all(test, feature = "write"))]
mod tests {
    use super::*;
    use crate::{Builder, Writer, WriterOptions};

    /// A thread that opens a snapshot slowly does not replace a newer snapshot with it.
    #[test]
    fn a_slow_refresh_does_not_bring_an_older_state_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.fps");
        let store = Builder::new(&path).unwrap().finish().unwrap();
        let add = |value: u64| {
            let options = WriterOptions::default().compact(false);
            let mut writer = Writer::with_options(&path, options).unwrap();
            writer.push(Fingerprint::new(value), value).unwrap();
            writer.commit().unwrap();
        };
        add(1);
        let refreshed = store.refresh_after(|slow| {
            add(2);
            assert!(store.refresh().unwrap());
            assert_eq!((slow.generation(), store.generation()), (2, 3));
            Ok(())
        });
        assert!(refreshed.unwrap());
        assert_eq!((store.generation(), store.info().fingerprint_count()), (3, 2));
        // A failed refresh leaves the snapshot unchanged.
        add(3);
        assert!(store.refresh_after(|_| Err(Error::Interrupted)).is_err());
        assert_eq!(store.generation(), 3);
        assert!(store.refresh().unwrap());
        assert_eq!(store.generation(), 4);
    }
}
