//! Statistics of fingerprints: one sampler, and the counts that the planner, the doctor and the
//! builder share.
//!
//! [`Sampler`] picks distinct fingerprints in bounded memory, [`bits`] counts how even bits are,
//! `pairs` which of them vary together, [`distances`] computes the distances that follow from the
//! bits, and [`groups`] counts values that share leading bits. Nothing here knows of files, of
//! tables or of costs: callers push values and read numbers.

pub(crate) mod bits;
pub(crate) mod distances;
pub(crate) mod groups;
#[cfg(feature = "write")]
pub(crate) mod pairs;
mod sample;
mod sampler;
#[cfg(feature = "write")]
mod size_class;

pub(crate) use sample::Origin;
pub use sample::Sample;
pub use sampler::Sampler;
#[cfg(feature = "write")]
pub use size_class::SizeClass;
#[cfg(feature = "write")]
pub(crate) use size_class::SizeCounts;
