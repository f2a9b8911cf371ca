//! Thresholds at which a search changes how it reads a table.
//!
//! The search and its kernels act by these numbers and the cost model counts with them. They stand
//! below both, so that there is one copy.

/// Bytes of gaps that a kernel sums at once: a chunk.
pub(crate) const CHUNK_LEN: usize = 64;

/// Where more heads of a chunk than these pass the prefilter, the kernel sums the whole chunk.
pub(crate) const PARTIAL_SUMS_MAX: u32 = 6;

/// The most errors that a syndrome may stand for: 3 365 856 words of 32 bits have 7. Searches within
/// more bits do not probe tables with syndromes.
pub(crate) const ERRORS_MAX: u32 = 7;

/// A long block is walked whole if that reads fewer values than these for each of its ranges.
pub(crate) const VALUES_PER_RANGE: f64 = 128.0;
