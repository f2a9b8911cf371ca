//! The searcher: searches all segments, joins their hits, and keeps its memory for the next query.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::base::error::{Error, Result};
use crate::plan::AccessPath;
use crate::search::answer::{Answer, Outcome};
use crate::search::levels::Levels;
use crate::search::probe::{Collector, ProbeScratch, TableHit, probe};
use crate::search::scan::{scan, whole_table};
use crate::search::small_segments::SmallSegments;
use crate::search::snapshot::{SegmentHit, Snapshot};
use crate::search::stats::SearchStats;
use fpstore_base::Fingerprint;

/// Limits of a search. [`Outcome::cut`] says whether one of them cut the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    pub(crate) limit: Option<usize>,
    pub(crate) max_compared: Option<u64>,
    pub(crate) deadline: Option<Instant>,
}

impl Limits {
    /// Keeps only the `count` nearest matches, ties by ascending fingerprint. The search takes as
    /// long as without it; [`Searcher::nearest`] takes less.
    #[must_use]
    pub fn limit(mut self, count: impl Into<Option<usize>>) -> Self {
        self.limit = count.into();
        self
    }

    /// Stops after comparing about `count` values, probed and scanned together.
    #[must_use]
    pub fn max_compared(mut self, count: impl Into<Option<u64>>) -> Self {
        self.max_compared = count.into();
        self
    }

    /// Stops at about this time: it is looked at after each 256 values that are scanned, or 512 that
    /// are probed. Before the first of them nothing stops.
    #[must_use]
    pub fn deadline(mut self, time: impl Into<Option<Instant>>) -> Self {
        self.deadline = time.into();
        self
    }
}

/// Answers one query after the other and allocates nothing once its memory has grown.
///
/// All searchers of a store share memory that also grows once: the plan of each distance that is
/// searched, 4 KiB of bits of verified pages for each 128 MiB of file, and, where a store has several
/// segments and is asked often, the values of small ones: up to 16 MiB.
///
/// It belongs to one thread; make one for each with [`Store::searcher`](crate::Store::searcher).
/// It searches the state of the store at the time when it was made, or at the last `follow`.
#[derive(Debug)]
pub struct Searcher {
    pub(super) snapshot: Arc<Snapshot>,
    scratch: ProbeScratch,
    collector: HitCollector,
    pub(super) levels: Levels,
    small: SmallSegments,
}

impl Searcher {
    pub(crate) fn new(snapshot: Arc<Snapshot>) -> Self {
        Searcher {
            snapshot,
            scratch: ProbeScratch::default(),
            collector: HitCollector::default(),
            levels: Levels::default(),
            small: SmallSegments::default(),
        }
    }

    /// Searches another state of the store from now on.
    pub(crate) fn set_snapshot(&mut self, snapshot: Arc<Snapshot>) {
        if Arc::ptr_eq(&self.snapshot, &snapshot) {
            return;
        }
        self.small.turn_to(&snapshot);
        self.snapshot = snapshot;
        self.levels.clear();
    }

    /// The state that is searched.
    #[cfg(feature = "serve")]
    pub(crate) fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Sets a flag that ends a search: once another thread has made it true, searches stop as at a
    /// [`Limits::deadline`], and their answers are cut.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicBool, Ordering};
    ///
    /// let store = fpstore::Store::open("pages.fps")?;
    /// let stop = Arc::new(AtomicBool::new(false));
    /// let mut searcher = store.searcher();
    /// searcher.stop_flag(Arc::clone(&stop));
    /// std::thread::spawn(move || stop.store(true, Ordering::Relaxed));
    /// let answer = searcher.search(0.into(), 40)?;
    /// if answer.outcome().cut {
    ///     eprintln!("stopped; there may be more matches");
    /// }
    /// # Ok::<(), fpstore::Error>(())
    /// ```
    pub fn stop_flag(&mut self, flag: impl Into<Option<Arc<AtomicBool>>>) {
        self.collector.stop = flag.into();
    }

