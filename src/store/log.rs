//! The history of a store: additions, deletions, merges and expiries between several snapshots of
//! it.
//!
//! A manifest lists the live segments and the deletions of one snapshot, without history. So the
//! changes between two snapshots are computed from their manifests: the old segments between two
//! common segments were replaced by the new segments there. Common segments can have new deletions.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hasher;
use std::ops::Range;

use crate::base::error::{Error, Result};
use crate::search::snapshot::{OpenSegment, Snapshot};
use crate::store::Store;
use fpstore_base::IdRef;
use siphasher::sip128::{Hasher128, SipHasher13};

fpstore_base::named! {
    /// The kind of a [`Change`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "lowercase"))]
    #[non_exhaustive]
    pub enum Act {
        /// Segments were added.
        Added = "added",
        /// Records of a segment were deleted.
        Deleted = "deleted",
        /// New segments replaced other segments.
        Merged = "merged",
        /// Segments were removed: they expired by their label, or all of their records were
        /// deleted.
        Expired = "expired",
        /// A run has added to the store; `label` contains the name of the run.
        Run = "run",
    }
}

/// One change between two snapshots of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Change {
    /// The generation of the snapshot after the change.
    pub generation: u64,
    /// The generation of the preceding snapshot; `None` for the first snapshot, which counts as
    /// added.
    pub since: Option<u64>,
    /// The kind of the change.
    pub act: Act,
    /// The numbers of the affected segments after the change.
    pub segments: Vec<u64>,
    /// The numbers of the affected segments before the change.
    pub from: Vec<u64>,
    /// The distinct labels of the affected segments, or the name of the run.
    pub label: String,
    /// The number of live fingerprints of the segments after the change.
    pub fingerprints: u64,
    /// The number of live fingerprints of the segments before the change.
    pub fingerprints_before: u64,
    /// The number of live ids of the segments after the change.
    pub ids: u64,
    /// The number of live ids of the segments before the change.
    pub ids_before: u64,
    /// For a merge: the number of records in the new segments that were in none of the old
    /// segments, because they were added between the two snapshots. A record is an id of a
    /// fingerprint, or a fingerprint without ids.
    pub records_added: Option<u64>,
    /// For a merge: the number of records of the old segments that are missing in the new segments,
    /// because they were deleted between the two snapshots.
    pub records_removed: Option<u64>,
}

impl Store {
    /// The history of one store from several of its snapshots, such as its backups and the current
    /// store: the changes from each snapshot to the next, in the order of their generations. A
    /// manifest keeps no history, so everything between two snapshots is reported as one step, and
    /// records that were added and deleted again between them are not reported. With a snapshot of
    /// every generation, the history is exact.
    ///
    /// Records of merged segments are read and compared, because records that were added or deleted
    /// before the merge leave no other trace. This takes 16 bytes of memory for each record.
    ///
    /// # Errors
    ///
    /// * [`Error::InvalidOptions`] if the snapshots belong to several stores, or to copies of a
    ///   store that were changed separately.
    /// * [`Error::Corrupt`] if merged segments are damaged.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use fpstore::Store;
    ///
    /// let states = [Store::open("monday.fps")?, Store::open("pages.fps")?];
    /// for change in Store::log(&states)? {
    ///     println!("{}: {} {}", change.generation, change.act.name(), change.fingerprints);
    /// }
    /// # Ok::<(), fpstore::Error>(())
    /// ```
    pub fn log(states: &[Store]) -> Result<Vec<Change>> {
        let mut snapshots: Vec<_> = states.iter().map(Store::snapshot).collect();
        if snapshots.iter().any(|state| state.is_united()) {
            let reason = "several stores have no common history; query each store by itself".into();
            return Err(Error::InvalidOptions { reason });
        }
        snapshots.sort_by_key(|state| state.generation());
        snapshots.dedup_by_key(|state| (state.generation(), state.manifest_digest().bytes()));
        let mut changes = Vec::new();
        let mut before: Option<&Snapshot> = None;
        for state in &snapshots {
            if let Some(before) = before {
                check_same(before, state)?;
            }
            compare(before, state, &mut changes)?;
            before = Some(state);
        }
        Ok(changes)
    }

    /// Fails unless this handle shows the given generation, so that answers can be reproduced.
    ///
    /// # Errors
    ///
    /// [`Error::OtherGeneration`] names the current generation.
    pub fn expect_generation(&self, generation: u64) -> Result<()> {
        let state = self.snapshot();
        if state.generation() == generation {
            return Ok(());
        }
        let (path, found) = (state.path().to_path_buf(), state.generation());
        Err(Error::OtherGeneration { path, found, wanted: generation })
    }
}

fn check_same(before: &Snapshot, state: &Snapshot) -> Result<()> {
    let why = if before.store_id() != state.store_id() {
        "are of different stores"
    } else if before.generation() == state.generation() {
        "have the same generation and different manifests, so their histories differ"
    } else {
        return Ok(());
    };
    let (one, other) = (before.path().display(), state.path().display());
    Err(Error::InvalidOptions { reason: format!("{one} and {other} {why}") })
}

