//! The writer: the one who may change a store.

use std::path::{Path, PathBuf};

use crate::build::{
    BuildReport, Clock, Folder, FreshSegment, Gathering, InputEstimate, InputOptions, InputSummary,
    Publishing, Purpose, SegmentFile, Target, open_folder, share_out,
};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::manifest::{SegmentEntry, fault_of_label};
use crate::id::IdRef;
use crate::life::WriterOptions;
use crate::life::shape::{room_for, scheme_for};
use crate::recipe::Recipe;
use crate::sort::{MEMORY_MIN, Resources};
use crate::store::Store;
use crate::watch::Phase;

/// The one who may change a store, for as long as it lives: it holds the writer lock. Only a
/// [`Compactor`](crate::Compactor) may merge segments beside it.
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
///          error: gone |              delete |    |     | compact,       | holds files
///                      |              single |    | new | expire         | it has open
///                      '- process dies     ids,   | file|                v
///                                     whole  |    |     |          +-----------+
///                                     finger-'----'     '--------->|  retired  |--> removed by this writer,
///                                     prints                       |   files   |    or the next one, once
///                                                                  +-----------+    no reader holds them
/// ```
///
/// Each arrow into and out of the live segments is one new manifest, put in the place of the old one in one step: after a
/// crash at any instant the store is as it was before the step or after it. What a method returned from is
/// durable. What was pushed and not committed is gone with the writer.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("pages.fps");
/// # fpstore::Builder::new(&path)?.finish()?;
/// use fpstore::{Compaction, IdRef, Writer, WriterOptions};
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
/// writer.expire_before("2026-10")?;
/// let store = writer.finish()?;
/// assert_eq!(store.info().fingerprint_count(), 1);
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "nothing is written before commit"]
pub struct Writer {
    pub(super) folder: Folder,
    pub(super) options: WriterOptions,
    recipe: Recipe,
    /// For compaction; as much again is for what is pushed.
    pub(super) resources: Resources,
    pending: Gathering,
    pub(super) store: Store,
    /// Bytes of segments that this writer wrote.
    pub(super) written_len: u64,
}

/// What [`Writer::commit`] did.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Committed {
    /// How it went; without records nothing was written.
    pub report: BuildReport,
    /// The number of the new segment.
    pub segment: Option<u64>,
    /// How many manifests the store has had.
    pub generation: u64,
}

