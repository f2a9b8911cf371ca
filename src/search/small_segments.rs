//! Chooses the small segments that a searcher gathers in memory, and the time to gather them.
//!
//! A search of one table of gathered values takes a fifth of the time of a probe, and gathering a
//! segment takes the time of some queries, depending on its size. So a searcher counts its queries,
//! and gathers a segment once that would have saved time. Tables are merged like segments: new
//! values join tables that are not much larger, so that each value moves few times. All tables are
//! merged if a snapshot has enough queries for that to pay.

use std::collections::HashMap;
use std::sync::Arc;

use crate::search::in_memory::InMemory;
use crate::search::snapshot::{Gathered, Gathering, Snapshot};

/// The largest number of values of a gathered segment.
const SEGMENT_MAX: u64 = 1 << 17;
/// The largest number of gathered values of a snapshot, smallest segments first; each value takes
/// 56 to 64 bytes.
const VALUES_MAX: u64 = 1 << 18;
/// Number of values that can be gathered in the time that a query saves by not probing a segment.
const VALUES_PER_PROBE: u64 = 6;
/// Number of values that can be gathered in the time that a query saves by searching one table
/// fewer.
const VALUES_PER_TABLE: u64 = 1;
/// New values are merged with tables of at most this many times their number of values.
const GROWTH: u64 = 2;
/// Number of queries between two checks whether gathering pays.
const STEP: u64 = 64;

/// The small segments of the searched snapshot, gathered or waiting.
#[derive(Debug)]
pub(super) struct SmallSegments {
    in_memory: InMemory,
    /// The version of the shared tables that this searcher uses.
    version: u64,
    /// Whether merging two tables failed because their values are too clustered.
    are_crowded: bool,
    /// The small segments that are not gathered yet.
    waiting: Vec<Waiting>,
    /// Whether `waiting` was chosen for this snapshot. That happens at a later query, so that a
    /// searcher with few queries does no work for it.
    are_chosen: bool,
    /// Numbers of queries: of this searcher, in this snapshot, and in the previous snapshot.
    queries: u64,
    queries_here: u64,
    queries_before: u64,
}

#[derive(Debug)]
struct Waiting {
    /// The position of the segment in this snapshot, and its digest, which is equal in all
    /// snapshots.
    position: usize,
    digest: [u8; 16],
    value_count: u64,
    since: u64,
}

/// The parts to merge into a new table.
struct NewTable {
    /// Positions of segments.
    segments: Vec<usize>,
    /// Positions of tables.
    tables: Vec<usize>,
}

impl SmallSegments {
    pub(super) fn new(snapshot: &Snapshot) -> Self {
        let mut small = SmallSegments {
            in_memory: InMemory::default(),
            version: 0,
            are_crowded: false,
            waiting: Vec::new(),
            are_chosen: false,
            queries: 0,
            queries_here: 0,
            queries_before: 0,
        };
        small.take_over(snapshot);
        small
    }

    /// The gathered values of the snapshot.
    #[inline]
    pub(super) fn in_memory(&mut self) -> &mut InMemory {
        &mut self.in_memory
    }

    /// Switches to another snapshot.
    pub(super) fn turn_to(&mut self, snapshot: &Snapshot) {
        self.queries_before = std::mem::take(&mut self.queries_here);
        self.are_chosen = false;
        // The current tables were prepared for the previous snapshot.
        self.in_memory = InMemory::default();
        self.version = 0;
        self.take_over(snapshot);
        if self.queries_before >= STEP {
            self.gather(snapshot);
        }
    }

    /// Counts a query; at every [`STEP`] queries, gathers values if that pays now.
    #[inline]
    pub(super) fn count(&mut self, snapshot: &Snapshot) {
        self.queries += 1;
        self.queries_here += 1;
        if self.queries_here.is_multiple_of(STEP) {
            self.gather(snapshot);
        }
    }

    /// Takes over the shared tables if they changed.
    fn take_over(&mut self, snapshot: &Snapshot) {
        let version = snapshot.pool().version();
        if version == self.version {
            return;
        }
        let Some(shared) = snapshot.pool().try_lock() else { return };
        let is_later = shared.generation > snapshot.generation();
        self.version = version;
        self.are_crowded = shared.are_crowded;
        // Tables for a later snapshot may lack segments of this one, so existing tables are kept.
        if !is_later || self.in_memory.tables().is_empty() {
            self.in_memory = InMemory::new(&shared.all, snapshot.segments());
            self.are_chosen = false;
        }
    }

    /// Makes a table of the segments that had enough queries for gathering to pay, or whose size is
    /// small compared with the number of queries in the previous snapshot.
    #[cold]
    fn gather(&mut self, snapshot: &Snapshot) {
        self.take_over(snapshot);
        if !std::mem::replace(&mut self.are_chosen, true) {
            self.choose(snapshot);
        }
        if let Some(new_table) = self.worth_it() {
            self.make(snapshot, &new_table);
        }
    }

