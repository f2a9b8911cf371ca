//! Answers: hits, the nearest first, with their ids, and counters of the search.

use std::collections::HashSet;
use std::path::Path;
use std::time::Instant;

use crate::base::error::Result;
use crate::base::section::StoreIndex;
use crate::search::snapshot::{LiveIds, SegmentHit, Snapshot, canonical};
use crate::search::stats::SearchStats;
use fpstore_base::{Fingerprint, Id, IdRef, Width, setters};

/// A stored fingerprint within the distance of a search, with its ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// The stored fingerprint.
    pub fingerprint: Fingerprint,
    /// Its distance from the needle in bits.
    pub distance: u32,
    /// The ids of the fingerprint in the order in which they were stored, each once; empty in a
    /// store without ids.
    pub ids: Vec<Id>,
}

/// Limits of a search. [`Outcome::cut`](crate::Outcome::cut) reports whether a limit cut the
/// answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    pub(crate) limit: Option<usize>,
    pub(crate) max_compared: Option<u64>,
    pub(crate) deadline: Option<Instant>,
}

impl Limits {
    setters! {
        /// Keeps only the `limit` nearest matches, ties in order of fingerprints. The search is as
        /// slow as without a limit; [`Searcher::nearest`](crate::Searcher::nearest) is faster.
        limit: impl Into<Option<usize>>,
        /// Stops after comparing about `max_compared` values; probed and scanned values both count.
        max_compared: impl Into<Option<u64>>,
        /// Stops at about this time. The clock is read after every 256 scanned or 512 probed
        /// values, so at least as many values are compared.
        deadline: impl Into<Option<Instant>>,
    }
}

fpstore_base::named! {
    /// The limit that cut an answer.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum CutBy {
        /// [`Limits::limit`]: the answer has the nearest matches, and there are more matches.
        Limit = "limit",
        /// [`Limits::max_compared`]: the search ended early, so any match can be missing, even the
        /// nearest.
        MaxCompared = "max_compared",
        /// [`Limits::deadline`]: the search ended early, so any match can be missing.
        Deadline = "deadline",
        /// [`Searcher::stop_flag`](crate::Searcher::stop_flag): the search ended early, so any
        /// match can be missing.
        Stop = "stop",
    }
}

/// Whether an answer is complete, and its cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// Whether a limit cut the answer: the store has, or may have, more matches.
    pub cut: bool,
    /// The limit that cut the answer; [`CutBy::Limit`] only if no other limit did.
    pub cut_by: Option<CutBy>,
    /// Counters of the search.
    pub stats: SearchStats,
}

impl Outcome {
    pub(crate) fn new(cut_by: Option<CutBy>, stats: SearchStats) -> Self {
        Outcome { cut: cut_by.is_some(), cut_by, stats }
    }
}

/// The matches of one search, each once, sorted by distance, then by fingerprint.
///
/// It borrows the [`Searcher`](crate::Searcher), so it must be dropped before the next search.
#[derive(Clone, Copy, Debug)]
#[must_use = "a limit may have cut it, and it holds the matches"]
pub struct Answer<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) found: &'a [SegmentHit],
    pub(crate) hit_count: usize,
    pub(crate) outcome: Outcome,
}

impl<'a> Answer<'a> {
    /// The matches, sorted by distance, then by fingerprint.
    pub fn hits(&self) -> impl Iterator<Item = Hit<'a>> + use<'a> {
        let snapshot = self.snapshot;
        self.found
            .chunk_by(|a, b| a.fingerprint == b.fingerprint)
            .map(move |places| Hit::new(snapshot, places))
    }

    /// The directories of the stores that were searched together, in the order of [`StoreIndex`];
    /// empty if one store was searched.
    pub fn united_paths(&self) -> Vec<&'a Path> {
        self.snapshot.states().iter().map(|state| state.path()).collect()
    }

    /// The width of the fingerprints.
    pub fn width(&self) -> Width {
        self.snapshot.width()
    }

    /// The number of matches.
    pub fn len(&self) -> usize {
        self.hit_count
    }

    /// Whether there are no matches.
    pub fn is_empty(&self) -> bool {
        self.hit_count == 0
    }

    /// Whether a limit cut the answer, and counters of the search.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// The same matches with all their ids, as owned values.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`](crate::Error::Corrupt) if the bytes of an id are corrupt.
    pub fn to_matches(&self) -> Result<Vec<Match>> {
        self.hits().map(|hit| hit.to_match()).collect()
    }
}