    /// The number of manifests that the store had had in the state that is searched.
    pub fn generation(&self) -> u64 {
        self.snapshot.generation()
    }

    /// Finds every stored fingerprint within `k` bits of `needle`.
    ///
    /// Any `k` from 0 to 64 is answered exactly: by probing with radii that are proven to cover
    /// it, or by a pass over one table where that is cheaper.
    ///
    /// # Errors
    ///
    /// * [`Error::InvalidDistance`] if `k` is above 64.
    /// * [`Error::TooWide`] if `needle` has a bit above the width of the store.
    /// * [`Error::Corrupt`] if bytes that it reads break a rule; hits found before that are
    ///   dropped.
    ///
    /// # Examples
    ///
    #[cfg_attr(feature = "write", doc = "```")]
    #[cfg_attr(not(feature = "write"), doc = "```ignore")]
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let mut builder = fpstore::Builder::new(folder.path().join("news.fps"))?;
    /// # builder.push(0x0123_4567_89ab_cdef.into(), "a.html")?;
    /// # let store = builder.finish()?;
    /// let mut searcher = store.searcher();
    /// for needle in [0x0123_4567_89ab_cdee, 0x1111_1111_1111_1111] {
    ///     let answer = searcher.search(needle.into(), 3)?;
    ///     for hit in answer.hits() {
    ///         for id in hit.ids() {
    ///             println!("{} {} {}", hit.fingerprint(), hit.distance(), id?);
    ///         }
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Source
    ///
    /// Manku, Jain and Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007, the
    /// online query; Norouzi, Punjani and Fleet, "Fast Search in Hamming Space with Multi-Index
    /// Hashing", CVPR 2012, for radii above 0.
    pub fn search(&mut self, needle: Fingerprint, k: u32) -> Result<Answer<'_>> {
        self.search_with(needle, k, &Limits::default())
    }

    /// As [`Searcher::search`], with limits. [`Outcome::cut`] says whether one cut the answer.
    ///
    /// # Errors
    ///
    /// As [`Searcher::search`].
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use fpstore::{Fingerprint, Limits, Store};
    ///
    /// let store = Store::open("pages.fps")?;
    /// let limits = Limits::default().limit(10).max_compared(100_000);
    /// let mut searcher = store.searcher();
    /// let answer = searcher.search_with(Fingerprint::new(0), 3, &limits)?;
    /// if answer.outcome().cut {
    ///     eprintln!("there are, or may be, more than these {}", answer.len());
    /// }
    /// # Ok::<(), fpstore::Error>(())
    /// ```
    pub fn search_with(
        &mut self,
        needle: Fingerprint,
        k: u32,
        limits: &Limits,
    ) -> Result<Answer<'_>> {
        if k > 64 {
            return Err(Error::InvalidDistance { k });
        }
        self.snapshot.check_needle(needle)?;
        let hit_count = self.collect(needle, k, limits)?;
        Ok(self.answer(hit_count))
    }

    /// Collects the hits within `k` bits, at most 64. Returns the number of different fingerprints.
    pub(super) fn collect(
        &mut self,
        needle: Fingerprint,
        k: u32,
        limits: &Limits,
    ) -> Result<usize> {
        let collector = &mut self.collector;
        collector.restart(k, *limits);
        self.small.count(&self.snapshot);
        for (number, open) in self.snapshot.segments().iter().enumerate() {
            collector.enter(number, open.deleted.as_ref().map_or(0, |of| of.fingerprint_count()));
            if let Some(gathered) = open.gathered(k) {
                gathered.search(needle, collector);
            } else {
                match &open.plan(k).path {
                    AccessPath::Probe { radii } => {
                        probe(&open.segment, radii, needle, &mut self.scratch, collector)?;
                    }
                    AccessPath::Scan { table } => {
                        if let Some(table) = whole_table(&open.segment, *table) {
                            scan(table, needle, collector)?;
                        }
                    }
                }
            }
            open.retain_live(&mut collector.found, collector.entered_at, number)?;
        }
        Ok(collector.finish())
    }

    /// Whether a limit cut the last search.
    pub(super) fn is_cut(&self) -> bool {
        self.collector.cut
    }

    /// Takes a cut for none if it is only that the wanted number of matches was found.
    pub(super) fn forgive_count(&mut self) {
        self.collector.cut = self.collector.is_ended;
    }

    /// The hits that were collected last.
    pub(super) fn answer(&self, hit_count: usize) -> Answer<'_> {
        let HitCollector { found, cut, stats, .. } = &self.collector;
        let outcome = Outcome { cut: *cut, stats: *stats };
        Answer { snapshot: &self.snapshot, found, hit_count, outcome }
    }
}

