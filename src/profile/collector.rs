//! Statistics of records that arrive in any order, in bounded memory.

use crate::base::error::Result;
use crate::base::section::TableIndex;
use crate::bytes::permutation::Permutation;
use crate::plan::profile::Sampler;
use crate::plan::profile::bits::BitCounts;
use crate::profile::accumulator::{Accumulator, share};
use crate::profile::nearest::NearestDistances;
use crate::profile::statistics::{Counted, HeavyFingerprint, Statistics};
use crate::profile::table::TableAccumulator;
use crate::scheme::Scheme;
use crate::writing::builder::SchemeChoice;
use fpstore_base::Fingerprint;

/// Maximum size of the sample of records. A fingerprint with one percent of all records has 655
/// records in the sample, give or take 26.
const RECORD_SAMPLE_MAX: usize = 1 << 16;
/// A fingerprint is reported as heavy only if it has this many records in the sample of records.
const SAMPLED_MIN: u64 = 50;
const HEAVIEST_MAX: usize = 10;

/// Collects the fingerprints of records and makes [`Statistics`] of them.
///
/// Up to `exact_max` distinct fingerprints everything is exact. If there are more, the collector
/// keeps one half of the distinct fingerprints, or a quarter, and so on, chosen by a hash of the
/// fingerprint. Then the counts of distinct fingerprints are counts of that sample, while the
/// counts of records stay exact. Heavy fingerprints outside the sample are found in a second
/// sample, of records. The same records in the same order give the same statistics.
///
/// # Examples
///
/// ```
/// use fpstore::profile::Collector;
/// use fpstore::{Fingerprint, Scheme};
///
/// let mut collector = Collector::new();
/// for i in 0..1000_u64 {
///     // 32-bit values where 64 bits are expected.
///     collector.push(Fingerprint::new(i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32));
/// }
/// let statistics = collector.finish(&Scheme::named("2", 3)?);
/// assert_eq!(statistics.bits[0].ones, 0);
/// # Ok::<(), fpstore::Error>(())
/// ```
#[derive(Debug)]
pub struct Collector {
    distinct: Sampler,
    /// Whether nearest other fingerprints are computed.
    wants_nearest: bool,
    records: Sampler,
    bits: BitCounts,
    record_count: u64,
    zero_count: u64,
    all_ones_count: u64,
}

impl Collector {
    /// The number of distinct fingerprints up to which [`Collector::new`] is exact: 2^23, for which
    /// it needs up to about 300 MB.
    const EXACT_MAX: usize = 1 << 23;

    /// A collector that is exact up to 2^23 distinct fingerprints.
    #[expect(clippy::new_without_default, reason = "a collector is made in order to be filled")]
    pub fn new() -> Self {
        Collector::with_exact_max(Collector::EXACT_MAX)
    }

    /// A collector that is exact up to `exact_max` distinct fingerprints. It needs up to about 35
    /// bytes for each, and 2 MB.
    pub fn with_exact_max(exact_max: usize) -> Self {
        Collector {
            distinct: Sampler::counting(exact_max),
            wants_nearest: true,
            records: Sampler::counting(exact_max.clamp(1 << 12, RECORD_SAMPLE_MAX)),
            bits: BitCounts::new(),
            record_count: 0,
            zero_count: 0,
            all_ones_count: 0,
        }
    }

    /// Leaves out [`Statistics::nearest`]: it takes up to 2^30 comparisons, and reports derive no
    /// problem from it.
    #[must_use]
    pub fn without_nearest(mut self) -> Self {
        self.wants_nearest = false;
        self
    }

    /// Counts the fingerprint of a record.
    #[inline]
    pub fn push(&mut self, fingerprint: Fingerprint) {
        let value = fingerprint.value();
        self.records.push_record(self.record_count, value);
        self.record_count += 1;
        self.zero_count += u64::from(value == 0);
        self.all_ones_count += u64::from(value == u64::MAX);
        self.bits.push(value, |_| {});
        self.distinct.push(fingerprint);
    }

    /// The scheme that `choice` yields for a store of the records pushed so far.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidPlan`](crate::Error::InvalidPlan) if a budget is too small.
    pub fn scheme(&mut self, choice: &SchemeChoice) -> Result<Scheme> {
        let (kept, halvings) = self.distinct.counted_so_far();
        let mut sampler = Sampler::new(Sampler::CAPACITY);
        let mut kept_count = 0_u64;
        for value in kept {
            sampler.push(Fingerprint::new(value));
            kept_count += 1;
        }
        choice.resolve(kept_count << halvings.min(63), sampler)
    }

