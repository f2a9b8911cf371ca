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
mod sampler;
#[cfg(feature = "write")]
mod size_class;

use fpstore_base::Fingerprint;
pub(crate) use sampler::Sampler;
#[cfg(feature = "write")]
pub use size_class::SizeClass;
#[cfg(feature = "write")]
pub(crate) use size_class::SizeCounts;

/// A sample of distinct fingerprints: the planner infers from it how values crowd.
///
/// Every fingerprint of the collection must have the same chance to be in the sample, whatever its
/// neighbours are. [`Sample::pick`] takes such a sample; every hundredth of a sorted list is not one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// By rank, so that the first ones are a sample of the sample.
    values: Vec<u64>,
    origin: Origin,
}

/// The collection that a sample was taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The collection that is planned, so every count grows with the whole.
    Picked,
    /// A smaller collection of the same kind: groups of near-duplicates stay as large as here.
    Smaller,
}

impl Sample {
    /// The fewest distinct fingerprints that make a sample.
    const COUNT_MIN: usize = 16;

    /// The same values as a smaller collection of the kind that is planned.
    fn into_smaller(mut self) -> Self {
        self.origin = Origin::Smaller;
        self
    }

    /// A sample that a sampler picked, by rank.
    fn picked(values: Vec<u64>) -> Self {
        Sample { values, origin: Origin::Picked }
    }

    /// The number of distinct fingerprints in it.
    pub fn count(&self) -> usize {
        self.values.len()
    }

    /// Its fingerprints. The first ones are a sample of the sample.
    pub fn fingerprints(&self) -> impl Iterator<Item = Fingerprint> {
        self.values.iter().copied().map(Fingerprint::new)
    }

    pub(crate) fn values(&self) -> &[u64] {
        &self.values
    }

    pub(crate) fn origin(&self) -> Origin {
        self.origin
    }
}