/// Takes the hits of one query in all segments.
#[derive(Debug, Default)]
struct HitCollector {
    k: u32,
    /// The position of the current segment.
    segment: usize,
    /// Before this position of `found` there are no hits of the current segment.
    entered_at: usize,
    stats: SearchStats,
    limits: Limits,
    /// Set when the search is to stop.
    stop: Option<Arc<AtomicBool>>,
    /// The largest number of hits of the current segment that may be deleted.
    deleted_max: usize,
    found: Vec<SegmentHit>,
    cut: bool,
    /// Whether the cut is that of a limit of work or time.
    is_ended: bool,
}

impl HitCollector {
    fn restart(&mut self, k: u32, limits: Limits) {
        self.k = k;
        self.limits = limits;
        self.stats = SearchStats::default();
        self.found.clear();
        self.deleted_max = 0;
        self.cut = false;
        self.is_ended = false;
    }

    /// Begins the segment at a position, of which `deleted` fingerprints are deleted. The caller
    /// removes deleted hits before it begins the next segment.
    fn enter(&mut self, segment: usize, deleted: u64) {
        self.segment = segment;
        self.entered_at = self.found.len();
        self.deleted_max = usize::try_from(deleted).unwrap_or(usize::MAX);
    }

    /// Sorts the hits and returns the number of different fingerprints.
    fn finish(&mut self) -> usize {
        self.keep_nearest(self.limits.limit.unwrap_or(usize::MAX))
    }

    fn keep_nearest(&mut self, most: usize) -> usize {
        self.found.sort_unstable_by_key(SegmentHit::key);
        self.entered_at = 0;
        let (mut kept, mut len) = (0, 0);
        for places in self.found.chunk_by(|a, b| a.fingerprint == b.fingerprint) {
            if kept == most {
                self.cut = true;
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

    /// Whether a limit of work or time is reached; the answer counts as cut from then on.
    #[inline]
    fn is_exhausted(&mut self) -> bool {
        let compared = self.stats.candidates + self.stats.scanned;
        let is_exhausted = self.limits.max_compared.is_some_and(|most| compared >= most)
            || self.limits.deadline.is_some_and(|deadline| Instant::now() >= deadline)
            || self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed));
        self.cut |= is_exhausted;
        self.is_ended |= is_exhausted;
        is_exhausted
    }

    fn push(&mut self, _: u32, hit: TableHit) {
        let TableHit { distance, fingerprint, table, rank } = hit;
        self.found.push(SegmentHit { distance, fingerprint, segment: self.segment, table, rank });
        if let Some(most) = self.limits.limit {
            // Deleted hits must not push out live ones.
            let most = most.saturating_add(self.deleted_max);
            // A fingerprint can be in every segment so far, so this leaves room for all its places.
            let room = most.saturating_add(1).saturating_mul(self.segment + 1);
            if self.found.len() > room.saturating_mul(2).max(1024)
                && self.keep_nearest(most) == most
                && self.cut
                && let Some(last) = self.found.last()
            {
                // Enough of those that are left live: nothing farther can be among the nearest.
                self.k = last.distance;
            }
        }
    }
}
