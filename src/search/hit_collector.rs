//! The hits of one query in all segments, nearest first, and the limits that end the search.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::base::error::Result;
use crate::search::answer::{CutBy, Limits};
use crate::search::probe::collector::{Collector, TableHit};
use crate::search::snapshot::{OpenSegment, SegmentHit};
use crate::search::stats::SearchStats;

#[derive(Debug, Default)]
pub(super) struct HitCollector {
    k: u32,
    /// The position of the searched segment in the snapshot.
    pub(super) segment: usize,
    /// The number of segments whose search has started.
    entered: usize,
    /// The position in `found` of the first hit of the current segments, see `enter`.
    entered_at: usize,
    pub(super) stats: SearchStats,
    limits: Limits,
    /// A flag with which another thread ends the search.
    pub(super) stop: Option<Arc<AtomicBool>>,
    /// At most this many hits of the current segments are deleted.
    deleted_max: usize,
    pub(super) found: Vec<SegmentHit>,
    /// Whether there are more hits than the limit on matches.
    pub(super) is_over: bool,
    /// The limit of work or time that ended the search, if any.
    pub(super) ended_by: Option<CutBy>,
}

impl HitCollector {
    pub(super) fn restart(&mut self, k: u32, limits: Limits) {
        self.k = k;
        self.limits = limits;
        self.stats = SearchStats::default();
        self.found.clear();
        self.entered = 0;
        self.deleted_max = 0;
        self.is_over = false;
        self.ended_by = None;
    }

    /// Begins the search of `count` segments that together have `deleted` deleted fingerprints. The
    /// caller removes deleted hits before it begins other segments.
    pub(super) fn enter(&mut self, count: usize, deleted: u64) {
        self.entered += count;
        self.entered_at = self.found.len();
        self.deleted_max = usize::try_from(deleted).unwrap_or(usize::MAX);
    }

    /// Collects a hit of the segment at position `segment`.
    pub(super) fn push_of(&mut self, segment: usize, hit: TableHit) {
        let TableHit { distance, fingerprint, table, rank } = hit;
        self.found.push(SegmentHit { distance, fingerprint, segment, table, rank });
        if let Some(most) = self.limits.limit {
            // Deleted hits must not displace live ones.
            let most = most.saturating_add(self.deleted_max);
            // A fingerprint can occur in each segment searched so far, so `room` counts one hit per
            // fingerprint and segment.
            let room = most.saturating_add(1).saturating_mul(self.entered);
            if self.found.len() > room.saturating_mul(2).max(1024)
                && self.keep_nearest(most) == most
                && self.is_over
                && let Some(last) = self.found.last()
            {
                // Enough hits remain even if some of them are deleted, so hits farther than the
                // last hit are not among the nearest.
                self.k = last.distance;
            }
        }
    }

    /// Removes the deleted hits of the current segment at `position` in the snapshot.
    #[inline]
    pub(super) fn retain_live(&mut self, open: &OpenSegment, position: usize) -> Result<()> {
        open.retain_live(&mut self.found, self.entered_at, position)
    }

    /// The limit that cut the answer.
    pub(super) fn cut_by(&self) -> Option<CutBy> {
        self.ended_by.or(self.is_over.then_some(CutBy::Limit))
    }

    /// Sorts the hits, applies the limit, and returns the number of different fingerprints.
    pub(super) fn finish(&mut self) -> usize {
        self.keep_nearest(self.limits.limit.unwrap_or(usize::MAX))
    }

    fn keep_nearest(&mut self, most: usize) -> usize {
        self.found.sort_unstable_by_key(SegmentHit::key);
        self.entered_at = 0;
        let (mut kept, mut len) = (0, 0);
        for places in self.found.chunk_by(|a, b| a.fingerprint == b.fingerprint) {
            if kept == most {
                self.is_over = true;
                break;
            }
            kept += 1;
            len += places.len();
        }
        self.found.truncate(len);
        kept
    }
}

impl Collector for HitCollector {
    #[inline(always)]
    fn k(&self) -> u32 {
        self.k
    }

    #[inline(always)]
    fn stats(&mut self) -> &mut SearchStats {
        &mut self.stats
    }

    /// Whether a limit of work or time is reached; if so, the answer counts as cut.
    #[inline]
    fn is_exhausted(&mut self) -> bool {
        let compared = self.stats.candidates + self.stats.scanned;
        let by = if self.limits.max_compared.is_some_and(|most| compared >= most) {
            CutBy::MaxCompared
        } else if self.limits.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            CutBy::Deadline
        } else if self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            CutBy::Stop
        } else {
            return false;
        };
        self.ended_by.get_or_insert(by);
        true
    }

    fn push(&mut self, _: u32, hit: TableHit) {
        self.push_of(self.segment, hit);
    }
}
