//! Which segments a searcher gathers in memory, and when.
//!
//! A query of a gathered segment takes a tenth of the time of a probe, and gathering one takes what
//! some queries take, by its size. So a searcher counts what it asks.

use std::collections::HashMap;

use crate::search::snapshot::Snapshot;

/// The most values of a segment that is gathered.
const SEGMENT_MAX: u64 = 1 << 17;
/// The most values of a state that are gathered, the smallest segments first; each takes 56 to 64
/// bytes.
const VALUES_MAX: u64 = 1 << 18;
/// Values that can be gathered in the time that a query of a gathered segment saves.
const VALUES_PER_QUERY: u64 = 6;
/// Queries between two looks, and before the first one.
const STEP: u64 = 64;

/// The small segments of the state that a searcher searches.
#[derive(Debug, Default)]
pub(super) struct SmallSegments {
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

impl SmallSegments {
    /// Goes on with another state.
    pub(super) fn turn_to(&mut self, snapshot: &Snapshot) {
        self.asked_before = std::mem::take(&mut self.asked_here);
        self.are_chosen = false;
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

    /// Gathers each segment that was asked so often that it would have been worth it, or is small
    /// beside the queries that a state gets.
    #[cold]
    fn gather(&mut self, snapshot: &Snapshot) {
        if !std::mem::replace(&mut self.are_chosen, true) {
            self.choose(snapshot);
        }
        let SmallSegments { asked, asked_before, .. } = *self;
        self.waiting.retain(|it| {
            let queries = (asked - it.since).max(asked_before);
            let is_worth_it = queries >= it.value_count / VALUES_PER_QUERY;
            if is_worth_it && let Some(open) = snapshot.segments().get(it.position) {
                open.gather();
            }
            !is_worth_it
        });
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
            sum <= VALUES_MAX && segments[it.position].is_ungathered()
        });
        self.waiting = small;
    }
}
