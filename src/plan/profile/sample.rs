//! A sample of distinct fingerprints.

use fpstore_base::Fingerprint;

/// A sample of distinct fingerprints, from which the planner infers how unevenly they are
/// distributed.
///
/// Every fingerprint of the collection must have the same chance to be in the sample, independent
/// of its neighbours. [`Sample::pick`] takes such a sample; every hundredth entry of a sorted list
/// is not such a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The fingerprints, ascending by rank (a hash): any number of first ones is a random sample,
    /// too.
    values: Vec<u64>,
    origin: Origin,
}

/// The collection from which a sample was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The planned collection itself: all counts in the sample are scaled up to the collection.
    Picked,
    /// A smaller collection of the same kind: numbers of near-duplicates of a fingerprint are not
    /// scaled up to the planned collection.
    Smaller,
}

impl Sample {
    /// Minimum number of distinct fingerprints in a sample.
    pub(super) const COUNT_MIN: usize = 16;

    /// The same sample, marked as taken from a smaller collection of the same kind.
    pub(super) fn into_smaller(mut self) -> Self {
        self.origin = Origin::Smaller;
        self
    }

    /// A sample of the planned collection, given ascending by rank.
    pub(super) fn picked(values: Vec<u64>) -> Self {
        Sample { values, origin: Origin::Picked }
    }

    /// The number of distinct fingerprints in the sample.
    pub fn count(&self) -> usize {
        self.values.len()
    }

    /// The fingerprints of the sample. Any number of first ones is a random sample, too.
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