impl Writer {
    /// A writer to the store in the directory `path`.
    ///
    /// # Errors
    ///
    /// As [`Writer::with_options`].
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        Writer::with_options(path, WriterOptions::default())
    }

    /// A writer with options of your own. What writers left behind that died is removed.
    ///
    /// # Errors
    ///
    /// * [`Error::NoStore`], [`Error::NotAStore`] if there is no store.
    /// * [`Error::Locked`] if another process, or another writer of this one, is writing to it.
    /// * [`Error::RecipeMismatch`] if its fingerprints are made in another way than the options say.
    /// * [`Error::InvalidOptions`] if the label cannot be one, or the memory is too little for the threads.
    /// * Otherwise as [`Store::open`].
    pub fn with_options(path: impl Into<PathBuf>, options: WriterOptions) -> Result<Self> {
        if let Some(reason) = fault_of_label(&options.label) {
            return Err(Error::InvalidOptions { reason });
        }
        let path = path.into();
        let Target::Present { path, lock, .. } = Target::claim(path.clone(), Purpose::Change)?
        else {
            return Err(Error::NoStore { path });
        };
        let folder = open_folder(&path, Purpose::Change, lock)?;
        let store = Store::open(&path)?;
        let recipe = match (store.recipe(), options.recipe.clone()) {
            (Some(store), Some(given)) if store != given => {
                return Err(Error::RecipeMismatch { store, given });
            }
            (Some(recipe), _) | (None, Some(recipe)) => recipe,
            (None, None) => Recipe::external(),
        };
        let scratch = options.temp_dir.clone().unwrap_or_else(|| path.clone());
        std::fs::read_dir(&scratch).map_err(Error::io("put temporary files into", &scratch))?;
        let mut resources = share_out(options.memory, options.threads, scratch)?;
        resources.memory = (resources.memory / 2).max(MEMORY_MIN);
        folder.tidy();
        let pending = Gathering::new(options.ids, &resources, options.observer.clone());
        Ok(Writer { folder, options, recipe, resources, pending, store, written_len: 0 })
    }

    /// Takes a fingerprint with an id, as [`Builder::push`](crate::Builder::push) does. It is in the store once
    /// [`Writer::commit`] returned.
    ///
    /// # Errors
    ///
    /// As [`Builder::push`](crate::Builder::push).
    pub fn push<'a>(&mut self, fingerprint: Fingerprint, id: impl Into<IdRef<'a>>) -> Result<()> {
        self.pending.push(fingerprint, id.into())
    }

    /// Takes a fingerprint without an id.
    ///
    /// # Errors
    ///
    /// As [`Builder::push_bare`](crate::Builder::push_bare).
    pub fn push_bare(&mut self, fingerprint: Fingerprint) -> Result<()> {
        self.pending.push_bare(fingerprint)
    }

    /// Takes all records of an input, as [`Builder::read_and_show`](crate::Builder::read_and_show) does.
    ///
    /// # Errors
    ///
    /// As [`Builder::read`](crate::Builder::read).
    pub fn read_and_show(
        &mut self,
        path: &Path,
        options: &InputOptions,
        show: impl FnMut(Fingerprint),
    ) -> Result<InputSummary> {
        self.pending.read(path, options, show)
    }

    /// Says what will be pushed, as [`Builder::expect`](crate::Builder::expect) does.
    ///
    /// # Errors
    ///
    /// [`Error::NoSpace`] if a disk is too full.
    pub fn expect(&mut self, input: &InputEstimate, check_space: bool) -> Result<()> {
        self.pending.expect(input.record_count);
        if check_space {
            room_for(input, &self.options, &self.resources, &self.store)
        } else {
            Ok(())
        }
    }

    /// What new segments are called.
    pub fn label(&self) -> &str {
        &self.options.label
    }

    /// Records pushed since the last commit.
    pub fn pending_count(&self) -> u64 {
        self.pending.count()
    }

    /// The store as it is, committed: it and its clones are refreshed with each change.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// How the fingerprints of the store are made.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// Adds what was pushed as one segment: once this returns, all of it is durable and visible to readers
    /// that open the store, or refresh it. Without records nothing changes.
    ///
    /// Merges segments first if [`WriterOptions::compact`] says so and some are due.
    ///
    /// # Errors
    ///
    /// * [`Error::TooLarge`] past a limit of the format.
    /// * [`Error::Io`] if the system refuses, [`Error::Interrupted`] if the observer says so.
    ///
    /// The store is then as it was, and what was pushed is forgotten if the error came after compaction; only if a last sync
    /// failed may it be there.
    pub fn commit(&mut self) -> Result<Committed> {
        if self.pending.count() == 0 {
            let generation = self.store.generation();
            return Ok(Committed { generation, ..Committed::default() });
        }
        if self.options.compact {
            self.compact_due()?;
        }
        let observer = self.options.observer.clone();
        let next = Gathering::new(self.options.ids, &self.resources, observer);
        let pending = std::mem::replace(&mut self.pending, next);
        let record_count = pending.count();
        let mut clock = Clock::start();
        let scheme = |count| scheme_for(count, &self.options, &self.store);
        let assembly = pending.assemble(scheme, &mut clock)?;
        let label = self.options.label.clone();
        let recipe = self.recipe.clone();
        let fresh = self.write_segment(&label, |file| assembly.write(file, &recipe, &mut clock))?;
        let (number, generation) = self.publish(|publishing| {
            let entry = publishing.name_segment(fresh)?;
            let number = entry.number;
            let mut segments = publishing.segments().to_vec();
            segments.push(entry);
            Ok((segments, number))
        })?;
        clock.ended(Phase::Publish);
        let mut report = clock.report;
        report.record_count = record_count;
        report.fingerprint_count = assembly.fingerprint_count();
        report.temporary_len = self.resources.folder.most_held();
        Ok(Committed { report, segment: Some(number), generation })
    }

    /// Commits what is pushed, and merges what is due if [`WriterOptions::compact`] says so: also as many of
    /// the youngest segments as takes no more than half of what this writer has written. Gives the store.
    ///
    /// # Errors
    ///
    /// As [`Writer::commit`].
    pub fn finish(mut self) -> Result<Store> {
        self.commit()?;
        if self.options.compact {
            self.compact_due()?;
            self.settle()?;
        }
        Ok(self.store.clone())
    }

    /// Bytes of segment files that this writer wrote so far.
    pub fn written_len(&self) -> u64 {
        self.written_len
    }

    pub(super) fn write_segment(
        &mut self,
        label: &str,
        write: impl FnOnce(&mut SegmentFile) -> Result<()>,
    ) -> Result<FreshSegment> {
        let fresh = self.folder.write_segment(label, write)?;
        self.written_len += fresh.entry.file_len;
        Ok(fresh)
    }

    /// Has `change` name the live segments that there are to be, publishes them, and gives what it gave, with the
    /// generation.
    pub(super) fn publish<T>(
        &mut self,
        change: impl FnOnce(&mut Publishing) -> Result<(Vec<SegmentEntry>, T)>,
    ) -> Result<(T, u64)> {
        let mut publishing = self.folder.publish(|| Ok(()))?;
        let (segments, done) = change(&mut publishing)?;
        Ok((done, self.commit_to(publishing, segments)?))
    }

    /// Makes these the live segments, shows them to the readers of this process, and removes what is left over.
    pub(super) fn commit_to(
        &mut self,
        publishing: Publishing,
        segments: Vec<SegmentEntry>,
    ) -> Result<u64> {
        let published = publishing.commit(segments);
        // Even if the last sync failed, this is what readers see.
        let refreshed = self.store.refresh();
        let generation = published?;
        refreshed?;
        self.folder.tidy();
        Ok(generation)
    }

    /// What came from elsewhere to a store without segments brings its recipe.
    pub(super) fn note_recipe(&mut self, recipe: Option<Recipe>) {
        if let Some(recipe) = recipe {
            self.recipe = recipe;
        }
    }
}
