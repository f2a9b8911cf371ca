//! The sampler and the counts of fingerprints that the planner, `profile` and the builder share.
//!
//! [`Sampler`] picks distinct fingerprints in bounded memory, [`bits`] counts how often bits are
//! set, `pairs` counts how often two bits are set together, [`distances`] computes the distances to
//! expect between fingerprints, and [`groups`] counts values with common leading bits. The module
//! does not depend on files, tables or costs.

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
pub(crate) use sampler::Sampler;
#[cfg(feature = "write")]
pub use size_class::SizeClass;
#[cfg(feature = "write")]
pub(crate) use size_class::SizeCounts;
