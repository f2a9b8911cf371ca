//! Compaction: merging segments without their deleted records.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::base::error::{Error, Result};
use crate::search::snapshot::OpenSegment;
use crate::writing::directory::{Patience, lock_compaction};
use crate::writing::writer::handle::Writer;
use crate::writing::writer::merge::{Compacted, Merger};
use crate::writing::writer::tier::{self, Candidate};

fpstore_base::choices! {
    /// The segments to merge.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum Compaction {
        /// The segments that the size-tiered rule picks among neighbours with the same label.
        /// Segments of 10^n to 10^(n+1) records are merged once they have 3, 6 or 10 times 10^n
        /// records together, so that the number of segments remains logarithmic. Segments with more
        /// than half of their records deleted are rewritten, and empty ones removed.
        #[default]
        Tier = "tier": "Neighbouring segments of similar size, with the same label",
        /// Neighbours with the same label are merged into one segment, and empty segments are
        /// removed. Labels are preserved, so that each can expire separately.
        All = "all": "Neighbouring segments with the same label",
        /// All segments are merged into one. Its label is the greatest label of segments with
        /// records, so that no record expires early; empty if a segment with records has no label.
        One = "one": "All segments",
        /// Each segment is rewritten separately: to get other tables, or to repair a damaged table
        /// from another table with the same values.
        Rewrite = "rewrite": "Each segment by itself",
    }
}

impl Writer {
    /// Merges segments, and omits deleted records. The ids of a fingerprint keep their order; if
    /// one segment has numbers as ids and another has texts, the merged segment has texts.
    ///
    /// Uses the memory of the writer. Each merge is published separately, and readers see the same
    /// records before and after. Pushed records that are not committed are not affected. To merge
    /// while a writer is active, see [`Compactor`](crate::writer::Compactor).
    ///
    /// # Errors
    ///
    /// * [`Error::Corrupt`] if the store is damaged.
    /// * [`Error::Compacting`] if a [`Compactor`](crate::writer::Compactor) is merging and does not
    ///   end within [`WriterOptions::wait`](crate::WriterOptions::wait).
    /// * [`Error::NoSpace`] if a disk is too full for the next merge.
    /// * [`Error::Locked`] if other processes changed or removed the segments of ten merges while
    ///   these were made.
    /// * [`Error::Io`] if a file operation fails, [`Error::Interrupted`] if the observer ends the
    ///   work.
    ///
    /// Finished merges are kept; the interrupted one leaves nothing behind.
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
    /// use fpstore::writer::Compaction;
    ///
    /// let done = Writer::open(&path)?.compact(&Compaction::All)?;
    /// assert_eq!((done.merged, done.made), (2, 1));
    /// # Ok(()) }
    /// ```
    pub fn compact(&mut self, what: &Compaction) -> Result<Compacted> {
        let _lock = lock_compaction(self.directory.path(), &self.options.patience())?;
        self.store.refresh()?;
        self.with_merger(|merger| compact(what, merger))
    }

    /// Merges the segments that the size-tiered rule picks, like [`Writer::commit`] after adding
    /// the records. Does nothing if the disk has no room or another process is merging.
    ///
    /// # Errors
    ///
    /// The same as [`Writer::compact`].
    pub fn merge_due(&mut self) -> Result<()> {
        // The lock is taken only if there is a merge to do.
        self.store.refresh()?;
        if tier::pick(&candidates(self.store.snapshot().segments())).is_none() {
            return Ok(());
        }
        self.merge_if_free(|merger, _| compact(&Compaction::Tier, merger).map(drop))
    }

    /// Merges the youngest segments, as many as together have at most half as many bytes as this
    /// writer wrote.
    pub(super) fn merge_youngest(&mut self) -> Result<()> {
        let live = candidates(self.store.snapshot().segments());
        if tier::pick_youngest(&live, self.written_len / 2).is_none() {
            return Ok(());
        }
        self.merge_if_free(|merger, written_len| {
            let segments = merger.segments();
            if let Some(range) = tier::pick_youngest(&candidates(&segments), written_len / 2) {
                let label = segments[range.start].entry.label.clone();
                merger.merge(&segments[range], &label)?;
                drop(segments);
                merger.collect_garbage();
            }
            Ok(())
        })
    }

