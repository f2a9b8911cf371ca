//! Which segments a searcher gathers in memory, and when.
//!
//! A query of a gathered segment takes a tenth of the time of a probe, and gathering one takes what
//! some queries take, by its size. So a searcher counts what it asks.

use std::sync::Arc;

use crate::search::snapshot::Snapshot;

/// The most values of a segment that is gathered.
const SEGMENT_MAX: u64 = 1 << 17;
/// The most values of a state that are gathered, the smallest segments first; each takes 56 to 64
/// bytes.
const VALUES_MAX: u64 = 1 << 18;
/// Values that can be gathered in the time that a query of a gathered segment saves.
const VALUES_PER_QUERY: u64 = 6;
/// Queries between two looks.
const STEP: u64 = 64;

/// The small segments of the state that a searcher searches.
#[derive(Debug, Default)]
pub(super) struct SmallSegments {
    /// Those that nobody has gathered yet.
    waiting: Vec<Waiting>,
    /// The queries so far, and how many of them were of this state, and of the one before.
    asked: u64,
    asked_here: u64,
    asked_before: u64,
}

#[derive(Debug)]
struct Waiting {
    /// Its position in the snapshot, and what names it in later ones.
    position: usize,
    number: u64,
    value_count: u64,
    /// The queries of the searcher before it was there.
    since: u64,
}

impl SmallSegments {
    /// The segments of a snapshot that are worth it: there are two or more segments.
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        let mut small = SmallSegments::default();
        small.choose(snapshot);
        small
    }

    /// The same for another state.
    pub(super) fn turn_to(&mut self, snapshot: &Snapshot) {
        self.asked_before = std::mem::take(&mut self.asked_here);
        self.choose(snapshot);
        self.gather(snapshot);
    }

    fn choose(&mut self, snapshot: &Snapshot) {
        let known = std::mem::take(&mut self.waiting);
        let segments = snapshot.segments();
        if segments.iter().filter(|open| !open.is_empty()).count() < 2 {
            return;
        }
        let mut small: Vec<Waiting> = (0..)
            .zip(segments)
            .map(|(position, open)| {
                let number = open.entry.number;
                let known = known.iter().find(|it| it.number == number);
                let value_count = open.segment.header().fingerprint_count;
                let since = known.map_or(self.asked, |it| it.since);
                Waiting { position, number, value_count, since }
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

    /// Counts a query, and gathers what it makes worth it.
    #[inline]
    pub(super) fn count(&mut self, snapshot: &Arc<Snapshot>) {
        self.asked += 1;
        self.asked_here += 1;
        if self.asked_here.is_multiple_of(STEP) && !self.waiting.is_empty() {
            self.gather(snapshot);
        }
    }

    /// Gathers each segment that was asked so often that it would have been worth it, or is small
    /// beside the queries that a state gets.
    #[cold]
    fn gather(&mut self, snapshot: &Snapshot) {
        let SmallSegments { asked, asked_before, .. } = *self;
        self.waiting.retain(|it| {
            let queries = (asked - it.since).max(asked_before);
            let is_worth_it = queries >= it.value_count / VALUES_PER_QUERY && queries >= STEP;
            if is_worth_it && let Some(open) = snapshot.segments().get(it.position) {
                open.gather();
            }
            !is_worth_it
        });
    }
}
