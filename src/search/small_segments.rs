//! Which segments a searcher gathers in memory, and when.
//!
//! A query of a table of gathered values takes a fifth of the time of a probe, and gathering a segment
//! takes what some queries take, by its size. So a searcher counts what it asks. Tables become one as
//! segments do: new values go into a table with those that are not much larger, so that a value moves
//! few times, and all of them where a state stays for so long that it is worth it.

use std::collections::HashMap;
use std::sync::Arc;

use crate::search::in_memory::InMemory;
use crate::search::snapshot::{Gathered, Gathering, Snapshot};

/// The most values of a segment that is gathered.
const SEGMENT_MAX: u64 = 1 << 17;
/// The most values of a state that are gathered, the smallest segments first; each takes 56 to 64
/// bytes.
const VALUES_MAX: u64 = 1 << 18;
/// Values that can be gathered in the time that a query saves when a segment is not probed.
const VALUES_PER_PROBE: u64 = 6;
/// The same for one table less.
const VALUES_PER_TABLE: u64 = 1;
/// New values go into one table with at most this many times as many.
const GROWTH: u64 = 2;
/// Queries between two looks, and before the first one.
const STEP: u64 = 64;

/// The small segments of the state that a searcher searches.
#[derive(Debug)]
pub(super) struct SmallSegments {
    in_memory: InMemory,
    /// The version of the shared tables that it has.
    version: u64,
    /// Whether the values of two tables were crowded in one.
    are_crowded: bool,
    /// Those that nobody has gathered yet, and the queries of the searcher before each was there.
    waiting: Vec<Waiting>,
    /// Whether they are of this state. They are chosen late, so that a searcher of few queries does
    /// nothing for them.
    are_chosen: bool,
    /// The queries so far, and how many of them were of this state, and of the one before.
    asked: u64,
    asked_here: u64,
    asked_before: u64,
}

#[derive(Debug)]
struct Waiting {
    /// Its position in the snapshot, and the digest that names it in all of them.
    position: usize,
    digest: [u8; 16],
    value_count: u64,
    since: u64,
}

/// What becomes one table.
struct Wanted {
    /// Positions of segments,
    segments: Vec<usize>,
    /// and of tables.
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
            asked: 0,
            asked_here: 0,
            asked_before: 0,
        };
        small.take_over(snapshot);
        small
    }

    /// What is in memory of the state.
    #[inline]
    pub(super) fn in_memory(&mut self) -> &mut InMemory {
        &mut self.in_memory
    }

    /// Goes on with another state.
    pub(super) fn turn_to(&mut self, snapshot: &Snapshot) {
        self.asked_before = std::mem::take(&mut self.asked_here);
        self.are_chosen = false;
        // The tables that it has are for the state before.
        self.in_memory = InMemory::default();
        self.version = 0;
        self.take_over(snapshot);
        if self.asked_before >= STEP {
            self.gather(snapshot);
        }
    }

    /// Counts a query, and gathers what it makes worth it.
    #[inline]
    pub(super) fn count(&mut self, snapshot: &Snapshot) {
        self.asked += 1;
        self.asked_here += 1;
        if self.asked_here.is_multiple_of(STEP) {
            self.gather(snapshot);
        }
    }

    /// Takes the tables that searchers share now.
    fn take_over(&mut self, snapshot: &Snapshot) {
        let version = snapshot.pool().version();
        if version == self.version {
            return;
        }
        let Some(shared) = snapshot.pool().try_lock() else { return };
        let is_later = shared.generation > snapshot.generation();
        self.version = version;
        self.are_crowded = shared.are_crowded;
        // Those of a later state lack segments of this one.
        if !is_later || self.in_memory.tables().is_empty() {
            self.in_memory = InMemory::new(&shared.all, snapshot.segments());
            self.are_chosen = false;
        }
    }

    /// Gathers the segments that were asked so often that it would have been worth it, or are small
    /// beside the queries that a state gets.
    #[cold]
    fn gather(&mut self, snapshot: &Snapshot) {
        self.take_over(snapshot);
        if !std::mem::replace(&mut self.are_chosen, true) {
            self.choose(snapshot);
        }
        if let Some(wanted) = self.worth_it() {
            self.make(snapshot, &wanted);
        }
    }

    /// The small ones of several segments; of a single one none is worth it.
    fn choose(&mut self, snapshot: &Snapshot) {
        let known = std::mem::take(&mut self.waiting);
        let known: HashMap<[u8; 16], u64> = known.iter().map(|it| (it.digest, it.since)).collect();
        let segments = snapshot.segments();
        if segments.iter().filter(|open| !open.is_empty()).count() < 2 {
            return;
        }
        let before = self.asked - self.asked_here;
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

    /// What is worth to be gathered now.
    fn worth_it(&self) -> Option<Wanted> {
        let tables = self.in_memory.tables();
        let mut by_len: Vec<usize> =
            if self.are_crowded { Vec::new() } else { (0..tables.len()).collect() };
        by_len.sort_by_key(|&at| tables[at].live_len());
        let is_worth_it = |it: &&Waiting| {
            let queries = (self.asked - it.since).max(self.asked_before);
            queries >= it.value_count / VALUES_PER_PROBE
        };
        let new: Vec<&Waiting> = self.waiting.iter().filter(is_worth_it).collect();
        let segments: Vec<usize> = new.iter().map(|it| it.position).collect();
        if segments.is_empty() {
            let sum: u64 = by_len.iter().map(|&at| tables[at].live_len()).sum();
            let fewer = (by_len.len() as u64).saturating_sub(1);
            let is_worth_it = sum <= self.asked_here * fewer * VALUES_PER_TABLE;
            return (fewer > 0 && is_worth_it).then_some(Wanted { segments, tables: by_len });
        }
        let mut sum: u64 = new.iter().map(|it| it.value_count).sum();
        by_len.retain(|&at| {
            let len = tables[at].live_len();
            let is_taken = len <= sum * GROWTH;
            sum += if is_taken { len } else { 0 };
            is_taken
        });
        Some(Wanted { segments, tables: by_len })
    }

    /// Makes one table, for all searchers, unless another one changes the tables or is of a later
    /// state.
    fn make(&mut self, snapshot: &Snapshot, wanted: &Wanted) {
        let pool = snapshot.pool();
        let Some(mut shared) = pool.try_lock() else { return };
        if pool.version() != self.version || shared.generation > snapshot.generation() {
            return;
        }
        let mut made = Vec::new();
        let mut gone = wanted.tables.as_slice();
        match self.gathered(snapshot, &wanted.segments, gone) {
            Some(table) => made.push(table),
            None => {
                shared.are_crowded |= !gone.is_empty();
                gone = &[];
                for position in &wanted.segments {
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

    /// One table of these segments and tables; `None` if the values are crowded, or there are none.
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
