//! A sample of distinct fingerprints.

use fpstore_base::Fingerprint;

/// A sample of distinct fingerprints, from which the planner infers how values crowd.
///
/// Every fingerprint of the collection must have the same chance to be in the sample, independent
/// of its neighbours. [`Sample::pick`] takes such a sample; every hundredth entry of a sorted list
/// is not such a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// By rank, so that the first ones are a sample of the sample.
    values: Vec<u64>,
    origin: Origin,
}

/// The sampled collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The planned collection itself, so every count grows with the whole.
    Picked,
    /// A smaller collection of the same kind: groups of near-duplicates do not grow with the whole.
    Smaller,
}

impl Sample {
    /// The fewest distinct fingerprints that make a sample.
    pub(super) const COUNT_MIN: usize = 16;

    /// The same values as a smaller collection of the kind that is planned.
    pub(super) fn into_smaller(mut self) -> Self {
        self.origin = Origin::Smaller;
        self
    }

    /// A sample that a sampler picked, by rank.
    pub(super) fn picked(values: Vec<u64>) -> Self {
        Sample { values, origin: Origin::Picked }
    }

    /// The number of distinct fingerprints in it.
    pub fn count(&self) -> usize {
        self.values.len()
    }

    /// Its fingerprints. The first ones are a sample of the sample.
    pub(crate) fn fingerprints(&self) -> impl Iterator<Item = Fingerprint> {
        self.values.iter().copied().map(Fingerprint::new)
    }

    pub(crate) fn values(&self) -> &[u64] {
        &self.values
    }

    pub(crate) fn origin(&self) -> Origin {
        self.origin
    }
}
