//! Foundations of all other modules: errors, names of sections and positions, thresholds, options
//! with numbers, labelled pairs.
//!
//! No module here depends on bytes, files or stores.

pub(crate) mod error;
#[cfg(feature = "write")]
pub(crate) mod id_policy;
pub(crate) mod in_order;
#[cfg(feature = "write")]
pub mod judged;
pub mod options;
pub(crate) mod section;
pub(crate) mod side_by_side;
pub(crate) mod steps;
pub(crate) mod text_version;

/// Thresholds at which a search changes how it reads a table. Searches and their kernels apply
/// them, and the cost model needs the same values.
pub(crate) mod limits {
    /// The length of a chunk: bytes of gaps that a kernel sums at once.
    pub(crate) const CHUNK_LEN: usize = 64;

    /// If more heads of a chunk than this pass the prefilter, the kernel computes all sums of the
    /// chunk.
    pub(crate) const PARTIAL_SUMS_MAX: u32 = 6;

    /// The maximum distance at which tables with syndromes are probed. A search needs a list of all
    /// words with that many errors: 3 365 856 words of 32 bits have 7 set bits.
    pub(crate) const ERRORS_MAX: u32 = 7;

    /// A long block is read whole if it has fewer values than this for each range that a search
    /// reads.
    pub(crate) const VALUES_PER_RANGE: f64 = 128.0;
}
