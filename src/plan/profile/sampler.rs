//! Samples fingerprints in bounded memory, independent of the order of arrival.

use siphasher::sip::SipHasher13;

use crate::base::error::{Error, Result};
#[cfg(feature = "write")]
use crate::bytes::scramble::scramble;
use crate::plan::profile::sample::Sample;
use fpstore_base::Fingerprint;

/// Picks a sample of fingerprints that arrive in any order and any number of times.
///
/// The rank of a fingerprint is a hash of it. The sampler keeps the distinct fingerprints with the
/// smallest ranks, at most `capacity` of them, so the sample depends only on the set of
/// fingerprints: not on their order, on repeats, or on how many samplers share the work. The
/// sampler counts how often each kept fingerprint arrived. The count is exact, because a
/// fingerprint that is kept at the end was kept from its first arrival on.
///
/// With the numbers 1 to 6 as ranks and a capacity of 3:
///
/// ```text
/// arrives   kept, with counts
/// 4         4
/// 6         4 6
/// 2         2 4 6
/// 4         2 4*2 6
/// 1         1 2 4*2       6 is dropped
/// 3         1 2 3         4 is dropped, and cannot return
/// ```
#[derive(Clone, Debug)]
pub(crate) struct Sampler {
    capacity: usize,
    rank_of: fn(u64) -> u64,
    /// The kept fingerprints, ascending by rank, each once.
    kept: Vec<Entry>,
    /// Arrived fingerprints that are not merged into `kept` yet.
    pending: Vec<Entry>,
    pending_max: usize,
    /// The greatest kept rank; fingerprints with greater ranks are ignored.
    bound: u64,
    /// Whether any value was dropped.
    is_thinned: bool,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    rank: u64,
    value: u64,
    count: u64,
}

impl Sampler {
    /// The size of the planner's samples.
    pub(crate) const CAPACITY: usize = 1 << 16;

    /// A sampler that keeps at most `capacity` fingerprints, in about 32 bytes each.
    pub(crate) fn new(capacity: usize) -> Self {
        // Plans depend on the sample, so this rank must stay the same from release to release.
        Sampler::with_rank(capacity, |value| SipHasher13::new().hash(&value.to_le_bytes()))
    }

    fn with_rank(capacity: usize, rank_of: fn(u64) -> u64) -> Self {
        Sampler {
            capacity,
            rank_of,
            kept: Vec::new(),
            pending: Vec::new(),
            pending_max: (capacity / 8).max(1024),
            bound: u64::MAX,
            is_thinned: false,
        }
    }

    /// Adds a fingerprint to the set from which the sample is picked.
    #[inline]
    pub(crate) fn push(&mut self, fingerprint: Fingerprint) {
        let value = fingerprint.value();
        self.push_ranked((self.rank_of)(value), value);
    }

    #[inline]
    fn push_ranked(&mut self, rank: u64, value: u64) {
        if rank <= self.bound {
            self.pending.push(Entry { rank, value, count: 1 });
            if self.pending.len() >= self.pending_max {
                self.merge_pending();
            }
        }
    }

    /// Adds every fingerprint that was pushed to `other`.
    pub(crate) fn merge(&mut self, other: Sampler) {
        self.pending.extend(other.kept.into_iter().chain(other.pending));
        self.merge_pending();
    }

    fn merge_pending(&mut self) {
        let key = |entry: &Entry| (entry.rank, entry.value);
        self.pending.sort_unstable_by_key(key);
        self.kept.append(&mut self.pending);
        // A stable sort merges two sorted runs in linear time, and copies only the shorter one.
        self.kept.sort_by_key(key);
        self.kept.dedup_by(|next, entry| {
            let same = next.value == entry.value && next.rank == entry.rank;
            entry.count += if same { next.count } else { 0 };
            same
        });
        if self.kept.len() > self.capacity {
            self.kept.truncate(self.capacity);
            self.bound = self.kept.last().map_or(0, |entry| entry.rank);
            self.is_thinned = true;
        }
    }

