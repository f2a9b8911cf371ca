//! How a query was answered: the plan, what it was expected to cost, and what it did.

use serde::Serialize;

use crate::base::error::Result;
use crate::plan::{CostEstimate, Plan};
use crate::search::SearchStats;
use crate::store::Store;

/// How a query was answered.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explained {
    /// The distance that was asked.
    pub k: u32,
    /// The expected time in microseconds, over all segments.
    pub expected_us: f64,
    /// The plan of each segment.
    pub segments: Vec<Plan>,
    /// What the search did.
    #[serde(flatten)]
    pub stats: SearchStats,
}

impl Explained {
    /// The plan of a search of `store` within `k` bits, with the counts of a search that was done.
    ///
    /// # Errors
    ///
    /// As [`Store::plans`].
    pub fn of(store: &Store, k: u32, stats: SearchStats) -> Result<Self> {
        let segments = store.plans(k)?;
        let nanos: f64 = segments.iter().map(|plan| plan.expected_nanos).sum();
        Ok(Explained { k, expected_us: nanos / 1000.0, segments, stats })
    }

    /// The expected steps of the query, over all segments.
    pub fn estimate(&self) -> CostEstimate {
        let mut sum = CostEstimate::default();
        self.segments.iter().for_each(|plan| sum += plan.estimate);
        sum
    }
}
