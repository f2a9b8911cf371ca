//! The writer: the one who may change a store.

use std::path::{Path, PathBuf};

use crate::build::{
    BuildOptions, BuildReport, Clock, Folder, Fresh, Gathering, InputEstimate, InputOptions,
    InputSummary, Purpose, SchemeChoice, SegmentFile, Target, check_space_for, open_folder,
    share_out,
};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::manifest::{SegmentEntry, fault_of_label};
use crate::id::IdRef;
use crate::life::WriterOptions;
use crate::planner::Budget;
use crate::recipe::Recipe;
use crate::scheme::{Scheme, UnitCosts};
use crate::sort::{MEMORY_MIN, Resources};
use crate::store::Store;
use crate::watch::Phase;

/// A segment is planned anew if it has more than so many times the fingerprints of the largest one.
const GROWTH_MAX: u64 = 2;

/// The one who may change a store, for as long as it lives: it holds the writer lock.
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
        if check_space { self.room_for(input) } else { Ok(()) }
    }

    /// Whether the disks have room for a segment of so much.
    pub(super) fn room_for(&self, input: &InputEstimate) -> Result<()> {
        let mut options = BuildOptions::default();
        options.temp_dir.clone_from(&self.options.temp_dir);
        options.scheme = self.scheme_for(input.record_count)?;
        check_space_for(input, &options, &self.resources, self.store.snapshot().path())
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
        let generation = self.folder.manifest().generation;
        if self.pending.count() == 0 {
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
        let assembly = pending.assemble(|count| self.scheme_for(count), &mut clock)?;
        let label = self.options.label.clone();
        let recipe = self.recipe.clone();
        let (entry, fresh) =
            self.new_segment(&label, |file| assembly.write(file, &recipe, &mut clock))?;
        let segment = Some(entry.number);
        let mut segments = self.folder.manifest().segments.clone();
        segments.push(entry);
        self.publish(segments, vec![fresh])?;
        clock.ended(Phase::Publish);
        let mut report = clock.report;
        report.record_count = record_count;
        report.fingerprint_count = assembly.fingerprint_count();
        report.temporary_len = self.resources.folder.most_held();
        Ok(Committed { report, segment, generation: self.folder.manifest().generation })
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

    pub(super) fn new_segment(
        &mut self,
        label: &str,
        write: impl FnOnce(&mut SegmentFile) -> Result<()>,
    ) -> Result<(SegmentEntry, Fresh)> {
        let new = self.folder.new_segment(label, write)?;
        self.written_len += new.0.file_len;
        Ok(new)
    }

    /// Makes these the live segments, shows them to the readers of this process, and removes what is left over.
    pub(super) fn publish(&mut self, segments: Vec<SegmentEntry>, fresh: Vec<Fresh>) -> Result<()> {
        let published = self.folder.publish(segments, fresh);
        // Even if the last sync failed, this is what readers see.
        let refreshed = self.store.refresh();
        published?;
        refreshed?;
        self.folder.tidy();
        Ok(())
    }

    /// The tables of a new segment of so many fingerprints.
    pub(super) fn scheme_for(&self, count: u64) -> Result<SchemeChoice> {
        if let Some(scheme) = &self.options.scheme {
            return Ok(scheme.clone());
        }
        let snapshot = self.store.snapshot();
        let largest =
            snapshot.segments().iter().max_by_key(|open| open.segment.header().fingerprint_count);
        match largest.map(|open| open.segment.header()) {
            Some(header) if count <= header.fingerprint_count.saturating_mul(GROWTH_MAX) => {
                let masks = header.tables.iter().map(|table| table.mask).collect();
                Ok(Scheme::from_masks(masks, header.tuned_k)?.into())
            }
            _ => Ok(SchemeChoice::Auto {
                k: self.store.tuned_k(),
                budget: Budget::Default,
                costs: UnitCosts::SHIPPED,
            }),
        }
    }

    /// What came from elsewhere to a store without segments brings its recipe.
    pub(super) fn note_recipe(&mut self, recipe: Option<Recipe>) {
        if let Some(recipe) = recipe {
            self.recipe = recipe;
        }
    }
}
