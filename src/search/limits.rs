//! Limits of a search.

use std::time::Instant;

/// Limits of a search. [`Outcome::cut`](crate::Outcome::cut) says whether one of them cut the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    pub(crate) limit: Option<usize>,
    pub(crate) max_compared: Option<u64>,
    pub(crate) deadline: Option<Instant>,
}

impl Limits {
    /// Keeps only the `count` nearest matches, ties by ascending fingerprint. The search takes as
    /// long as without it; [`Searcher::nearest`](crate::Searcher::nearest) takes less.
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