/// One match of an [`Answer`].
#[derive(Clone, Copy, Debug)]
pub struct Hit<'a> {
    snapshot: &'a Snapshot,
    /// The positions of the fingerprint, one for each segment that contains it; never empty.
    places: &'a [SegmentHit],
}

impl<'a> Hit<'a> {
    /// The match of one fingerprint that is stored at these positions.
    pub(crate) fn new(snapshot: &'a Snapshot, places: &'a [SegmentHit]) -> Self {
        Hit { snapshot, places }
    }

    /// The stored fingerprint.
    pub fn fingerprint(&self) -> Fingerprint {
        self.places.first().map(|found| found.fingerprint).unwrap_or_default()
    }

    /// The distance of the fingerprint from the needle in bits.
    pub fn distance(&self) -> u32 {
        self.places.first().map(|found| found.distance).unwrap_or_default()
    }

    /// The ids of the fingerprint in the order in which they were stored, older segments first. A
    /// record that was added several times to a store is returned once. The first id costs most: it
    /// reads the records of up to 31 neighbours and the pages with the ids of this fingerprint.
    pub fn ids(&self) -> Ids<'a> {
        Ids { is_once: true, ..self.stored_ids() }
    }

    /// The ids of the fingerprint as they are stored: the id of a record that was added several
    /// times is returned several times. [`StoreInfo::id_count`](crate::info::StoreInfo::id_count)
    /// counts ids in this way.
    pub fn stored_ids(&self) -> Ids<'a> {
        Ids::stored(self.snapshot, self.places)
    }

    /// The labels of the segments that contain the fingerprint, older segments first; empty strings
    /// for segments without a label.
    pub fn labels(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let snapshot = self.snapshot;
        self.places.iter().map(|found| snapshot.label(found))
    }

    /// The label of each id, in the order of [`Hit::ids`]; for a hit without ids, the label of each
    /// segment that contains it.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`](crate::Error::Corrupt) if the bytes of an id are corrupt.
    pub fn id_labels(&self) -> Result<Vec<&'a str>> {
        let mut labels = Vec::new();
        let mut ids = self.ids();
        while let Some(id) = ids.next() {
            id?;
            labels.push(ids.label());
        }
        if labels.is_empty() {
            labels.extend(self.labels());
        }
        Ok(labels)
    }

    /// This match split by store, if several stores are searched together: for each store that
    /// contains it, a hit with the ids of that store only, in the order of the stores. If one store
    /// is searched, this match itself.
    pub fn stores(&self) -> impl Iterator<Item = (StoreIndex, Hit<'a>)> + use<'a> {
        let snapshot = self.snapshot;
        let store_of = |found: &SegmentHit| snapshot.store_of(found);
        self.places
            .chunk_by(move |a, b| store_of(a) == store_of(b))
            .map(move |places| (snapshot.store_of(&places[0]), Hit::new(snapshot, places)))
    }

    /// The number of ids that [`Hit::ids`] returns. Counting costs as much as reading all of them.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`](crate::Error::Corrupt) if the bytes of an id are corrupt.
    pub fn id_count(&self) -> Result<u64> {
        self.ids().try_fold(0, |count, id| id.map(|_| count + 1))
    }

    /// The same match with all its ids, as an owned value.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`](crate::Error::Corrupt) if the bytes of an id are corrupt.
    pub fn to_match(self) -> Result<Match> {
        let ids: Result<Vec<Id>> = self.ids().map(|id| id.map(IdRef::to_id)).collect();
        Ok(Match { fingerprint: self.fingerprint(), distance: self.distance(), ids: ids? })
    }
}

/// The ids of a [`Hit`]. The iterator ends after an error.
#[derive(Clone, Debug)]
pub struct Ids<'a> {
    snapshot: &'a Snapshot,
    /// The positions, each in one segment, whose ids are not read yet.
    places: &'a [SegmentHit],
    open: Option<(&'a SegmentHit, LiveIds<'a>)>,
    /// Whether repeated ids of a store are skipped.
    is_once: bool,
    /// The ids returned so far of the current store, if the next id can repeat one of them.
    earlier: Option<EarlierIds<'a>>,
    failed: bool,
}