    /// Chooses the small segments that wait to be gathered; none if the store has a single segment.
    fn choose(&mut self, snapshot: &Snapshot) {
        let known = std::mem::take(&mut self.waiting);
        let known: HashMap<[u8; 16], u64> = known.iter().map(|it| (it.digest, it.since)).collect();
        let segments = snapshot.segments();
        if segments.iter().filter(|open| !open.is_empty()).count() < 2 {
            return;
        }
        let before = self.queries - self.queries_here;
        let mut small: Vec<Waiting> = (0..)
            .zip(segments)
            .map(|(position, open)| {
                let digest = open.entry.digest.bytes();
                let value_count = open.segment.header().fingerprint_count;
                let since = known.get(&digest).copied().unwrap_or(before);
                Waiting { position, digest, value_count, since }
            })
            .filter(|it| (1..=SEGMENT_MAX).contains(&it.value_count))
            .collect();
        small.sort_by_key(|it| it.value_count);
        let mut sum = 0;
        small.retain(|it| {
            sum += it.value_count;
            let is_new = !self.in_memory.has(it.position) && segments[it.position].is_fit();
            sum <= VALUES_MAX && is_new
        });
        self.waiting = small;
    }

    /// The segments and tables to merge, if gathering or merging pays now.
    fn worth_it(&self) -> Option<NewTable> {
        let tables = self.in_memory.tables();
        let mut by_len: Vec<usize> =
            if self.are_crowded { Vec::new() } else { (0..tables.len()).collect() };
        by_len.sort_by_key(|&at| tables[at].live_len());
        let is_worth_it = |it: &&Waiting| {
            let queries = (self.queries - it.since).max(self.queries_before);
            queries >= it.value_count / VALUES_PER_PROBE
        };
        let new: Vec<&Waiting> = self.waiting.iter().filter(is_worth_it).collect();
        let segments: Vec<usize> = new.iter().map(|it| it.position).collect();
        if segments.is_empty() {
            let sum: u64 = by_len.iter().map(|&at| tables[at].live_len()).sum();
            let fewer = (by_len.len() as u64).saturating_sub(1);
            let is_worth_it = sum <= self.queries_here * fewer * VALUES_PER_TABLE;
            return (fewer > 0 && is_worth_it).then_some(NewTable { segments, tables: by_len });
        }
        let mut sum: u64 = new.iter().map(|it| it.value_count).sum();
        by_len.retain(|&at| {
            let len = tables[at].live_len();
            let is_taken = len <= sum * GROWTH;
            sum += if is_taken { len } else { 0 };
            is_taken
        });
        Some(NewTable { segments, tables: by_len })
    }

    /// Makes one table and shares it with all searchers, unless another searcher is changing the
    /// tables or uses a later snapshot.
    fn make(&mut self, snapshot: &Snapshot, new_table: &NewTable) {
        let pool = snapshot.pool();
        let Some(mut shared) = pool.try_lock() else { return };
        if pool.version() != self.version || shared.generation > snapshot.generation() {
            return;
        }
        let mut made = Vec::new();
        let mut gone = new_table.tables.as_slice();
        match self.gathered(snapshot, &new_table.segments, gone) {
            Some(table) => made.push(table),
            None => {
                shared.are_crowded |= !gone.is_empty();
                gone = &[];
                for position in &new_table.segments {
                    match self.gathered(snapshot, &[*position], &[]) {
                        Some(table) => made.push(table),
                        None => snapshot.segments()[*position].set_unfit(),
                    }
                }
            }
        }
        let tables = self.in_memory.tables().iter().enumerate();
        let kept = tables.filter(|(at, table)| !gone.contains(at) && !table.is_outdated());
        shared.all = kept
            .map(|(_, table)| Arc::clone(table.values()))
            .chain(made.into_iter().map(Arc::new))
            .collect();
        shared.generation = snapshot.generation();
        pool.announce();
        drop(shared);
        self.take_over(snapshot);
    }

    /// Merges these segments and tables into one; `None` if the values are too clustered, or if
    /// there are no values.
    fn gathered(
        &self,
        snapshot: &Snapshot,
        segments: &[usize],
        tables: &[usize],
    ) -> Option<Gathered> {
        let mut gathering = Gathering::default();
        for &at in tables {
            gathering.add_table(self.in_memory.tables()[at].values(), snapshot.segments());
        }
        for open in segments.iter().map(|&position| &snapshot.segments()[position]) {
            if gathering.add_segment(&open.segment).is_err() {
                open.set_unfit();
            }
        }
        gathering.finish()
    }
}
