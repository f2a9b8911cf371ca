//! Compaction: segments become one, without what was deleted.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::build::{Folder, Role, StoreLock, lock_compaction, share_out};
use crate::error::{Error, Result};
use crate::life::merge::Merger;
use crate::life::tier::{self, Candidate};
use crate::life::{Writer, WriterOptions};
use crate::recipe::Recipe;
use crate::sort::Resources;
use crate::store::{OpenSegment, Store};

/// How long to wait for another one that merges segments: writers do so now and then, and it does not take long.
const PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 0 } else { 5 });
const PAUSE: Duration = Duration::from_millis(20);

/// What to compact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compaction {
    /// What the size-tiered rule says, for neighbours of one label: tiers are powers of ten of records, and the
    /// segments of a tier are merged once they hold 3, 6 or 10 of its units, so that their number stays
    /// logarithmic; segments of which more than half is deleted are written anew, and empty ones go.
    #[default]
    Tier,
    /// Neighbours of one label become one segment each. Labels stay, so that each can expire.
    All,
    /// All segments become one. Its label is the greatest, so that nothing expires before it is due; it has none
    /// if any segment has none.
    One,
}

/// What a compaction did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compacted {
    /// Segments that were merged, over all merges.
    pub merged: u64,
    /// Segments that came of them.
    pub made: u64,
    /// Bytes of the segments that were merged.
    pub read_len: u64,
    /// Bytes of the segments that came of them.
    pub written_len: u64,
    /// Fingerprints that were deleted and now are gone.
    pub dropped_fingerprints: u64,
    /// Ids that were deleted and now are gone.
    pub dropped_ids: u64,
    /// Merges that came to nothing, because a writer took one of their segments away meanwhile.
    pub overtaken: u64,
}

/// Who merges segments of a store beside whoever writes to it.
///
/// Merging needs the lock of the writer at no time: it reads segments, which never change, and writes a new file.
/// Only to publish does it keep others from publishing, for an instant. What was deleted of the segments meanwhile is
/// deleted of the new one then; where one of them is gone, it begins with those that are there. There is one
/// compactor at a time, and a [`Writer`] leaves merging to it while it lives.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("pages.fps");
/// # fpstore::Builder::new(&path)?.finish()?;
/// # fpstore::Builder::append(&path, fpstore::BuildOptions::default())?.finish()?;
/// use fpstore::{Compaction, Compactor, Writer};
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
    folder: Folder,
    options: WriterOptions,
    resources: Resources,
    store: Store,
}

impl Compactor {
    /// A compactor of the store in the directory `path`.
    ///
    /// # Errors
    ///
    /// As [`Compactor::with_options`].
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        Compactor::with_options(path, WriterOptions::default())
    }

    /// A compactor with options of your own; those of new records do not matter here. What compactors left behind
    /// that died is removed.
    ///
    /// # Errors
    ///
    /// * [`Error::Compacting`] if another process, or a writer or another compactor of this one, goes on merging
    ///   segments of the store for some seconds.
    /// * [`Error::InvalidOptions`] if the memory is too little for the threads.
    /// * Otherwise as [`Store::open`].
    pub fn with_options(path: impl Into<PathBuf>, options: WriterOptions) -> Result<Self> {
        let path = path.into();
        let store = Store::open(&path)?;
        let since = Instant::now();
        let lock: StoreLock = loop {
            match lock_compaction(&path) {
                Err(Error::Compacting { .. }) if since.elapsed() < PATIENCE => {}
                locked => break locked?,
            }
            std::thread::sleep(PAUSE);
        };
        let folder = Folder::new(&path, Role::Compactor, None, lock)?;
        let scratch = options.temp_dir.clone().unwrap_or(path);
        std::fs::read_dir(&scratch).map_err(Error::io("put temporary files into", &scratch))?;
        let resources = share_out(options.memory, options.threads, scratch)?;
        store.refresh()?;
        Ok(Compactor { folder, options, resources, store })
    }

    /// As [`Writer::compact`], while others add and delete. Segments that come meanwhile are left alone.
    ///
    /// # Errors
    ///
    /// As [`Writer::compact`].
    pub fn compact(&mut self, what: &Compaction) -> Result<Compacted> {
        let Some(recipe) = self.store.recipe() else { return Ok(Compacted::default()) };
        let (folder, store) = (&self.folder, &self.store);
        let (options, resources) = (&self.options, &self.resources);
        compact(what, &mut Merger::new(folder, store, options, resources, &recipe))
    }

    /// The store as it is: it and its clones are refreshed with each merge.
    pub fn store(&self) -> &Store {
        &self.store
    }
}