impl<'a> Ids<'a> {
    /// An iterator over the ids at these positions as they are stored, repeated ids included.
    fn stored(snapshot: &'a Snapshot, places: &'a [SegmentHit]) -> Self {
        Ids { snapshot, places, open: None, is_once: false, earlier: None, failed: false }
    }

    /// The sketch stored with the last returned id; empty before the first id, after the end, and
    /// in a store without sketches.
    pub fn sketch(&self) -> &'a [u8] {
        self.open.as_ref().map_or(&[], |(_, ids)| ids.sketch())
    }

    /// The label of the segment that holds the last returned id; empty if the segment has no label,
    /// before the first id, and after the end.
    pub fn label(&self) -> &'a str {
        self.open.as_ref().map_or("", |(found, _)| self.snapshot.label(found))
    }

    fn step(&mut self) -> Result<Option<IdRef<'a>>> {
        let snapshot = self.snapshot;
        loop {
            if let Some((found, ids)) = &mut self.open
                && let Some(id) = ids.next().map_err(|fault| snapshot.id_fault(found, fault))?
            {
                let is_new = match &mut self.earlier {
                    Some(earlier) => earlier.insert(id, snapshot)?,
                    None => true,
                };
                if is_new {
                    return Ok(Some(id));
                }
                continue;
            }
            let Some((found, rest)) = self.places.split_first() else { return Ok(None) };
            let Some(ids) = snapshot.ids(found)? else { return Ok(None) };
            let is_same = |other| snapshot.store_of(other) == snapshot.store_of(found);
            let before = self.open.as_ref().map(|(before, _)| *before);
            if self.is_once && !before.is_some_and(is_same) {
                let is_only = ids.is_single() && !rest.first().is_some_and(is_same);
                self.earlier = (!is_only).then(|| EarlierIds::new(self.places));
            }
            (self.open, self.places) = (Some((found, ids)), rest);
        }
    }
}

/// Number of ids that are compared by their keys before a hash set is made.
const FEW: usize = 16;

/// The ids of a hit in one store that were already returned. Most lists of ids are short or
/// ascending, and then this allocates no memory.
#[derive(Clone, Debug)]
struct EarlierIds<'a> {
    /// The positions of this store, then of later stores; earlier ids are read again from here.
    places: &'a [SegmentHit],
    /// The number of ids that were inserted.
    read_count: usize,
    /// The keys of the first inserted ids, see [`key_of`].
    keys: [u64; FEW],
    largest_key: u64,
    /// All distinct ids. Made when, after the first [`FEW`] ids, the key of the next id does not
    /// exceed all earlier keys.
    many: Option<HashSet<IdRef<'a>>>,
}

impl<'a> EarlierIds<'a> {
    /// An empty list of ids, for the store of the first of these positions.
    fn new(places: &'a [SegmentHit]) -> Self {
        EarlierIds { places, read_count: 0, keys: [0; FEW], largest_key: 0, many: None }
    }

    /// Adds the next id. Returns whether it is new. A number and its text are the same id, because
    /// segments can store numbers or texts.
    fn insert(&mut self, id: IdRef<'a>, snapshot: &'a Snapshot) -> Result<bool> {
        let id = canonical(id);
        let (key, before) = (key_of(id), self.read_count);
        self.read_count += 1;
        let is_new = if key > self.largest_key || before == 0 {
            self.largest_key = key;
            true
        } else {
            before < FEW && !self.keys[..before].contains(&key)
        };
        if before < FEW {
            self.keys[before] = key;
        }
        if is_new && self.many.is_none() {
            return Ok(true);
        }
        let read = Ids::stored(snapshot, self.places).take(before).map(|id| id.map(canonical));
        if before < FEW {
            for earlier in read {
                if earlier? == id {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        let many = match &mut self.many {
            Some(many) => many,
            None => self.many.insert(read.collect::<Result<_>>()?),
        };
        Ok(many.insert(id))
    }
}

/// A key that is equal for equal ids: the number, or the last bytes of a text.
fn key_of(id: IdRef<'_>) -> u64 {
    match id {
        IdRef::U64(number) => number,
        IdRef::Text(text) => match text.as_bytes().last_chunk() {
            Some(last) => u64::from_be_bytes(*last),
            None => text.bytes().fold(0, |key, byte| key << 8 | u64::from(byte)),
        },
    }
}

impl<'a> Iterator for Ids<'a> {
    type Item = Result<IdRef<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let step = self.step();
        self.failed = step.is_err();
        step.transpose()
    }
}
