//! Searches: one query or many queries in one snapshot of a store.
//!
//! `snapshot` contains the snapshot. [`Searcher`] answers one query after the other. For each
//! segment it uses the chosen access path, probes (`probe`) or a scan (`scan`), and merges the hits
//! (`hit_collector`). It gathers small segments in memory (`small_segments`, `in_memory`), and
//! finds the nearest matches by searches within growing distances (`levels`). `batch` probes one
//! table for many queries, and `walk` answers many queries in one pass over each table. `kernel`
//! contains the inner loops and all SIMD code. Callers are `store` and `join`. The module never
//! changes a store and opens no files.

mod answer;
mod batch;
mod hit_collector;
mod in_memory;
pub(crate) mod kernel;
mod levels;
mod probe;
mod scan;
mod searcher;
mod small_segments;
pub(crate) mod snapshot;
mod stats;
mod table_query;
pub(crate) mod walk;

pub use answer::{Answer, CutBy, Hit, Ids, Limits, Match, Outcome};
pub(crate) use batch::{BatchSearcher, BatchTable};
#[cfg(fuzzing)]
pub(crate) use kernel::check::check_bytes as check_kernels;
pub use searcher::Searcher;
pub use stats::SearchStats;