    /// Calls `merge` under the compaction lock, with the number of bytes that this writer wrote.
    /// Does nothing if another process holds the lock or the disk has no room.
    fn merge_if_free(
        &mut self,
        merge: impl FnOnce(&mut Merger<'_>, u64) -> Result<()>,
    ) -> Result<()> {
        let _lock = match lock_compaction(self.directory.path(), &Patience::default()) {
            Err(Error::Compacting { .. }) => return Ok(()),
            locked => locked?,
        };
        self.store.refresh()?;
        let written_len = self.written_len;
        match self.with_merger(|merger| merge(merger, written_len)) {
            Err(Error::NoSpace { .. }) => Ok(()),
            merged => merged,
        }
    }

    fn with_merger<T>(&mut self, merge: impl FnOnce(&mut Merger<'_>) -> Result<T>) -> Result<T> {
        let (directory, store) = (&self.directory, &self.store);
        let (options, resources) = (&self.options, &self.resources);
        let mut merger = Merger::new(directory, store, options, resources, &self.recipe);
        let merged = merge(&mut merger);
        self.written_len += merger.done.written_len;
        merged
    }
}

/// Merges the segments that `what` selects; the caller holds the compaction lock.
pub(super) fn compact(what: &Compaction, merger: &mut Merger<'_>) -> Result<Compacted> {
    match what {
        Compaction::Tier => merge_while(merger, tier::pick)?,
        Compaction::All => merge_while(merger, tier::pick_label)?,
        Compaction::One => merge_all(merger)?,
        Compaction::Rewrite => rewrite(merger)?,
    }
    Ok(merger.done)
}

/// Merges the segments that `pick` returns, until it returns `None`. Segments that a writer adds
/// meanwhile are ignored, so that the loop ends.
fn merge_while(
    merger: &mut Merger<'_>,
    pick: impl Fn(&[Candidate]) -> Option<Range<usize>>,
) -> Result<()> {
    let mut known: BTreeSet<u64> = merger.segments().iter().map(|open| open.entry.number).collect();
    loop {
        merger.collect_garbage();
        let mut segments = merger.segments();
        let is_new = |open: &OpenSegment| !known.contains(&open.entry.number);
        segments.truncate(segments.iter().position(is_new).unwrap_or(segments.len()));
        let Some(range) = pick(&candidates(&segments)) else { return Ok(()) };
        let label = segments[range.start].entry.label.clone();
        known.extend(merger.merge(&segments[range], &label)?);
        merger.check_conflicts()?;
    }
}

/// Merges all segments, whatever their labels. Restarts after a conflict.
fn merge_all(merger: &mut Merger<'_>) -> Result<()> {
    loop {
        let segments = merger.segments();
        let candidates = candidates(&segments);
        let Some(label) = label_of_all(&candidates) else { return Ok(()) };
        let conflicted = merger.done.conflicted;
        merger.merge(&segments, label)?;
        drop(segments);
        merger.collect_garbage();
        if merger.done.conflicted == conflicted {
            return Ok(());
        }
        merger.check_conflicts()?;
    }
}

/// Rewrites each segment from its first table. Segments that a writer adds meanwhile are ignored; a
/// segment changed meanwhile is rewritten again.
fn rewrite(merger: &mut Merger<'_>) -> Result<()> {
    let mut left: BTreeSet<u64> = merger.segments().iter().map(|open| open.entry.number).collect();
    loop {
        merger.collect_garbage();
        let segments = merger.segments();
        let Some(open) = segments.iter().find(|open| left.contains(&open.entry.number)) else {
            return Ok(());
        };
        let (number, label) = (open.entry.number, open.entry.label.clone());
        let conflicted = merger.done.conflicted;
        merger.merge(std::slice::from_ref(open), &label)?;
        if merger.done.conflicted == conflicted {
            left.remove(&number);
        }
        merger.check_conflicts()?;
    }
}

/// The label of the single merged segment; `None` if no merge is needed.
pub(super) fn label_of_all(segments: &[Candidate]) -> Option<&str> {
    if segments.len() < 2 && segments.iter().all(|segment| segment.deleted == 0) {
        return None;
    }
    let with_records = segments.iter().filter(|segment| segment.live_fingerprints() > 0);
    let labels = || with_records.clone().map(|segment| segment.label.as_str());
    let is_unlabelled = labels().any(str::is_empty);
    Some(labels().max().filter(|_| !is_unlabelled).unwrap_or_default())
}

pub(super) fn candidates(segments: &[OpenSegment]) -> Vec<Candidate> {
    let candidate = |open: &OpenSegment| Candidate {
        label: open.entry.label.clone(),
        file_len: open.entry.file_len,
        fingerprints: open.entry.fingerprint_count,
        deleted: open.entry.fingerprint_count - open.live_count(),
        live_ids: open.live_id_count(),
    };
    segments.iter().map(candidate).collect()
}
