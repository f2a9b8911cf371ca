//! The nearest matches of a needle: searches within growing distances.
//!
//! A search within `k` bits is exact, so `count` matches within `k` contain the `count` nearest. A
//! small `k` costs little, so it is tried first; what a larger one finds again is not worth keeping.

use crate::error::{Error, Result};
use crate::plan::AccessPath;
use crate::search::answer::Answer;
use crate::search::searcher::{Limits, Searcher};
use crate::snapshot::Snapshot;
use fpstore_base::Fingerprint;

/// A level costs at least this many times what the level before it costs.
const RATIO: f64 = 2.0;
/// The first and the second level within a given distance cost at most this part of the last one.
const FIRST_SHARE: f64 = 1.0 / 4.0;
const SECOND_SHARE: f64 = 1.0 / 16.0;

/// The distances within which the nearest matches are searched for, one after the other.
#[derive(Debug, Default)]
pub(super) struct Levels {
    /// For which largest distance they are.
    k_max: Option<u32>,
    list: Vec<u32>,
}

impl Levels {
    /// Forgets the levels: the state of the store is another one.
    pub(super) fn clear(&mut self) {
        self.k_max = None;
    }

    /// Chooses the levels, unless they are those of the last search.
    fn choose(&mut self, snapshot: &Snapshot, k_max: u32) {
        if self.k_max == Some(k_max) {
            return;
        }
        self.k_max = Some(k_max);
        self.list.clear();
        let segments = snapshot.segments();
        let cost = |k| segments.iter().map(|open| open.plan(k).expected_nanos).sum::<f64>();
        let scans = |k| {
            let is_scan = |path: &AccessPath| matches!(path, AccessPath::Scan { .. });
            segments.iter().all(|open| is_scan(&open.plan(k).path))
        };
        if !segments.is_empty() && scans(k_max) {
            // A pass over everything is the last level. Until one is cheaper, each level costs
            // about as much as all before it.
            let mut spent = 0.0;
            let mut k = 0;
            while k < k_max && !scans(k) {
                let nanos = cost(k);
                if nanos >= spent * RATIO {
                    self.list.push(k);
                    spent = nanos;
                }
                k += 1;
            }
        } else if k_max > 0 {
            // Two cheap levels for needles with near matches; without any, they cost little.
            let most = cost(k_max);
            if cost(1) <= FIRST_SHARE * most && k_max > 1 {
                self.list.push(1);
            }
            let (mut low, mut high) = (1, k_max);
            while low + 1 < high {
                let middle = (low + high) / 2;
                let is_cheap = cost(middle) <= SECOND_SHARE * most;
                *(if is_cheap { &mut low } else { &mut high }) = middle;
            }
            if low > 1 {
                self.list.push(low);
            }
        }
        self.list.push(k_max);
    }
}

impl Searcher {
    /// Finds the `count` stored fingerprints nearest to `needle` within `k_max` bits: by distance,
    /// ties by ascending fingerprint. The answer is exact, and shorter if there are fewer.
    ///
    /// With a `count` of 1 it tells whether there is any match, for much less than a search within
    /// `k_max` where there is a near one, and for little more where there is none. With a `k_max` of
    /// 64 it always finds `count` fingerprints, if the store has as many.
    ///
    /// [`Outcome::stats`](crate::Outcome::stats) counts the steps of the last of these searches.
    ///
    /// # Errors
    ///
    /// As [`Searcher::search`].
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

    /// As [`Searcher::nearest`], with limits. Of a search that [`Limits::max_compared`] or
    /// [`Limits::deadline`] ended, the matches found so far are kept, and the answer is cut;
    /// `max_compared` holds for each distance by itself.
    ///
    /// # Errors
    ///
    /// As [`Searcher::search`].
    pub fn nearest_with(
        &mut self,
        needle: Fingerprint,
        count: usize,
        k_max: u32,
        limits: &Limits,
    ) -> Result<Answer<'_>> {
        if k_max > 64 {
            return Err(Error::InvalidDistance { k: k_max });
        }
        self.levels.choose(&self.snapshot, k_max);
        let wanted = count;
        let count = limits.max_matches.map_or(wanted, |most| wanted.min(most));
        let limits = limits.max_matches(count);
        let mut hit_count = 0;
        for level in 0..self.levels.list.len() {
            hit_count = self.collect(needle, self.levels.list[level], &limits)?;
            if hit_count >= count || self.is_cut() {
                break;
            }
        }
        if count == wanted {
            self.forgive_count();
        }
        Ok(self.answer(hit_count))
    }
}
