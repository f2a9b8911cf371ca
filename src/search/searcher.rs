//! The searcher: asks all segments, joins their matches, and keeps its memory for next time.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::scheme::Way;
use crate::search::answer::{Answer, Found, Outcome, Work};
use crate::search::probe::{Place, ProbeScratch, Sink, probe};
use crate::search::scan::scan;
use crate::store::{Snapshot, Store};

/// How much a search may find or do. What a limit cuts off is said in [`Outcome::cut`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Keep only so many matches: the nearest, ties by fingerprint.
    pub max_matches: Option<usize>,
    /// Stop after comparing about so many values, probed and scanned together.
    pub max_compared: Option<u64>,
}

impl Limits {
    /// Keeps only the `count` nearest matches.
    #[must_use]
    pub fn max_matches(mut self, count: usize) -> Self {
        self.max_matches = Some(count);
        self
    }

    /// Stops after comparing about `count` values.
    #[must_use]
    pub fn max_compared(mut self, count: u64) -> Self {
        self.max_compared = Some(count);
        self
    }
}

/// Answers one query after the other and allocates nothing once its memory has grown.
///
/// What all searchers of a store share grows too, once: the plan of each distance that is asked
/// for, and 4 KiB of memory of checked pages for each 128 MiB of file.
///
/// It belongs to one thread; make one for each with [`Store::searcher`](crate::Store::searcher).
/// It keeps asking the state that the store showed when it was made, or at the last [`Searcher::follow`].
#[derive(Debug)]
pub struct Searcher {
    snapshot: Arc<Snapshot>,
    scratch: ProbeScratch,
    collector: Collector,
}

impl Searcher {
    pub(crate) fn new(snapshot: Arc<Snapshot>) -> Self {
        Searcher { snapshot, scratch: ProbeScratch::default(), collector: Collector::default() }
    }

    /// Asks from now on the state that a store shows at this moment, see
    /// [`Store::refresh`](crate::Store::refresh). Takes no longer than a clone of an `Arc`.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// let store = fpstore::Store::open("pages.fps")?;
    /// let mut searcher = store.searcher();
    /// for page in [7, 8, 9] {
    ///     store.refresh()?; // here or in one thread for all
    ///     searcher.follow(&store);
    ///     println!("{}", searcher.search(page.into(), 3)?.len());
    /// }
    /// # Ok::<(), fpstore::Error>(())
    /// ```
    pub fn follow(&mut self, store: &Store) {
        self.snapshot = store.snapshot();
    }

    /// How many manifests the store had had when it was in the state that is asked.
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
    /// * [`Error::Corrupt`] if bytes that it visits break a rule; matches found before that are
    ///   dropped.
    ///
    /// # Examples
    ///
    #[cfg_attr(feature = "build", doc = "```")]
    #[cfg_attr(not(feature = "build"), doc = "```ignore")]
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
        self.search_within(needle, k, &Limits::default())
    }

    /// As [`Searcher::search`], within limits. A cut answer says so.
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
    /// let limits = Limits::default().max_matches(10).max_compared(100_000);
    /// let mut searcher = store.searcher();
    /// let answer = searcher.search_within(Fingerprint::new(0), 3, &limits)?;
    /// if answer.outcome().cut {
    ///     eprintln!("there are, or may be, more than these {}", answer.len());
    /// }
    /// # Ok::<(), fpstore::Error>(())
    /// ```
    pub fn search_within(
        &mut self,
        needle: Fingerprint,
        k: u32,
        limits: &Limits,
    ) -> Result<Answer<'_>> {
        if k > 64 {
            return Err(Error::InvalidDistance { k });
        }
        let collector = &mut self.collector;
        collector.restart(needle, k, *limits);
        for (number, open) in self.snapshot.segments().iter().enumerate() {
            collector.enter(number, open.deleted.as_ref().map_or(0, |of| of.fingerprint_count()));
            match &open.choice(k).way {
                Way::Probe { radii } => {
                    probe(&open.segment, radii, needle, &mut self.scratch, collector)?;
                }
                Way::Scan { table } => {
                    if let Some(table) = open.segment.tables().get(*table) {
                        scan(&open.segment, table, collector)?;
                    }
                }
            }
            open.retain_live(&mut collector.found, number)?;
        }
        let hit_count = collector.finish();
        Ok(Answer {
            snapshot: &self.snapshot,
            found: &collector.found,
            hit_count,
            outcome: Outcome { cut: collector.cut, work: collector.work },
        })
    }
}

/// Takes the matches of one search as they are found.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    pub(crate) needle: Fingerprint,
    pub(crate) k: u32,
    pub(crate) segment: usize,
    pub(crate) work: Work,
    limits: Limits,
    /// How many matches of the current segment may turn out to be deleted.
    deleted_max: usize,
    pub(super) found: Vec<Found>,
    cut: bool,
}

impl Collector {
    pub(super) fn restart(&mut self, needle: Fingerprint, k: u32, limits: Limits) {
        self.needle = needle;
        self.k = k;
        self.limits = limits;
        self.work = Work::default();
        self.found.clear();
        self.deleted_max = 0;
        self.cut = false;
    }

    /// Goes on to the segment at a position, of which so many fingerprints are deleted. The caller takes their
    /// matches out again before the next one.
    fn enter(&mut self, segment: usize, deleted: u64) {
        self.segment = segment;
        self.deleted_max = usize::try_from(deleted).unwrap_or(usize::MAX);
    }

    /// Sorts the matches and says how many fingerprints they are.
    fn finish(&mut self) -> usize {
        self.keep_nearest(self.limits.max_matches.unwrap_or(usize::MAX))
    }

    fn keep_nearest(&mut self, most: usize) -> usize {
        self.found.sort_unstable_by_key(Found::key);
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

impl Sink for Collector {
    #[inline(always)]
    fn k(&self) -> u32 {
        self.k
    }

    #[inline(always)]
    fn work(&mut self) -> &mut Work {
        &mut self.work
    }

    /// Whether the limit on work is reached; the answer counts as cut from then on.
    #[inline]
    fn exhausted(&mut self) -> bool {
        let compared = self.work.candidates + self.work.scanned;
        let exhausted = self.limits.max_compared.is_some_and(|most| compared >= most);
        self.cut |= exhausted;
        exhausted
    }

    /// Takes a match of the current segment.
    fn push(&mut self, _: u32, distance: u32, fingerprint: Fingerprint, place: Place) {
        let Place { table, rank } = place;
        self.found.push(Found { distance, fingerprint, segment: self.segment, table, rank });
        // A fingerprint can be in every segment so far, so this leaves room for all its places.
        if let Some(most) = self.limits.max_matches {
            // Those that are deleted must not push out those that are there.
            let most = most.saturating_add(self.deleted_max);
            let room = most.saturating_add(1).saturating_mul(self.segment + 1);
            if self.found.len() > room.saturating_mul(2).max(1024) {
                self.keep_nearest(most);
            }
        }
    }
}