    /// The statistics of the records, and of the tables that a store of `scheme` would have.
    ///
    /// Sorts the distinct fingerprints once for each table.
    pub fn finish(self, scheme: &Scheme) -> Statistics {
        let kept = self.distinct.finish_counted();
        let halvings = kept.halvings;
        let mut accumulator = Accumulator::new(kept.len() as u64);
        kept.iter().for_each(|(value, records)| accumulator.push(value, records));
        let mut statistics = accumulator.finish(Counted::Records, scheme.tuned_k(), halvings);
        if halvings > 0 {
            let (ones, n) = self.bits.finish(|_, _| {});
            for bit in &mut statistics.bits {
                bit.record_share = share(ones[bit.bit as usize], n);
            }
            statistics.record_count = self.record_count;
            statistics.zero_count = self.zero_count;
            statistics.all_ones_count = self.all_ones_count;
            let exact = |value: u64| match value {
                0 => Some(self.zero_count),
                u64::MAX => Some(self.all_ones_count),
                _ => kept.count_of(value),
            };
            statistics.heaviest = heaviest(self.records, self.record_count, exact);
        }
        let mut values: Vec<u64> = Vec::new();
        if self.wants_nearest
            && halvings == 0
            && let Some(sample) = &statistics.scheme_sample
        {
            values.extend(kept.iter().map(|(value, _)| value));
            let alike = statistics.matches_alike();
            statistics.nearest = Some(NearestDistances::of_values(&values, sample, &alike));
        }
        let scale = 2_f64.powi(halvings as i32);
        for (number, &mask) in (0..).zip(scheme.masks()) {
            let permutation = Permutation::new(mask);
            values.clear();
            let fingerprints = kept.iter().map(|(value, _)| Fingerprint::new(value));
            values.extend(fingerprints.map(|fingerprint| permutation.apply(fingerprint).0));
            values.sort_unstable();
            let mut table = TableAccumulator::new(permutation, 0);
            values.iter().for_each(|&value| table.push(value));
            statistics.tables.push(table.finish(None, TableIndex(number), scale));
        }
        statistics
    }
}

/// The fingerprints with the most records, found in a sample of the records. A count for which
/// `exact` returns `None` is estimated.
fn heaviest(
    sample: Sampler,
    record_count: u64,
    exact: impl Fn(u64) -> Option<u64>,
) -> Vec<HeavyFingerprint> {
    let (counts, len) = sample.finish_records();
    let named = counts.into_iter().filter(|&(_, count)| count >= SAMPLED_MIN);
    let mut heaviest: Vec<HeavyFingerprint> = named
        .map(|(value, count)| {
            let fingerprint = Fingerprint::new(value);
            let estimate = count as f64 / len as f64 * record_count as f64;
            match exact(value) {
                Some(count) => HeavyFingerprint { fingerprint, count, exact: true },
                None => HeavyFingerprint { fingerprint, count: estimate as u64, exact: false },
            }
        })
        .collect();
    heaviest.sort_by_key(|heavy| (std::cmp::Reverse(heavy.count), heavy.fingerprint));
    heaviest.truncate(HEAVIEST_MAX);
    heaviest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::scramble::scramble;

    fn collected(exact_max: usize, values: impl Iterator<Item = u64>) -> Statistics {
        let mut collector = Collector::with_exact_max(exact_max);
        values.for_each(|value| collector.push(Fingerprint::new(value)));
        collector.finish(&Scheme::named("2", 3).unwrap())
    }

    #[test]
    fn a_sample_gives_about_the_statistics_of_everything() {
        let values = || (0..400_000_u64).map(|i| if i % 4 == 0 { 9 } else { scramble(i) >> 24 });
        let (exact, sampled) = (collected(1 << 20, values()), collected(1 << 12, values()));
        assert_eq!(exact.sampling, None);
        let sampling = sampled.sampling.unwrap();
        assert!(sampling.fingerprint_count <= 1 << 12);
        assert_eq!(exact.record_count, sampled.record_count);
        let ratio = sampled.fingerprint_count as f64 / exact.fingerprint_count as f64;
        assert!((ratio - 1.0).abs() < 0.1, "{ratio}");
        for (one, other) in exact.bits.iter().zip(&sampled.bits) {
            assert_eq!(one.record_share, other.record_share, "bit {}", one.bit);
            assert!((one.share - other.share).abs() < 0.05, "bit {}", one.bit);
        }
        let (one, other) = (exact.heaviest[0], sampled.heaviest[0]);
        assert_eq!((one.fingerprint.value(), one.count), (9, 100_000));
        assert_eq!(other.fingerprint.value(), 9);
        assert!((other.count as f64 / 1e5 - 1.0).abs() < 0.05, "{other:?}");
        for (one, other) in exact.tables.iter().zip(&sampled.tables) {
            let ratio = other.candidates_per_probe / one.candidates_per_probe.max(1e-9);
            let few = one.candidates_per_probe < 1.0;
            assert!(few || (ratio - 1.0).abs() < 0.2, "{ratio}: {one:?}");
        }
        // 300 000 values in 2^8 prefix groups.
        assert!((exact.tables[0].candidates_per_probe / 1171.9 - 1.0).abs() < 0.01);
    }

    #[test]
    fn tables_are_chosen_for_the_records_so_far() {
        let mut collector = Collector::with_exact_max(1 << 12);
        let choice = SchemeChoice::default();
        assert!(collector.scheme(&choice).is_ok());
        (0..50_000_u64).for_each(|i| collector.push(Fingerprint::new(scramble(i) >> 32)));
        let scheme = collector.scheme(&choice).unwrap();
        // Only the low 32 bits vary, so each mask must contain some of them.
        assert!(scheme.masks().iter().all(|mask| mask & 0xffff_ffff != 0), "{scheme:x?}");
        assert_eq!(collector.finish(&scheme).record_count, 50_000);
    }

    #[test]
    fn nothing_gives_statistics_of_nothing() {
        let nothing = collected(16, std::iter::empty());
        assert_eq!((nothing.fingerprint_count, nothing.record_count), (0, 0));
        assert_eq!(nothing.effective_bits, None);
        assert_eq!(nothing.range, None);
        assert!(nothing.duplicates.is_empty() && nothing.heaviest.is_empty());
    }
}
