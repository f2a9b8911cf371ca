//! A live segment: its file, its deletions, and its query plans.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::base::error::{Error, Fault, Result};
use crate::base::section::{Rank, Section, StoreIndex, TableIndex};
use crate::base::steps::step;
use crate::bytes::permutation::{Permutation, Permuted};
use crate::format::deletions::Deletions;
use crate::format::id_records::Record;
use crate::format::manifest::SegmentEntry;
use crate::plan::{PathPlan, PlanCache};
use crate::search::snapshot::deletions::{missing, read_deletions};
use crate::segment::access::Access;
use crate::segment::{self, Segment};
use fpstore_base::{Fingerprint, IdRef};

/// A live segment. The next snapshot shares its file, and its deletions and plans if unchanged.
#[derive(Clone, Debug)]
pub(crate) struct OpenSegment {
    pub(crate) entry: SegmentEntry,
    pub(crate) segment: Arc<Segment>,
    /// The deletions of this segment, if there are any.
    pub(crate) deleted: Option<Arc<Deletions>>,
    plans: Arc<PlanCache>,
    /// Whether the values cannot be gathered in memory: they are too clustered, or the file is
    /// damaged.
    is_unfit: Arc<AtomicBool>,
    /// The position of its store, if several stores are searched together.
    pub(super) store: StoreIndex,
}

impl OpenSegment {
    /// Opens a segment of the store at `path`, and its deletions, as listed in the manifest entry.
    pub(crate) fn open(path: &Path, entry: &SegmentEntry, access: Access) -> Result<Self> {
        let file_path = path.join(entry.file_name());
        let segment = segment::open(&file_path, access, entry.file_len)
            .map_err(|error| missing(error, path, &file_path, 23))?;
        segment.check_entry(entry)?;
        let deleted = read_deletions(path, entry, segment.header())?.map(Arc::new);
        Ok(OpenSegment {
            entry: entry.clone(),
            segment: Arc::new(segment),
            deleted,
            plans: Arc::new(PlanCache::new()),
            is_unfit: Arc::default(),
            store: StoreIndex::default(),
        })
    }

    /// This segment with the deletions that a later manifest of the same store lists for it.
    pub(crate) fn renewed(&self, path: &Path, entry: &SegmentEntry) -> Result<Self> {
        let mut renewed = self.clone();
        if entry.deletions != self.entry.deletions {
            let header = self.segment.header();
            renewed.deleted = read_deletions(path, entry, header)?.map(Arc::new);
        }
        renewed.entry = entry.clone();
        Ok(renewed)
    }

    /// This segment as a part of the store at position `store` of several.
    pub(super) fn of_store(&self, store: StoreIndex) -> Self {
        OpenSegment { store, ..self.clone() }
    }

    /// The plan of this segment for distance `k`, at most 64.
    pub(crate) fn plan(&self, k: u32) -> &PathPlan {
        self.plans.for_distance(k, &self.segment)
    }

    /// Whether gathering the values in memory has not failed so far.
    pub(crate) fn is_fit(&self) -> bool {
        !self.is_unfit.load(Ordering::Relaxed)
    }

    /// Marks the segment as unfit for gathering: its values are too clustered, or the file is
    /// damaged. Queries probe the segment then, and report the damage with its position.
    pub(crate) fn set_unfit(&self) {
        self.is_unfit.store(true, Ordering::Relaxed);
    }

    /// Whether the file has no fingerprints at all. An empty build writes such a segment to store
    /// the recipe.
    pub(crate) fn is_empty(&self) -> bool {
        self.segment.header().fingerprint_count == 0
    }

    /// The label, or `None` if the segment has no live records: only labels of records are listed.
    pub(crate) fn label_of_records(&self) -> Option<&str> {
        (self.live_count() > 0).then_some(&self.entry.label)
    }

    /// The number of fingerprints that are not deleted.
    pub(crate) fn live_count(&self) -> u64 {
        let deleted = self.deleted.as_ref().map_or(0, |deleted| deleted.fingerprint_count());
        self.segment.header().fingerprint_count - deleted
    }

    /// The number of ids that are not deleted.
    pub(crate) fn live_id_count(&self) -> u64 {
        let deleted = self.deleted.as_ref().map_or(0, |deleted| deleted.id_count());
        self.segment.header().id_count.saturating_sub(deleted)
    }

    /// The rank of a hit in the first table, which ids and deletions refer to.
    pub(crate) fn first_rank(&self, found: &SegmentHit) -> Result<Rank> {
        let segment = &self.segment;
        match segment.first_table() {
            Some(first) if found.table != TableIndex(0) => {
                let value = first.permutation.apply(found.fingerprint);
                first.find(value)?.ok_or_else(|| {
                    let detail = format!("{} is missing from the first table", found.fingerprint);
                    segment.corrupt(&first.heads, 0, Fault::rule(20, detail))
                })
            }
            _ => Ok(found.rank),
        }
    }

    /// Removes deleted fingerprints from the matches of a batch, from position `from` on. Changes
    /// the order of the remaining matches.
    pub(crate) fn retain_live_pairs(
        &self,
        found: &mut Vec<(u32, SegmentHit)>,
        from: usize,
    ) -> Result<()> {
        let Some(deleted) = &self.deleted else { return Ok(()) };
        let mut at = from;
        while let Some((_, one)) = found.get(at) {
            if deleted.has(self.first_rank(one)?) {
                found.swap_remove(at);
            } else {
                at += 1;
            }
        }
        Ok(())
    }

