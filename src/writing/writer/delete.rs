//! Deleting records: fingerprints with all their ids, or single ids.

use std::collections::BTreeMap;

use crate::base::error::{Fault, Result};
use crate::base::section::Rank;
use crate::base::steps::step;
use crate::bytes::permutation::Permuted;
use crate::format::deletions::{DeletionSet, Deletions};
use crate::format::id_records::Record;
use crate::format::manifest::SegmentEntry;
use crate::search::snapshot::OpenSegment;
use crate::writing::directory::Transaction;
use crate::writing::writer::Writer;
use crate::writing::writer::id_change::IdChange;
use crate::writing::writer::id_places::{IdPlaces, for_each_record};
use crate::writing::writer::rebase::find;
use crate::writing::writer::wanted_ids::WantedIds;
use fpstore_base::watch::{Phase, Watch};
use fpstore_base::{Fingerprint, IdRef};

/// The result of a deletion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[non_exhaustive]
pub struct Deleted {
    /// The number of distinct fingerprints or ids given by the caller.
    pub wanted: u64,
    /// The number of given fingerprints or ids that the store contained.
    pub found: u64,
    /// The number of deleted fingerprints; a fingerprint in two segments counts twice.
    pub fingerprints: u64,
    /// The number of deleted ids, each counted as often as it was stored.
    pub ids: u64,
}

/// Whether the chosen records are deleted or only counted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Delete,
    Count,
}

impl Writer {
    /// Deletes fingerprints with all their ids. Readers that open or refresh the store no longer
    /// find them; their space is freed when their segment is compacted.
    ///
    /// Pushed records that are not committed are not affected.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`](crate::Error::Corrupt) if the store is damaged,
    /// [`Error::Io`](crate::Error::Io) if a file operation fails. Then nothing is deleted; after
    /// [`Error::InEffect`](crate::Error::InEffect) everything is deleted.
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
    /// let mut writer = fpstore::Writer::open(&path)?;
    /// let deleted = writer.delete_fingerprints(&[7.into(), 8.into()])?;
    /// assert_eq!((deleted.wanted, deleted.found), (2, 1));
    /// # Ok(()) }
    /// ```
    pub fn delete_fingerprints(&mut self, fingerprints: &[Fingerprint]) -> Result<Deleted> {
        self.choose_fingerprints(fingerprints, Mode::Delete)
    }

    /// Counts the records that [`Writer::delete_fingerprints`] would delete; nothing is changed.
    ///
    /// # Errors
    ///
    /// The same as [`Writer::delete_fingerprints`].
    pub fn would_delete_fingerprints(&mut self, fingerprints: &[Fingerprint]) -> Result<Deleted> {
        self.choose_fingerprints(fingerprints, Mode::Count)
    }

    fn choose_fingerprints(&mut self, fingerprints: &[Fingerprint], mode: Mode) -> Result<Deleted> {
        let mut wanted = fingerprints.to_vec();
        wanted.sort_unstable();
        wanted.dedup();
        self.delete(mode, |segments, sets| {
            let mut was_found = vec![false; wanted.len()];
            for (open, set) in segments.iter().zip(sets.iter_mut()) {
                let Some(first) = open.segment.first_table() else { continue };
                // In the order of the table, successive lookups read neighbouring bytes.
                let permuted = wanted.iter().map(|&wanted| first.permutation.apply(wanted));
                let mut order: Vec<(Permuted, usize)> = permuted.zip(0..).collect();
                order.sort_unstable();
                for (value, at) in order {
                    let Some(rank) = first.find(value)? else { continue };
                    if !set.has(rank) {
                        set.delete(rank, live_id_count(open, set, rank)?);
                        was_found[at] = true;
                    }
                }
            }
            let found = was_found.iter().filter(|found| **found).count() as u64;
            let (fingerprints, ids) = counts_of(sets);
            Ok(Deleted { wanted: wanted.len() as u64, found, fingerprints, ids })
        })
    }

