//! The public writer: the lock, the options, the pending records.
//!
//! The other modules of this folder each add one kind of change to [`Writer`].

use std::path::PathBuf;

use crate::base::error::{Error, Result};
use crate::format::manifest::SegmentEntry;
use crate::segment::budget::MEMORY_MIN;
use crate::store::Store;
use crate::writing::builder::{BuildReport, RecordBuffer};
use crate::writing::directory::{
    Destination, OpenMode, StoreDirectory, Transaction, UncommittedSegment,
};
use crate::writing::labels::{check_label, check_names};
use crate::writing::sort::SortResources;
use crate::writing::writer::options::WriterOptions;
use crate::writing::writer::replace::Replacing;
use crate::writing::writer::scheme::scheme_for;
use fpstore_base::Recipe;

/// A writer to a store: it holds the writer lock for its whole life. A
/// [`Compactor`](crate::writer::Compactor) may merge segments at the same time.
///
/// # The life of a store
///
/// ```text
///                    build                                          Store::open
///                      |                                                 |
///                      v                                                 v
///   push        +-------------+  commit    +---------------+  names  +--------+
///  -------->    |   pending   |----------->| live segments |-------->| reader |--.
///               |  (memory,   |            |  (generation  |<--------| (one   |  | search: as
///               |   scratch)  |            |   n)          | refresh | state) |<-' long as it
///               +-------------+            +---------------+         +--------+    likes
///                      ^                     |    ^     |                |
///         error: lost  |              delete |    |     | compact,       | holds files
///                      |              single |    | new | expire         | it has open
///                      '- process dies     ids,   | file|                v
///                                     whole  |    |     |          +-----------+
///                                     finger-'----'     '--------->| orphaned  |
///                                     prints                       |   files   |
///                                                                  +-----------+
/// ```
///
/// Each change of the live segments is one new manifest, which replaces the old one in one step:
/// after a crash at any instant the store is in the state before or after the step. When a method
/// returns without an error, its changes are durable. Pushed records that are not committed are
/// lost with the writer.
///
/// Orphaned files are removed by this writer, or a later one, once no reader holds them.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("pages.fps");
/// # fpstore::Builder::new(&path)?.finish()?;
/// use fpstore::{IdRef, Writer, WriterOptions};
/// use fpstore::writer::{Compaction, Expiry};
///
/// let options = WriterOptions::default().label("2026-11");
/// let mut writer = Writer::with_options(&path, options)?;
/// writer.push(0xc0f1_789b_ed2e_b9b8.into(), "a.html")?;
/// writer.push(0xc0f1_789b_ed2e_b9b9.into(), "b.html")?;
/// writer.commit()?;
///
/// let deleted = writer.delete_ids([IdRef::Text("b.html")])?;
/// assert_eq!(deleted.found, 1);
/// writer.compact(&Compaction::All)?;
/// writer.expire(&Expiry::before("2026-10"))?;
/// let store = writer.finish()?;
/// assert_eq!(store.info().fingerprint_count(), 1);
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "nothing is written before commit"]
pub struct Writer {
    pub(super) directory: StoreDirectory,
    pub(super) options: WriterOptions,
    pub(super) recipe: Recipe,
    /// The resources of compaction; the record buffer may use as much memory again.
    pub(super) resources: SortResources,
    pub(super) pending: RecordBuffer,
    /// Pushed records that will replace older records, if replacement is enabled.
    pub(super) replacing: Option<Replacing>,
    pub(super) store: Store,
    /// The total length of the segment files written by this writer, in bytes.
    pub(super) written_len: u64,
}