impl Writer {
    /// Merges segments, and leaves behind what was deleted. The ids of a fingerprint keep their order; where one
    /// segment has numbers as ids and another texts, the merged one has texts.
    ///
    /// Keeps to the memory of the writer, whose lock it does not need: see [`Compactor`]. Each merge is published by itself, and readers see the same before and
    /// after. What is pushed and not committed is not touched.
    ///
    /// # Errors
    ///
    /// * [`Error::Corrupt`] if the store is damaged.
    /// * [`Error::Compacting`] if a [`Compactor`] is at it.
    /// * [`Error::NoSpace`] if a disk is too full for the next merge.
    /// * [`Error::Io`] if the system refuses, [`Error::Interrupted`] if the observer says so.
    ///
    /// Merges that were done stay; the one under way leaves nothing behind.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("pages.fps");
    /// # fpstore::Builder::new(&path)?.finish()?;
    /// # fpstore::Builder::append(&path, fpstore::BuildOptions::default())?.finish()?;
    /// use fpstore::{Compaction, Writer};
    ///
    /// let done = Writer::open(&path)?.compact(&Compaction::All)?;
    /// assert_eq!((done.merged, done.made), (2, 1));
    /// # Ok(()) }
    /// ```
    pub fn compact(&mut self, what: &Compaction) -> Result<Compacted> {
        let _lock = lock_compaction(self.folder.path())?;
        self.store.refresh()?;
        self.merging(|merger| compact(what, merger))
    }

    /// Merges what is due by the size-tiered rule, if there is room, and no one else is at it: adding must go on where
    /// merging cannot.
    pub(super) fn compact_due(&mut self) -> Result<()> {
        // The lock is for those who have something to do.
        self.store.refresh()?;
        if tier::due(&candidates(self.store.snapshot().segments())).is_none() {
            return Ok(());
        }
        self.merge_aside(|merger, _| compact(&Compaction::Tier, merger).map(drop))
    }

    /// Merges as many of the youngest segments as takes no more than half of what was written.
    pub(super) fn settle(&mut self) -> Result<()> {
        let live = candidates(self.store.snapshot().segments());
        if tier::settled(&live, self.written_len / 2).is_none() {
            return Ok(());
        }
        self.merge_aside(|merger, written_len| {
            let segments = merger.segments();
            match tier::settled(&candidates(&segments), written_len / 2) {
                Some(range) => {
                    let label = segments[range.start].entry.label.clone();
                    merger.merge(&segments[range], &label)?;
                    drop(segments);
                    merger.tidy();
                    Ok(())
                }
                None => Ok(()),
            }
        })
    }

    fn merge_aside(
        &mut self,
        merge: impl FnOnce(&mut Merger<'_>, u64) -> Result<()>,
    ) -> Result<()> {
        let _lock = match lock_compaction(self.folder.path()) {
            Err(Error::Compacting { .. }) => return Ok(()),
            locked => locked?,
        };
        self.store.refresh()?;
        let written_len = self.written_len;
        match self.merging(|merger| merge(merger, written_len)) {
            Err(Error::NoSpace { .. }) => Ok(()),
            merged => merged,
        }
    }

    fn merging<T>(&mut self, merge: impl FnOnce(&mut Merger<'_>) -> Result<T>) -> Result<T> {
        let recipe: &Recipe = self.recipe();
        let (folder, store) = (&self.folder, &self.store);
        let mut merger = Merger::new(folder, store, &self.options, &self.resources, recipe);
        let merged = merge(&mut merger);
        self.written_len += merger.done.written_len;
        merged
    }
}

fn compact(what: &Compaction, merger: &mut Merger<'_>) -> Result<Compacted> {
    match what {
        Compaction::Tier => merge_while(merger, tier::due)?,
        Compaction::All => merge_while(merger, tier::mergeable)?,
        Compaction::One => merge_all(merger)?,
    }
    Ok(merger.done)
}

/// Merges what `next` says, until it says nothing. Segments that come meanwhile are left alone, or it might never end.
fn merge_while(
    merger: &mut Merger<'_>,
    next: impl Fn(&[Candidate]) -> Option<Range<usize>>,
) -> Result<()> {
    let mut known: BTreeSet<u64> = merger.segments().iter().map(|open| open.entry.number).collect();
    loop {
        merger.tidy();
        let mut segments = merger.segments();
        let is_new = |open: &OpenSegment| !known.contains(&open.entry.number);
        segments.truncate(segments.iter().position(is_new).unwrap_or(segments.len()));
        let Some(range) = next(&candidates(&segments)) else { return Ok(()) };
        let label = segments[range.start].entry.label.clone();
        known.extend(merger.merge(&segments[range], &label)?);
    }
}

/// Merges all segments that there are, whatever their labels.
fn merge_all(merger: &mut Merger<'_>) -> Result<()> {
    loop {
        let segments = merger.segments();
        let candidates = candidates(&segments);
        let label = match candidates.iter().any(|segment| segment.label.is_empty()) {
            true => None,
            false => candidates.iter().map(|segment| segment.label.as_str()).max(),
        };
        if segments.len() < 2 && candidates.iter().all(|segment| segment.gone == 0) {
            return Ok(());
        }
        let overtaken = merger.done.overtaken;
        merger.merge(&segments, label.unwrap_or_default())?;
        drop(segments);
        merger.tidy();
        if merger.done.overtaken == overtaken {
            return Ok(());
        }
    }
}

fn candidates(segments: &[OpenSegment]) -> Vec<Candidate> {
    let candidate = |open: &OpenSegment| Candidate {
        label: open.entry.label.clone(),
        len: open.entry.file_len,
        count: open.entry.fingerprint_count,
        gone: open.entry.fingerprint_count - open.live_count(),
        ids: open.live_id_count(),
    };
    segments.iter().map(candidate).collect()
}
