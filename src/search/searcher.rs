//! The searcher: searches all segments, merges their hits, and reuses its buffers for the next
//! query.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::base::error::{Result, check_distance};
use crate::plan::AccessPath;
use crate::search::answer::{Answer, Limits, Outcome};
use crate::search::hit_collector::HitCollector;
use crate::search::levels::Levels;
use crate::search::probe::{ProbeScratch, probe};
use crate::search::scan::{scan, whole_table};
use crate::search::small_segments::SmallSegments;
use crate::search::snapshot::Snapshot;
use fpstore_base::Fingerprint;

/// Answers one query after the other and allocates nothing once its memory has grown.
///
/// All searchers of a store share memory that never shrinks: the plan of each searched distance; a
/// bit for each page of the files, set if it is verified (4 KiB for each 128 MiB); and, for a store
/// of several segments that is queried often, the values of small segments, up to 24 MiB.
///
/// Each thread makes its own searcher with [`Store::searcher`](crate::Store::searcher). It searches
/// the store as it was when the searcher was made, or at the last `follow`.
#[derive(Debug)]
pub struct Searcher {
    snapshot: Arc<Snapshot>,
    scratch: ProbeScratch,
    collector: HitCollector,
    levels: Levels,
    small: SmallSegments,
}

impl Searcher {
    pub(crate) fn new(snapshot: Arc<Snapshot>) -> Self {
        Searcher {
            scratch: ProbeScratch::default(),
            collector: HitCollector::default(),
            levels: Levels::default(),
            small: SmallSegments::new(&snapshot),
            snapshot,
        }
    }

    /// Switches to another snapshot of the store.
    pub(crate) fn set_snapshot(&mut self, snapshot: Arc<Snapshot>) {
        if Arc::ptr_eq(&self.snapshot, &snapshot) {
            return;
        }
        self.small.turn_to(&snapshot);
        self.snapshot = snapshot;
        self.levels.clear();
    }

    /// The width of the fingerprints.
    pub fn width(&self) -> fpstore_base::Width {
        self.snapshot.width()
    }

    /// The searched snapshot.
    pub(crate) fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Sets a flag with which another thread can end searches: once it is true, searches stop as at
    /// a [`Limits::deadline`], and their answers are cut.
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

    /// The generation of the searched snapshot; each change of the store adds one.
    pub fn generation(&self) -> u64 {
        self.snapshot.generation()
    }

