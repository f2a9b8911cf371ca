//! The trait of the objects that receive the hits of a search.

use fpstore_base::Fingerprint;

use crate::base::section::{Rank, TableIndex};
use crate::search::stats::SearchStats;

/// Receives each hit when it is found.
pub(crate) trait Collector {
    /// The distance of the search.
    fn k(&self) -> u32;
    /// The counters of the search.
    fn stats(&mut self) -> &mut SearchStats;
    /// Whether a limit is reached, so that the search stops.
    fn is_exhausted(&mut self) -> bool;
    /// Takes a hit of the query with the number `query`.
    fn push(&mut self, query: u32, hit: TableHit);
}

/// A stored fingerprint within the distance of the search, and its position in one table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableHit {
    pub(crate) distance: u32,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) table: TableIndex,
    pub(crate) rank: Rank,
}