    /// Deletes ids from all fingerprints that have them. If a fingerprint loses its last id within
    /// the segments of a label, it is deleted from these segments, even if it was also added
    /// without an id. A number and its decimal text are the same id.
    ///
    /// Reads all segments with ids once, and needs memory for the given ids. Otherwise like
    /// [`Writer::delete_fingerprints`].
    ///
    /// # Errors
    ///
    /// The errors of [`Writer::delete_fingerprints`], and
    /// [`Error::Interrupted`](crate::Error::Interrupted) if the observer ends the work.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("pages.fps");
    /// # let mut builder = fpstore::Builder::new(&path)?;
    /// # builder.push(7.into(), "a.html")?;
    /// # builder.push(7.into(), "b.html")?;
    /// # builder.finish()?;
    /// use fpstore::IdRef;
    ///
    /// let mut writer = fpstore::Writer::open(&path)?;
    /// let deleted = writer.delete_ids(["a.html", "c.html"].map(IdRef::Text))?;
    /// assert_eq!((deleted.wanted, deleted.found, deleted.fingerprints), (2, 1, 0));
    /// # Ok(()) }
    /// ```
    pub fn delete_ids<'a>(&mut self, ids: impl IntoIterator<Item = IdRef<'a>>) -> Result<Deleted> {
        self.choose_ids(ids, Mode::Delete)
    }

    /// Counts the records that [`Writer::delete_ids`] would delete; nothing is changed.
    ///
    /// # Errors
    ///
    /// The same as [`Writer::delete_ids`].
    pub fn would_delete_ids<'a>(
        &mut self,
        ids: impl IntoIterator<Item = IdRef<'a>>,
    ) -> Result<Deleted> {
        self.choose_ids(ids, Mode::Count)
    }

    fn choose_ids<'a>(
        &mut self,
        ids: impl IntoIterator<Item = IdRef<'a>>,
        mode: Mode,
    ) -> Result<Deleted> {
        let mut change = IdChange::delete(ids);
        let watch = self.watch_ids();
        self.delete(mode, |segments, sets| change.apply(segments, sets, &watch))
    }

    pub(super) fn watch_ids(&self) -> Watch {
        let total = self.store.info().id_count();
        Watch::new(self.options.resources.observer.clone(), Phase::Search, Some(total))
    }

    /// Lets `choose` add deletions for each segment, and publishes all of them in one step, or only
    /// counts them.
    fn delete<T>(
        &mut self,
        mode: Mode,
        choose: impl FnOnce(&[OpenSegment], &mut [DeletionSet<'_>]) -> Result<T>,
    ) -> Result<T> {
        // The transaction begins first: a merge published meanwhile would invalidate the chosen
        // ranks.
        let mut transaction = self.directory.begin()?;
        let (segments, done, is_changed) = self.with_deletions(&mut transaction, mode, choose)?;
        if is_changed {
            self.commit_segments(transaction, segments)?;
        }
        Ok(done)
    }

    /// The live segments with the deletions that `choose` adds, the result of `choose`, and whether
    /// any deletion must be published.
    pub(super) fn with_deletions<T>(
        &mut self,
        transaction: &mut Transaction,
        mode: Mode,
        choose: impl FnOnce(&[OpenSegment], &mut [DeletionSet<'_>]) -> Result<T>,
    ) -> Result<(Vec<SegmentEntry>, T, bool)> {
        self.store.refresh()?;
        let snapshot = self.store.snapshot();
        let open = snapshot.segments();
        let mut sets: Vec<DeletionSet> =
            open.iter().map(|open| DeletionSet::of(open.deleted.as_deref())).collect();
        let done = choose(open, &mut sets)?;
        let mut segments = Vec::new();
        let mut is_changed = false;
        for (open, set) in open.iter().zip(sets) {
            let mut entry = open.entry.clone();
            if let Some(deletions) = set.finish() {
                check_counts(open, &deletions)?;
                if mode == Mode::Delete {
                    entry.deletions = Some(transaction.add_deletions(&entry, &deletions)?);
                    is_changed = true;
                }
            }
            segments.push(entry);
        }
        Ok((segments, done, is_changed))
    }
}

impl IdChange {
    /// Adds the deletions of this change to those of earlier changes, for each segment.
    pub(super) fn apply(
        &mut self,
        segments: &[OpenSegment],
        sets: &mut [DeletionSet<'_>],
        watch: &Watch,
    ) -> Result<Deleted> {
        let mut copies;
        let sets = match self.is_dry_run {
            true => {
                copies = sets.to_vec();
                &mut copies
            }
            false => sets,
        };
        let before = counts_of(sets);
        self.wanted.forget_found();
        delete_from_all(segments, sets, &mut self.wanted, &self.places, watch)?;
        let after = counts_of(sets);
        Ok(Deleted {
            wanted: self.wanted.wanted(),
            found: self.wanted.found(),
            fingerprints: after.0 - before.0,
            ids: after.1 - before.1,
        })
    }
}

/// The numbers of fingerprints and of ids that `sets` newly delete.
fn counts_of(sets: &[DeletionSet<'_>]) -> (u64, u64) {
    let counts = sets.iter().map(DeletionSet::new_counts);
    counts.fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1))
}

/// Deletes the wanted ids from all segments, in one pass over each segment in which their positions
/// are not known.
fn delete_from_all(
    segments: &[OpenSegment],
    sets: &mut [DeletionSet<'_>],
    wanted: &mut WantedIds,
    ahead: &IdPlaces,
    watch: &Watch,
) -> Result<()> {
    let mut emptied = Vec::new();
    for (open, set) in segments.iter().zip(sets.iter_mut()) {
        let Some(table) = open.segment.first_table() else { continue };
        let mut delete = |rank, value, record: Record<'_>| -> Result<()> {
            let (live, is_emptied) = delete_of_record(open, set, wanted, rank, record)?;
            if is_emptied {
                emptied.push((open.entry.label.as_str(), table.permutation.invert(value)));
            }
            Ok(watch.tick(live)?)
        };
        match ahead.in_segment(open) {
            Some(places) => {
                for &(rank, value) in places {
                    delete(rank, value, open.segment.record(rank)?)?;
                }
            }
            None if open.segment.id_places().is_some() => {
                table.advise_sequential();
                for_each_record(&open.segment, table, delete)?;
                table.advise_random();
            }
            None => {}
        }
    }
    emptied.sort_unstable();
    emptied.dedup();
    let mut by_label: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, open) in segments.iter().enumerate() {
        by_label.entry(open.entry.label.as_str()).or_default().push(at);
    }
    emptied.into_iter().try_for_each(|(label, emptied)| {
        let of_label = by_label.get(label).map_or([].as_slice(), Vec::as_slice);
        delete_bare(segments, sets, of_label, emptied)
    })
}

/// Checks that no more fingerprints and ids are deleted than the header of the segment states. A
/// hostile header can state fewer ids than the records have, and every reader would reject a
/// manifest with more deletions (R-25).
fn check_counts(open: &OpenSegment, deletions: &Deletions) -> Result<()> {
    let header = open.segment.header();
    let (fingerprints, ids) = (deletions.fingerprint_count(), deletions.id_count());
    if fingerprints <= header.fingerprint_count && ids <= header.id_count {
        return Ok(());
    }
    let detail = format!("{ids} ids to delete, but the header states {} ids", header.id_count);
    Err(open.id_fault(Fault::rule(18, detail)))
}

/// Deletes the wanted ids of one fingerprint. Returns the number of live ids that it had before, and
/// whether it loses the last of them.
fn delete_of_record(
    open: &OpenSegment,
    set: &mut DeletionSet<'_>,
    wanted: &mut WantedIds,
    rank: Rank,
    mut record: Record<'_>,
) -> Result<(u64, bool)> {
    if set.has(rank) {
        return Ok((0, false));
    }
    let mut chosen: Vec<u64> = Vec::new();
    let (mut position, mut live) = (0, 0);
    while let Some(id) = record.next().map_err(|fault| open.id_fault(fault))? {
        if !set.has_id(rank, position) {
            live += 1;
            if wanted.find(id) {
                chosen.push(position);
            }
        }
        position += 1;
    }
    let is_emptied = !chosen.is_empty() && chosen.len() as u64 == live;
    if is_emptied {
        set.delete(rank, live);
    } else {
        chosen.iter().for_each(|&position| set.delete_id(rank, position));
    }
    Ok((live, is_emptied))
}

/// Deletes a fingerprint from the segments at the positions `of_label` if it has no live ids in
/// them. It is deleted even if it was also added without an id, because a merge of the segments
/// would not preserve that information.
fn delete_bare(
    segments: &[OpenSegment],
    sets: &mut [DeletionSet<'_>],
    of_label: &[usize],
    fingerprint: Fingerprint,
) -> Result<()> {
    let mut bare = Vec::new();
    for &at in of_label {
        step();
        let (open, set) = (&segments[at], &sets[at]);
        let found = find(&open.segment, fingerprint)?;
        let Some(rank) = found.filter(|&rank| !set.has(rank)) else { continue };
        if live_id_count(open, set, rank)? > 0 {
            return Ok(());
        }
        bare.push((at, rank));
    }
    bare.into_iter().for_each(|(at, rank)| sets[at].delete(rank, 0));
    Ok(())
}

/// The number of ids of a fingerprint that are not deleted.
fn live_id_count(open: &OpenSegment, set: &DeletionSet<'_>, rank: Rank) -> Result<u64> {
    let record = open.segment.record(rank)?;
    let count = record.id_count().map_err(|fault| open.id_fault(fault))?;
    Ok(count.saturating_sub(set.id_count_of(rank)))
}