impl Writer {
    /// A writer to the store in the directory `path`.
    ///
    /// # Errors
    ///
    /// The same as [`Writer::with_options`].
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        Writer::with_options(path, WriterOptions::default())
    }

    /// A writer with the given options. Removes files left by dead writers.
    ///
    /// # Errors
    ///
    /// * [`Error::NoStore`], [`Error::NotAStore`] if there is no store.
    /// * [`Error::Locked`] if another process, or another writer of this process, is writing to the
    ///   store and does not end within [`WriterOptions::wait`].
    /// * [`Error::RecipeMismatch`] if the fingerprints of the store have another recipe.
    /// * [`Error::InvalidOptions`] if the label or the run is invalid, if the labels of the store
    ///   are dates of one form and the label is not, or if the memory is too little for the
    ///   threads.
    /// * The errors of [`Store::open`].
    pub fn with_options(path: impl Into<PathBuf>, options: WriterOptions) -> Result<Self> {
        check_names(&options.label, options.run.as_deref())?;
        let path = path.into();
        let patience = options.patience();
        let directory =
            Destination::acquire(path.clone(), OpenMode::Change, patience)?.open(None)?;
        let store = Store::map(&path)?;
        check_label(&options.label, &store.snapshot())?;
        let recipe = match (store.recipe(), options.recipe.clone()) {
            (Some(store), Some(given)) if store != given => {
                return Err(Error::RecipeMismatch { store, given });
            }
            (Some(recipe), _) | (None, Some(recipe)) => recipe,
            (None, None) => Recipe::external(),
        };
        let mut resources = SortResources::of(&options.resources, || path)?;
        resources.memory = (resources.memory / 2).max(MEMORY_MIN);
        directory.collect_garbage();
        let pending = new_buffer(&options, &resources, &store, &recipe);
        let replacing = options.replace.then(Replacing::default);
        let written_len = 0;
        Ok(Writer { directory, options, recipe, resources, pending, replacing, store, written_len })
    }

    /// The label of new segments.
    pub fn label(&self) -> &str {
        &self.options.label
    }

    /// Sets the label of segments made from now on, including the segment of already pushed
    /// records.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOptions`] if the label is invalid, or if the labels of the store are dates
    /// of one form and the new label is not.
    pub fn set_label(&mut self, label: impl Into<String>) -> Result<()> {
        let label = label.into();
        check_names(&label, None)?;
        check_label(&label, &self.store.snapshot())?;
        self.options.label = label;
        Ok(())
    }

    /// The store with all commits so far: it and its clones are refreshed with each change.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The recipe of the fingerprints of the store.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// The number of bytes of segment files written by this writer.
    pub fn written_len(&self) -> u64 {
        self.written_len
    }

    /// Fails if the disk of the store is full or not writable: makes a file of a few pages durable
    /// and removes it.
    pub fn check_disk(&self) -> Result<()> {
        self.directory.new_segment()?.try_disk()
    }

    /// Writes a segment of the records, and counts its bytes.
    pub(super) fn write_segment(
        &mut self,
        records: RecordBuffer,
        label: &str,
    ) -> Result<(UncommittedSegment, BuildReport)> {
        let mut build = records.sort(|count| scheme_for(count, &self.options, &self.store))?;
        let segment = build.write(self.directory.new_segment()?, &self.recipe, label)?;
        self.written_len += segment.entry.file_len;
        Ok((segment, build.into_report()))
    }

    /// Makes `segments` the live segments, refreshes the store of this writer, removes orphaned
    /// files, and returns the generation.
    pub(super) fn commit_segments(
        &mut self,
        transaction: Transaction,
        segments: Vec<SegmentEntry>,
    ) -> Result<u64> {
        let generation = transaction.commit_to(&self.store, segments)?;
        self.directory.collect_garbage();
        Ok(generation)
    }
}

/// An empty buffer for records that a writer pushes.
pub(super) fn new_buffer(
    options: &WriterOptions,
    resources: &SortResources,
    store: &Store,
    recipe: &Recipe,
) -> RecordBuffer {
    let (sketch_len, observer) = (store.sketch_len().into(), options.resources.observer.clone());
    RecordBuffer::new(options.ids, sketch_len, resources, observer).of_width(recipe.width())
}
