//! Who takes the hits of a search.

use crate::base::section::{Rank, TableIndex};
use crate::search::stats::SearchStats;
use fpstore_base::Fingerprint;

/// Takes the hits as they are found.
pub(crate) trait Collector {
    /// The distance of the search.
    fn k(&self) -> u32;
    /// The counters of the search.
    fn stats(&mut self) -> &mut SearchStats;
    /// Whether a limit is reached, so that the rest is not searched.
    fn is_exhausted(&mut self) -> bool;
    /// Takes a hit of the query with this number.
    fn push(&mut self, query: u32, hit: TableHit);
}

/// A stored fingerprint within the distance of a query, and where one table has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableHit {
    pub(crate) distance: u32,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) table: TableIndex,
    pub(crate) rank: Rank,
}