    /// Finds every stored fingerprint within `k` bits of `needle`.
    ///
    /// Any `k` from 0 to 64 is answered exactly: by probes whose radii are proven to cover it, or
    /// by a pass over one table if a pass is cheaper.
    ///
    /// # Errors
    ///
    /// * [`Error::InvalidDistance`](crate::Error::InvalidDistance) if `k` is above 64.
    /// * [`Error::TooWide`](crate::Error::TooWide) if `needle` has a bit above the width of the
    ///   store.
    /// * [`Error::Corrupt`](crate::Error::Corrupt) if bytes that are read break a rule of the
    ///   format; no hits are returned.
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
    /// Manku, Jain and Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007, for the
    /// online query; Norouzi, Punjani and Fleet, "Fast Search in Hamming Space with Multi-Index
    /// Hashing", CVPR 2012, for radii above 0.
    pub fn search(&mut self, needle: Fingerprint, k: u32) -> Result<Answer<'_>> {
        self.search_with(needle, k, &Limits::default())
    }

    /// Like [`Searcher::search`], but with limits. [`Outcome::cut_by`] reports the limit that cut
    /// the answer.
    ///
    /// # Errors
    ///
    /// The same as of [`Searcher::search`].
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
    /// if let Some(by) = answer.outcome().cut_by {
    ///     eprintln!("cut by {}: there may be more than these {}", by.name(), answer.len());
    /// }
    /// # Ok::<(), fpstore::Error>(())
    /// ```
    pub fn search_with(
        &mut self,
        needle: Fingerprint,
        k: u32,
        limits: &Limits,
    ) -> Result<Answer<'_>> {
        check_distance(k)?;
        self.snapshot.check_needle(needle)?;
        let hit_count = self.collect(needle, k, limits)?;
        Ok(self.answer(hit_count))
    }

    /// Finds the `count` stored fingerprints nearest to `needle` within `k_max` bits, sorted by
    /// distance, ties by fingerprint. The answer is exact; it is shorter if there are fewer
    /// matches.
    ///
    /// With a `count` of 1 it determines whether there is any match: much cheaper than a search
    /// within `k_max` if there is a near match, and little more expensive otherwise. With a `k_max`
    /// of 64 it always finds `count` fingerprints, if the store contains as many.
    ///
    /// [`Outcome::stats`](crate::Outcome::stats) counts only the steps of the search with the last
    /// distance.
    ///
    /// # Errors
    ///
    /// The same as of [`Searcher::search`].
    ///
    /// # Examples
    ///
    #[cfg_attr(feature = "write", doc = "```")]
    #[cfg_attr(not(feature = "write"), doc = "```ignore")]
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let mut builder = fpstore::Builder::new(folder.path().join("news.fps"))?;
    /// for value in [0b0001, 0b0111, 0b1111] {
    ///     builder.push_bare(value.into())?;
    /// }
    /// let store = builder.finish()?;
    /// let mut searcher = store.searcher();
    /// let answer = searcher.nearest(0b0011.into(), 2, 64)?;
    /// let found: Vec<u64> = answer.hits().map(|hit| hit.fingerprint().value()).collect();
    /// assert_eq!(found, [0b0001, 0b0111]);
    /// # Ok(()) }
    /// ```
    pub fn nearest(&mut self, needle: Fingerprint, count: usize, k_max: u32) -> Result<Answer<'_>> {
        self.nearest_with(needle, count, k_max, &Limits::default())
    }

    /// Like [`Searcher::nearest`], but with limits. If [`Limits::max_compared`] or
    /// [`Limits::deadline`] ends a search, the matches found so far are kept, and the answer is
    /// cut; `max_compared` applies to each of the searched distances separately.
    ///
    /// # Errors
    ///
    /// The same as of [`Searcher::search`].
    pub fn nearest_with(
        &mut self,
        needle: Fingerprint,
        count: usize,
        k_max: u32,
        limits: &Limits,
    ) -> Result<Answer<'_>> {
        check_distance(k_max)?;
        self.snapshot.check_needle(needle)?;
        // A search within `k` bits is exact, so if it finds `count` matches, the nearest `count`
        // are among them. A small `k` costs little, so it comes first; a larger `k` finds the same
        // matches again, which is cheaper than keeping them.
        self.levels.choose(&self.snapshot, k_max);
        let wanted = count;
        let count = limits.limit.map_or(wanted, |most| wanted.min(most));
        let limits = limits.limit(count);
        let mut hit_count = 0;
        for level in 0..self.levels.list.len() {
            hit_count = self.collect(needle, self.levels.list[level], &limits)?;
            if hit_count >= count || self.collector.cut_by().is_some() {
                break;
            }
        }
        if count == wanted {
            // An answer limited only by `count` is complete: no more matches are needed.
            self.collector.is_over = false;
        }
        Ok(self.answer(hit_count))
    }

    /// Collects the hits within `k` bits; `k` is at most 64. Returns the number of different
    /// fingerprints.
    fn collect(&mut self, needle: Fingerprint, k: u32, limits: &Limits) -> Result<usize> {
        let collector = &mut self.collector;
        collector.restart(k, *limits);
        self.small.count(&self.snapshot);
        let segments = self.snapshot.segments();
        // Prefetched here, the gathered values arrive while other segments are probed.
        let in_memory = self.small.in_memory();
        let is_used = in_memory.answers(k);
        if is_used {
            in_memory.announce(needle);
        }
        for (number, open) in segments.iter().enumerate() {
            if is_used && in_memory.has(number) {
                continue;
            }
            collector.segment = number;
            collector.enter(1, open.deleted.as_ref().map_or(0, |of| of.fingerprint_count()));
            match &open.plan(k).path {
                AccessPath::Probe { radii } => {
                    probe(&open.segment, radii, needle, &mut self.scratch, collector)?;
                }
                AccessPath::Scan { table } => {
                    if let Some(table) = whole_table(&open.segment, *table) {
                        scan(self.scratch.kernel(), table, needle, collector)?;
                    }
                }
            }
            collector.retain_live(open, number)?;
        }
        if is_used {
            in_memory.search(self.scratch.kernel(), needle, segments, collector)?;
        }
        Ok(collector.finish())
    }

    /// The answer with the hits collected last.
    fn answer(&self, hit_count: usize) -> Answer<'_> {
        let HitCollector { found, stats, .. } = &self.collector;
        let outcome = Outcome::new(self.collector.cut_by(), *stats);
        Answer { snapshot: &self.snapshot, found, hit_count, outcome }
    }
}
