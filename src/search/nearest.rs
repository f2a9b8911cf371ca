//! The nearest matches of a needle: searches within growing distances.
//!
//! A search within `k` bits is exact, so if it finds `count` matches, the nearest `count` are among
//! them. A small `k` costs little, so it comes first; a larger `k` finds the same matches again,
//! which is cheaper than keeping them.

use crate::base::error::{Error, Result};
use crate::search::answer::{Answer, Limits};
use crate::search::searcher::Searcher;
use fpstore_base::Fingerprint;

impl Searcher {
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
        if k_max > 64 {
            return Err(Error::InvalidDistance { k: k_max });
        }
        self.snapshot.check_needle(needle)?;
        self.levels.choose(&self.snapshot, k_max);
        let wanted = count;
        let count = limits.limit.map_or(wanted, |most| wanted.min(most));
        let limits = limits.limit(count);
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