/// Adds the changes from one snapshot to another.
fn compare(before: Option<&Snapshot>, state: &Snapshot, changes: &mut Vec<Change>) -> Result<()> {
    let start = changes.len();
    let old: &[OpenSegment] = before.map_or(&[], |before| before.segments());
    let new = state.segments();
    let places: BTreeMap<u64, usize> =
        new.iter().enumerate().map(|(at, open)| (open.entry.number, at)).collect();
    // Common segments divide both lists. Between two of them, the new segments replaced the old
    // ones.
    let (mut old_at, mut new_at) = (0, 0);
    let mut between = |gone: Range<usize>, made: Range<usize>| -> Result<()> {
        let at = changes.len();
        replaced(&old[gone.clone()], &new[made.clone()], changes);
        if let (Some(before), [merged]) = (before, &mut changes[at..])
            && merged.act == Act::Merged
        {
            compare_records(records_of(before, gone)?, records_of(state, made)?, merged);
        }
        Ok(())
    };
    let mut kept = Vec::new();
    for (at, open) in old.iter().enumerate() {
        let Some(&place) = places.get(&open.entry.number).filter(|&&place| place >= new_at) else {
            continue;
        };
        between(old_at..at, new_at..place)?;
        kept.push((at, place));
        (old_at, new_at) = (at + 1, place + 1);
    }
    between(old_at..old.len(), new_at..new.len())?;
    for (at, place) in kept {
        if old[at].entry.deletions != new[place].entry.deletions {
            changes.push(change(Act::Deleted, &old[at..=at], &new[place..=place]));
        }
    }
    let known: BTreeSet<&String> = before.iter().flat_map(|before| before.runs()).collect();
    for run in state.runs().iter().filter(|run| !known.contains(run)) {
        changes.push(Change { label: run.clone(), ..change(Act::Run, &[], &[]) });
    }
    for change in &mut changes[start..] {
        change.generation = state.generation();
        change.since = before.map(Snapshot::generation);
    }
    Ok(())
}

/// Sorted hashes of the live records of some segments of a snapshot.
fn records_of(state: &Snapshot, segments: Range<usize>) -> Result<Vec<u128>> {
    let part = state.part(&segments.collect::<Vec<_>>());
    let mut records = Vec::new();
    Store::of(part).for_each(|record| {
        let value = record.fingerprint().value();
        let before = records.len();
        for id in record.stored_ids() {
            records.push(hash_of(value, Some(id?)));
        }
        if records.len() == before {
            records.push(hash_of(value, None));
        }
        Ok::<(), Error>(())
    })?;
    records.sort_unstable();
    Ok(records)
}

/// The hash of a record. An id is hashed as text, because merges can convert numbers to texts.
fn hash_of(value: u64, id: Option<IdRef<'_>>) -> u128 {
    let mut hasher = SipHasher13::new();
    hasher.write(&value.to_le_bytes());
    if let Some(id) = id {
        hasher.write(b"id");
        hasher.write(id.to_string().as_bytes());
    }
    hasher.finish128().as_u128()
}

/// Counts the records that occur in only one of two sorted lists.
fn compare_records(before: Vec<u128>, now: Vec<u128>, change: &mut Change) {
    let (mut added, mut removed) = (0, 0);
    let mut before = before.into_iter().peekable();
    for record in now {
        while before.next_if(|other| *other < record).is_some() {
            removed += 1;
        }
        added += u64::from(before.next_if_eq(&record).is_none());
    }
    removed += before.count() as u64;
    (change.records_added, change.records_removed) = (Some(added), Some(removed));
}

/// Adds the changes by which the segments `new` replaced the segments `gone`.
fn replaced(gone: &[OpenSegment], new: &[OpenSegment], changes: &mut Vec<Change>) {
    match (gone, new) {
        ([], new) => changes.extend(new.chunks(1).map(|open| change(Act::Added, &[], open))),
        (gone, []) => changes.extend(gone.chunks(1).map(|open| change(Act::Expired, open, &[]))),
        (gone, new) => changes.push(change(Act::Merged, gone, new)),
    }
}

/// A change without its two generations, which the caller sets.
fn change(act: Act, before: &[OpenSegment], now: &[OpenSegment]) -> Change {
    let numbers = |all: &[OpenSegment]| all.iter().map(|open| open.entry.number).collect();
    let sum = |all: &[OpenSegment], of: fn(&OpenSegment) -> u64| all.iter().map(of).sum();
    let labels: BTreeSet<&str> =
        before.iter().chain(now).map(|open| open.entry.label.as_str()).collect();
    Change {
        generation: 0,
        since: None,
        act,
        segments: numbers(now),
        from: numbers(before),
        label: labels.into_iter().filter(|label| !label.is_empty()).collect::<Vec<_>>().join(" "),
        fingerprints: sum(now, OpenSegment::live_count),
        fingerprints_before: sum(before, OpenSegment::live_count),
        ids: sum(now, OpenSegment::live_id_count),
        ids_before: sum(before, OpenSegment::live_id_count),
        records_added: None,
        records_removed: None,
    }
}
