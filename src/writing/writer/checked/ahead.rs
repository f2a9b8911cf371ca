//! Comparisons before the writer's turn, in which it holds the writer lock: expensive comparisons
//! with the store run while other writers hold the lock, and the turn only compares with newer
//! records.
//!
//! Used by the server. Segments never change, and deletions only grow; so the nearest fingerprint
//! in one snapshot is the nearest one in a later snapshot, unless it was deleted or a new segment
//! contains a nearer one.

use std::cmp::min_by_key;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use fpstore_base::Fingerprint;

use crate::base::error::Result;
use crate::bytes::checksum::Digest;
use crate::search::snapshot::Snapshot;
use crate::search::{Limits, Searcher};
use crate::store::Store;

/// For each of several fingerprints, the nearest stored fingerprint in one snapshot of a store.
/// Further comparisons update the result to later snapshots.
#[derive(Debug)]
pub struct Ahead {
    k: u32,
    items: Vec<Item>,
    /// The snapshot with which all items were compared; `None` before the first comparison.
    state: Option<Arc<Snapshot>>,
    /// The comparison with another snapshot, if one is in progress.
    moving: Option<Box<Moving>>,
}

#[derive(Debug)]
struct Item {
    fingerprint: Fingerprint,
    /// The nearest stored fingerprint within `k`; of equally near ones the smallest.
    nearest: Option<Fingerprint>,
}

#[derive(Debug)]
struct Moving {
    to: Arc<Snapshot>,
    /// Searches all segments of the snapshot `to`.
    whole: Searcher,
    /// Searches the segments of `to` that the preceding snapshot does not contain.
    new: Searcher,
    /// The number of items compared with `to`.
    count: usize,
}

/// The result of [`Ahead::compare`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparisonProgress {
    /// All items were compared.
    All,
    /// Items remain: the time is over, or an item needs a search of the whole store, which was not
    /// allowed.
    Some,
    /// The deadline cut a search, so the result is unknown.
    Cut,
}

impl Ahead {
    /// Fingerprints to compare, all of them still without a result.
    pub fn new(fingerprints: impl IntoIterator<Item = Fingerprint>, k: u32) -> Self {
        let item = |fingerprint| Item { fingerprint, nearest: None };
        let items = fingerprints.into_iter().map(item).collect();
        Ahead { k, items, state: None, moving: None }
    }

    /// Starts comparing with the present snapshot of `store`, unless a comparison is still in
    /// progress.
    pub fn set_out(&mut self, store: &Store) {
        let to = store.snapshot();
        if self.moving.is_some() || self.is_at_state(&to) {
            return;
        }
        let known: BTreeMap<u64, Digest> = match &self.state {
            Some(state) if state.store_id() == to.store_id() => {
                state.segments().iter().map(|open| (open.entry.number, open.entry.digest)).collect()
            }
            // Results for another store are useless: drop them.
            _ => {
                self.items.iter_mut().for_each(|item| item.nearest = None);
                BTreeMap::new()
            }
        };
        let is_new = |at: &usize| {
            let entry = &to.segments()[*at].entry;
            known.get(&entry.number) != Some(&entry.digest)
        };
        let new: Vec<usize> = (0..to.segments().len()).filter(is_new).collect();
        let new = Searcher::new(Arc::new(to.part(&new)));
        let whole = Searcher::new(Arc::clone(&to));
        self.moving = Some(Box::new(Moving { to, whole, new, count: 0 }));
    }

    /// Whether all items were compared with the present snapshot of `store`.
    pub fn is_at(&self, store: &Store) -> bool {
        self.is_at_state(&store.snapshot())
    }

    fn is_at_state(&self, state: &Snapshot) -> bool {
        let id = |state: &Snapshot| (state.store_id(), state.generation());
        self.moving.is_none() && self.state.as_deref().is_some_and(|at| id(at) == id(state))
    }

    /// The expected time in nanoseconds to complete the comparison in progress, if none of the
    /// nearest fingerprints was deleted.
    pub fn expected_nanos(&self) -> f64 {
        let Some(moving) = &self.moving else { return 0.0 };
        let new = moving.new.snapshot().segments();
        let each: f64 = new.iter().map(|open| open.plan(self.k).expected_nanos).sum();
        each * (self.items.len() - moving.count) as f64
    }

    /// Compares items until the time `end`. If the nearest fingerprint of an item was deleted, the
    /// item needs a search of the whole store, which is only done with `may_be_costly`.
    ///
    /// # Errors
    ///
    /// The same as [`Searcher::search`].
    pub fn compare(
        &mut self,
        limits: &Limits,
        end: Option<Instant>,
        may_be_costly: bool,
    ) -> Result<ComparisonProgress> {
        let Some(moving) = &mut self.moving else { return Ok(ComparisonProgress::All) };
        let start = moving.count;
        while let Some(item) = self.items.get_mut(moving.count) {
            if moving.count > start && end.is_some_and(|end| Instant::now() >= end) {
                return Ok(ComparisonProgress::Some);
            }
            let is_there = match item.nearest {
                Some(nearest) => !moving.whole.search(nearest, 0)?.is_empty(),
                None => true,
            };
            if !is_there && !may_be_costly {
                return Ok(ComparisonProgress::Some);
            }
            let known = item.nearest.filter(|_| is_there);
            let searcher = if is_there { &mut moving.new } else { &mut moving.whole };
            let k = known.map_or(self.k, |known| known.distance(item.fingerprint));
            let answer = searcher.nearest_with(item.fingerprint, 1, k, limits)?;
            if answer.outcome().cut {
                return Ok(ComparisonProgress::Cut);
            }
            let found = answer.hits().next().map(|hit| hit.fingerprint());
            let rank = |value: &Fingerprint| (value.distance(item.fingerprint), *value);
            item.nearest = match (known, found) {
                (Some(known), Some(found)) => Some(min_by_key(known, found, rank)),
                (known, found) => known.or(found),
            };
            moving.count += 1;
        }
        self.state = self.moving.take().map(|moving| Arc::clone(&moving.to));
        Ok(ComparisonProgress::All)
    }

    /// The nearest fingerprint of each item, in the order of the items, in the snapshot of the last
    /// complete comparison.
    pub fn nearest(&self) -> impl Iterator<Item = Option<Fingerprint>> + '_ {
        self.items.iter().map(|item| item.nearest)
    }
}