    /// Appends the live fingerprints of a run of values to `live`. The run is from the first table,
    /// where `first` is the rank of its first value; in a segment without deletions, it can be from
    /// any table.
    pub(crate) fn push_live(
        &self,
        permutation: &Permutation,
        first: Rank,
        run: &[u64],
        live: &mut Vec<u64>,
    ) {
        let ranks = first.0..first.0 + run.len() as u64;
        let deleted = self.deleted_in(ranks.clone());
        let natural = |&value: &u64| permutation.invert(Permuted(value)).value();
        if deleted.is_empty() {
            return live.extend(run.iter().map(natural));
        }
        let mut deleted = deleted.iter().copied().peekable();
        let kept = ranks.zip(run).filter(|(rank, _)| deleted.next_if_eq(rank).is_none());
        live.extend(kept.map(|(_, value)| natural(value)));
    }

    /// The ranks in a range of the first table whose fingerprints are deleted, ascending.
    pub(crate) fn deleted_in(&self, ranks: Range<u64>) -> &[u64] {
        self.deleted.as_ref().map_or(&[], |deleted| deleted.fingerprints_in(ranks))
    }

    /// Whether the fingerprint at `rank` of the first table is deleted.
    pub(crate) fn is_deleted(&self, rank: Rank) -> bool {
        self.deleted.as_ref().is_some_and(|deleted| deleted.has(rank))
    }

    /// Removes deleted fingerprints from a list of matches, from position `from` on. Changes the
    /// order of the remaining matches. `position` is the position of this segment in the snapshot.
    #[inline]
    pub(crate) fn retain_live(
        &self,
        found: &mut Vec<SegmentHit>,
        from: usize,
        position: usize,
    ) -> Result<()> {
        let Some(deleted) = &self.deleted else { return Ok(()) };
        let mut at = from;
        while let Some(one) = found.get_mut(at) {
            step();
            if one.segment == position {
                let rank = self.first_rank(one)?;
                if deleted.has(rank) {
                    found.swap_remove(at);
                    continue;
                }
                // The ids of this hit are later read at this rank of the first table.
                (one.table, one.rank) = (TableIndex(0), rank);
            }
            at += 1;
        }
        Ok(())
    }

    /// The live ids of a hit.
    pub(crate) fn ids(&self, found: &SegmentHit) -> Result<LiveIds<'_>> {
        self.ids_at(self.first_rank(found)?)
    }

    /// The live ids of the fingerprint at a rank of the first table.
    pub(crate) fn ids_at(&self, rank: Rank) -> Result<LiveIds<'_>> {
        Ok(self.live_ids(rank, self.segment.record(rank)?))
    }

    /// The error for a fault in the ids, with its position in the file.
    pub(crate) fn id_fault(&self, fault: Fault) -> Error {
        match self.segment.id_places() {
            Some((_, records)) => self.segment.corrupt(records, 0, fault),
            None => Error::corrupt(self.segment.path(), Section::IdRecords, 0, fault),
        }
    }

    /// The live ids of the record at a rank of the first table.
    pub(crate) fn live_ids<'a>(&'a self, rank: Rank, record: Record<'a>) -> LiveIds<'a> {
        let deleted = self.deleted.as_ref().map_or([].as_slice(), |deleted| deleted.ids_of(rank));
        LiveIds { record, position: 0, deleted }
    }
}

/// Converts a text id that is a canonical decimal number to a number; returns other ids unchanged.
pub(crate) fn canonical(id: IdRef<'_>) -> IdRef<'_> {
    match id {
        IdRef::Text(text) => IdRef::canonical_number(text).map_or(id, IdRef::U64),
        IdRef::U64(_) => id,
    }
}

/// Counts the distinct ids of the list and empties it.
pub(crate) fn distinct_count(ids: &mut Vec<IdRef<'_>>) -> u64 {
    if ids.len() > 1 {
        ids.iter_mut().for_each(|id| *id = canonical(*id));
        ids.sort_unstable();
        ids.dedup();
    }
    let count = ids.len() as u64;
    ids.clear();
    count
}

/// An iterator over the live ids of a fingerprint in one segment.
#[derive(Clone, Debug)]
pub(crate) struct LiveIds<'a> {
    record: Record<'a>,
    /// The position of the next id in the record.
    position: u64,
    /// The deleted ids not passed yet, as pairs of rank and position.
    deleted: &'a [(u64, u64)],
}

impl<'a> LiveIds<'a> {
    /// Whether at most one id remains, deleted ids counted.
    pub(crate) fn is_single(&self) -> bool {
        self.record.is_single()
    }

    /// The sketch of the last returned id; empty in a segment without sketches.
    pub(crate) fn sketch(&self) -> &'a [u8] {
        self.record.sketch()
    }

    /// The next live id.
    pub(crate) fn next(&mut self) -> Result<Option<IdRef<'a>>, Fault> {
        loop {
            let id = self.record.next()?;
            let position = self.position;
            self.position += 1;
            match self.deleted.split_first() {
                Some((&(_, deleted), rest)) if id.is_some() && deleted == position => {
                    self.deleted = rest;
                }
                _ => return Ok(id),
            }
        }
    }
}

/// A stored fingerprint within the distance of a query, and its position in the snapshot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentHit {
    pub(crate) distance: u32,
    pub(crate) fingerprint: Fingerprint,
    /// The position of the segment in the snapshot.
    pub(crate) segment: usize,
    pub(crate) table: TableIndex,
    pub(crate) rank: Rank,
}

impl SegmentHit {
    /// The sort key of answers. It makes the hits of one fingerprint in several segments adjacent.
    pub(crate) fn key(&self) -> (u32, Fingerprint, usize) {
        (self.distance, self.fingerprint, self.segment)
    }
}