    /// Returns the sample, or [`Error::InvalidPlan`] for fewer than 16 distinct fingerprints.
    pub(crate) fn finish(mut self) -> Result<Sample> {
        self.merge_pending();
        if self.kept.len() < Sample::COUNT_MIN {
            let (found, least) = (self.kept.len(), Sample::COUNT_MIN);
            let reason = format!(
                "a sample needs at least {least} distinct fingerprints, this one has {found}"
            );
            return Err(Error::InvalidPlan { reason });
        }
        Ok(self.finish_any())
    }

    /// Returns the sample even if it is too small for a plan.
    pub(crate) fn finish_any(mut self) -> Sample {
        self.merge_pending();
        Sample::picked(self.kept.into_iter().map(|entry| entry.value).collect())
    }
}

/// Distinct fingerprints with their counts: all distinct fingerprints, or one in 2^`halvings`.
#[cfg(feature = "write")]
#[derive(Debug)]
pub(crate) struct CountedSample {
    /// The fingerprints, ascending.
    entries: Vec<Entry>,
    /// One of 2^halvings distinct fingerprints is in the sample, so 0 means all.
    pub(crate) halvings: u32,
}

#[cfg(feature = "write")]
impl CountedSample {
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The values with their counts, ascending by value.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.entries.iter().map(|entry| (entry.value, entry.count))
    }

    /// How often a value was pushed; `None` if it is not in the sample.
    pub(crate) fn count_of(&self, value: u64) -> Option<u64> {
        let at = self.entries.binary_search_by_key(&value, |entry| entry.value).ok()?;
        Some(self.entries.get(at)?.count)
    }
}

#[cfg(feature = "write")]
impl Sampler {
    /// A sampler for counting. Its ranks are from a cheaper hash, which is a bijection: no two
    /// fingerprints have the same rank.
    pub(crate) fn counting(capacity: usize) -> Self {
        Sampler::with_rank(capacity.max(1), scramble)
    }

    /// Adds the fingerprint of record number `number`. The rank depends on the number, so the
    /// sample is a sample of records and not of distinct fingerprints.
    #[inline]
    pub(crate) fn push_record(&mut self, number: u64, value: u64) {
        self.push_ranked(scramble(number), value);
    }

    /// The number of halvings: the smallest number of leading zero bits of a rank for which every
    /// value with such a rank was kept.
    fn halvings(&self) -> u32 {
        if self.is_thinned { self.bound.leading_zeros() + 1 } else { 0 }
    }

    /// The values that [`finish_counted`](Self::finish_counted) would return now, in any order, and
    /// the number of halvings.
    pub(crate) fn counted_so_far(&mut self) -> (impl Iterator<Item = u64>, u32) {
        self.merge_pending();
        let halvings = self.halvings();
        let kept = self.kept.iter().take_while(move |e| e.rank.leading_zeros() >= halvings);
        (kept.map(|entry| entry.value), halvings)
    }

    /// The distinct fingerprints with their counts. If there were more than the capacity, only
    /// those with enough leading zero bits in their rank: one in a power of two.
    pub(crate) fn finish_counted(mut self) -> CountedSample {
        self.merge_pending();
        let halvings = self.halvings();
        let mut entries = self.kept;
        entries.truncate(entries.partition_point(|e| e.rank.leading_zeros() >= halvings));
        entries.sort_unstable_by_key(|entry| entry.value);
        CountedSample { entries, halvings }
    }

    /// The distinct values of sampled records, ascending, each with its number of records in the
    /// sample; and the total number of records in the sample.
    pub(crate) fn finish_records(mut self) -> (Vec<(u64, u64)>, u64) {
        self.merge_pending();
        let mut values: Vec<u64> = self.kept.iter().map(|entry| entry.value).collect();
        values.sort_unstable();
        let counts = values.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u64));
        (counts.collect(), values.len() as u64)
    }
}

impl Sample {
    /// A sample of a smaller collection of the same kind as the planned one, such as an existing
    /// file of fingerprints. Neither repeats nor the order matter.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidPlan`](crate::Error::InvalidPlan) if there are fewer than 16 distinct
    /// fingerprints.
    pub fn of_kind(fingerprints: impl IntoIterator<Item = Fingerprint>) -> Result<Self> {
        Ok(Sample::pick(fingerprints, Sampler::CAPACITY)?.into_smaller())
    }

