//! A uniform sample of distinct fingerprints, the same for any order in which they come.

use siphasher::sip::SipHasher13;

use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::store::Store;

/// Distinct fingerprints of which the planner learns how they crowd together.
///
/// Each fingerprint of the collection should have had the same chance to be in it, whatever its
/// neighbours did: [`Sampler`] picks such a sample. Every so-manyth of a sorted list is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// By rank of their hash, so that the first ones are a sample of the sample.
    values: Vec<u64>,
    origin: Origin,
}

/// What a sample stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// Picked from the collection that is planned, so everything in it grows with the whole.
    Picked,
    /// A smaller collection of the same kind: groups of near-duplicates stay as large as here.
    Smaller,
}

impl Sample {
    /// The fewest distinct fingerprints that tell anything.
    pub const COUNT_MIN: usize = 16;

    /// A smaller collection of the same kind as the one that is planned, say a file of
    /// fingerprints made earlier. Repeats do not count, nor does the order.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidPlan`] if there are fewer than [`Sample::COUNT_MIN`] distinct ones.
    pub fn of_kind(fingerprints: impl IntoIterator<Item = Fingerprint>) -> Result<Self> {
        let mut sampler = Sampler::new(Sampler::CAPACITY);
        fingerprints.into_iter().for_each(|fingerprint| sampler.push(fingerprint));
        let mut sample = sampler.finish()?;
        sample.origin = Origin::Smaller;
        Ok(sample)
    }

    /// A sample of what a store holds; reads one table of it from end to end.
    ///
    /// # Errors
    ///
    /// * [`Error::Corrupt`] if the store is damaged.
    /// * [`Error::InvalidPlan`] if it holds fewer than [`Sample::COUNT_MIN`] fingerprints.
    pub fn of_store(store: &Store) -> Result<Self> {
        let mut sampler = Sampler::new(Sampler::CAPACITY);
        store.for_each(|entry| {
            sampler.push(entry.fingerprint());
            Ok::<(), Error>(())
        })?;
        sampler.finish()
    }

    /// How many distinct fingerprints it holds.
    pub fn count(&self) -> usize {
        self.values.len()
    }

    /// Its fingerprints, the first ones a sample of the sample.
    pub fn fingerprints(&self) -> impl Iterator<Item = Fingerprint> {
        self.values.iter().copied().map(Fingerprint::new)
    }

    pub(super) fn values(&self) -> &[u64] {
        &self.values
    }

    pub(super) fn origin(&self) -> Origin {
        self.origin
    }
}

/// Picks a sample from fingerprints that come by in any order and any number of times.
///
/// It keeps those with the least hash, so the sample depends on the set alone: not on the order,
/// on repeats, nor on how the work was shared out.
///
/// ```
/// use fpstore::{Fingerprint, Sampler};
///
/// let mut sampler = Sampler::new(100);
/// (0..10_000).chain(0..50).for_each(|value| sampler.push(Fingerprint::new(value)));
/// assert_eq!(sampler.finish()?.count(), 100);
/// # Ok::<(), fpstore::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sampler {
    capacity: usize,
    /// Hash and value; those beyond the capacity wait to be dropped.
    kept: Vec<(u64, u64)>,
    /// What reaches this hash is not in the sample.
    bound: u64,
}

impl Sampler {
    /// As many as the planner makes use of.
    pub const CAPACITY: usize = 1 << 16;

    /// A sampler that keeps at most `capacity` fingerprints, in 32 bytes each.
    pub fn new(capacity: usize) -> Self {
        Sampler { capacity, kept: Vec::new(), bound: u64::MAX }
    }

    /// Considers a fingerprint.
    pub fn push(&mut self, fingerprint: Fingerprint) {
        let value = fingerprint.value();
        let hash = SipHasher13::new().hash(&value.to_le_bytes());
        if hash <= self.bound {
            self.kept.push((hash, value));
            if self.kept.len() >= 2 * self.capacity.max(32) {
                self.drop_surplus();
            }
        }
    }

    /// Considers all that another sampler did.
    pub fn merge(&mut self, other: Sampler) {
        self.kept.extend(other.kept);
        self.drop_surplus();
    }

    fn drop_surplus(&mut self) {
        self.kept.sort_unstable();
        self.kept.dedup();
        if self.kept.len() > self.capacity {
            self.kept.truncate(self.capacity);
            self.bound = self.kept.last().map_or(u64::MAX, |&(hash, _)| hash);
        }
    }

    /// The sample.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidPlan`] if there are fewer than [`Sample::COUNT_MIN`] distinct ones.
    pub fn finish(mut self) -> Result<Sample> {
        self.drop_surplus();
        if self.kept.len() < Sample::COUNT_MIN {
            let (found, least) = (self.kept.len(), Sample::COUNT_MIN);
            let reason = format!(
                "a sample needs at least {least} distinct fingerprints, this one has {found}"
            );
            return Err(Error::InvalidPlan { reason });
        }
        let values = self.kept.into_iter().map(|(_, value)| value).collect();
        Ok(Sample { values, origin: Origin::Picked })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picked(values: impl Iterator<Item = u64>, capacity: usize) -> Sample {
        let mut sampler = Sampler::new(capacity);
        values.for_each(|value| sampler.push(Fingerprint::new(value)));
        sampler.finish().unwrap()
    }

    #[test]
    fn a_sample_depends_on_the_set_alone() {
        let sample = picked(0..10_000, 1000);
        assert_eq!(sample.count(), 1000);
        assert_eq!(picked((0..10_000).rev().chain(0..10_000), 1000), sample);
        let mut first = Sampler::new(1000);
        let mut second = Sampler::new(1000);
        (0..10_000).for_each(|value| match value % 3 {
            0 => first.push(Fingerprint::new(value)),
            _ => second.push(Fingerprint::new(value)),
        });
        first.merge(second);
        assert_eq!(first.finish().unwrap(), sample);
        assert_eq!(picked(0..500, 1000).count(), 500);
    }

    #[test]
    fn a_sample_of_one_is_refused_and_the_least_named() {
        let error = Sample::of_kind([Fingerprint::new(1); 40]).unwrap_err().to_string();
        assert!(error.contains("at least 16") && error.contains("has 1"), "{error}");
    }
}
