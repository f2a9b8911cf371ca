//! Searching: one query or many against one state of a store.
//!
//! `snapshot` holds that state. [`Searcher`] answers one query after the other: for each segment it
//! takes the chosen access path, probes (`probe`) or a scan (`scan`), and joins the hits
//! (`hit_collector`); it gathers small segments in memory (`small_segments`, `in_memory`); `nearest`
//! grows the distance.
//! `batch` probes one table for many queries. `kernel` holds the inner loops and all SIMD. Called by
//! `store` and `join`; it never changes a store and opens no files.

mod answer;
mod batch;
mod hit_collector;
mod in_memory;
pub(crate) mod kernel;
mod levels;
mod nearest;
mod probe;
mod scan;
mod searcher;
mod small_segments;
pub(crate) mod snapshot;
mod table_query;

pub use answer::{Answer, Hit, Ids, Limits, Match, Outcome, SearchStats};
pub(crate) use batch::{BatchSearcher, BatchTable};
#[cfg(fuzzing)]
pub(crate) use kernel::check::check_bytes as check_kernels;
pub use searcher::Searcher;