    /// A sample of at most `count` fingerprints of the planned collection. Neither repeats nor the
    /// order matter.
    ///
    /// ```
    /// use fpstore::Fingerprint;
    /// use fpstore::plan::Sample;
    ///
    /// let fingerprints = (0..10_000).chain(0..50).map(Fingerprint::new);
    /// assert_eq!(Sample::pick(fingerprints, 100)?.count(), 100);
    /// # Ok::<(), fpstore::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidPlan`] if there are fewer than 16 distinct fingerprints.
    pub fn pick(fingerprints: impl IntoIterator<Item = Fingerprint>, count: usize) -> Result<Self> {
        let mut sampler = Sampler::new(count);
        fingerprints.into_iter().for_each(|fingerprint| sampler.push(fingerprint));
        sampler.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(feature = "write")]
    use std::collections::{BTreeMap, BTreeSet};

    fn picked(values: impl Iterator<Item = u64>, count: usize) -> Sample {
        Sample::pick(values.map(Fingerprint::new), count).unwrap()
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

    #[test]
    #[cfg(feature = "write")]
    fn what_fits_is_kept_whole_and_counts_stay_exact_when_it_does_not() {
        for (distinct, kept_max) in [(5000_u64, 10_000), (5000, 5000), (20_000, 1000), (3, 1)] {
            let mut sampler = Sampler::counting(kept_max);
            let mut expected = BTreeMap::new();
            for i in 0..3 * distinct {
                let value = scramble(i * i % distinct);
                sampler.push(Fingerprint::new(value));
                *expected.entry(value).or_insert(0) += 1;
            }
            let (so_far, halvings) = sampler.counted_so_far();
            let so_far: BTreeSet<u64> = so_far.collect();
            let sample = sampler.finish_counted();
            let kept: Vec<(u64, u64)> = sample.iter().collect();
            assert_eq!(so_far, kept.iter().map(|&(value, _)| value).collect());
            assert!(kept.len() <= kept_max);
            assert!(kept.is_sorted_by(|a, b| a.0 < b.0));
            let thinned = expected.keys().filter(|v| scramble(**v).leading_zeros() >= halvings);
            assert_eq!(kept.len(), thinned.count(), "each with the same chance");
            assert!(kept.iter().all(|(value, count)| expected[value] == *count));
            if expected.len() <= kept_max {
                assert_eq!((kept.len(), halvings), (expected.len(), 0));
            }
        }
    }

    #[test]
    #[cfg(feature = "write")]
    fn a_thinned_sample_estimates_the_number_of_fingerprints() {
        let mut sampler = Sampler::counting(4000);
        (0..300_000_u64).for_each(|i| sampler.push(Fingerprint::new(i % 100_000)));
        let sample = sampler.finish_counted();
        let estimate = sample.len() as f64 * 2_f64.powi(sample.halvings as i32);
        assert!((estimate / 100_000.0 - 1.0).abs() < 0.1, "{estimate}");
        assert!(sample.iter().all(|(_, count)| count == 3));
        assert!(sample.iter().all(|(value, count)| sample.count_of(value) == Some(count)));
    }

    #[test]
    #[cfg(feature = "write")]
    fn a_sample_of_records_has_each_with_the_same_chance() {
        // A third of the records have the same value: the first, the middle or the last third, or
        // every third record.
        for place in 0..4_u64 {
            let mut sampler = Sampler::counting(2000);
            for i in 0..90_000_u64 {
                let heavy = if place == 3 { i % 3 == 0 } else { i / 30_000 == place };
                sampler.push_record(i, if heavy { 7 } else { 1000 + i });
            }
            let (counts, len) = sampler.finish_records();
            assert_eq!((len, counts[0].0), (2000, 7));
            assert!((counts[0].1 as f64 / 2000.0 - 1.0 / 3.0).abs() < 0.05, "{:?}", counts[0]);
        }
        let mut few = Sampler::counting(10);
        (0..).zip([5, 5, 6]).for_each(|(number, value)| few.push_record(number, value));
        assert_eq!(few.finish_records(), (vec![(5, 2), (6, 1)], 3));
    }
}
