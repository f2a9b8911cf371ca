//! The statistics of a store or an input.

use crate::base::error::Result;
use crate::plan::profile::SizeClass;
use crate::plan::{PlanRequest, Sample};
use crate::profile::by_chance::random_matches;
use crate::profile::nearest::NearestDistances;
use crate::profile::table::TableStatistics;
use crate::scheme::Scheme;
use fpstore_base::Fingerprint;

/// Statistics of the fingerprints of a store or an input.
///
/// Everything is exact, unless [`sampling`](Self::sampling) describes a sample.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Statistics {
    /// The unit of [`record_count`](Self::record_count) and of the record counts of fingerprints.
    pub counted: Counted,
    /// The number of distinct fingerprints; estimated if [`sampling`](Self::sampling) describes a
    /// sample.
    #[cfg_attr(feature = "serde", serde(rename = "fingerprints"))]
    pub fingerprint_count: u64,
    /// The number of records of all fingerprints, always exact.
    #[cfg_attr(feature = "serde", serde(rename = "records"))]
    pub record_count: u64,
    /// The sample, if there were too many distinct fingerprints to keep all of them in memory.
    #[cfg_attr(feature = "serde", serde(rename = "sample"))]
    pub sampling: Option<Sampling>,
    /// The distance for which the tables are tuned.
    pub tuned_k: u32,
    /// The bits, bit 63 first.
    pub bits: Vec<BitStatistics>,
    /// The number of evenly distributed bits that would carry the same information as the bits of
    /// these fingerprints, taken as independent: the collision entropy of the shares of ones, at
    /// most 64. `None` for fewer than two fingerprints.
    pub effective_bits: Option<f64>,
    /// Pairs of bits with a strong and significant correlation, strongest first, ties by descending
    /// bit. Computed from at most 2^20 fingerprints.
    pub correlated: Vec<BitPair>,
    /// The fingerprints with the most records, sorted by descending number of records, then by
    /// fingerprint. At most ten, and only fingerprints with several records.
    pub heaviest: Vec<HeavyFingerprint>,
    /// The number of records of the fingerprint 0, always exact.
    pub zero_count: u64,
    /// The number of records of the fingerprint of 64 ones, always exact.
    pub all_ones_count: u64,
    /// The number of deleted fingerprints that remain in tables until a compaction of their
    /// segments. Only [`tables`](Self::tables) counts them; all other statistics do not.
    pub deleted_in_tables: u64,
    /// The number of fingerprints in each class of record counts; `total` is the number of records.
    pub duplicates: Vec<SizeClass>,
    /// Entry `i`, 0 to 64: the number of fingerprints with `i` ones.
    pub popcounts: Vec<u64>,
    /// The number of fingerprints that a 64-bit float, as in JavaScript, represents exactly.
    pub double_count: u64,
    /// The number of fingerprints whose hex digits are all 0 to 9.
    pub decimal_looking_count: u64,
    /// The least and the greatest fingerprint.
    pub range: Option<(Fingerprint, Fingerprint)>,
    /// The matches expected by chance, for distances 0 to 64.
    #[cfg_attr(feature = "serde", serde(rename = "chance"))]
    pub by_chance: Vec<ExpectedMatches>,
    /// The distances to the nearest other fingerprint. `None` if the statistics are those of a
    /// sample, if there are too few fingerprints, or if a [`Collector`](crate::profile::Collector)
    /// leaves it out.
    pub nearest: Option<NearestDistances>,
    /// The tables of the store, or the tables that a store of the input would have.
    pub tables: Vec<TableStatistics>,
    /// A sample for the planner; `None` if there are too few fingerprints for one.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(crate) scheme_sample: Option<Sample>,
}

/// The things that statistics count as records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum Counted {
    /// The records of an input.
    Records,
    /// The ids of a store; a fingerprint without an id counts as one record.
    Ids,
    /// The fingerprints of a store without ids, in which the number of occurrences is unknown.
    Fingerprints,
}

impl Counted {
    /// The noun for `count` records of this kind.
    pub fn noun(self, count: u64) -> &'static str {
        match (self, count) {
            (Counted::Records, 1) => "record",
            (Counted::Records, _) => "records",
            (Counted::Ids, 1) => "id",
            (Counted::Ids, _) => "ids",
            (Counted::Fingerprints, 1) => "fingerprint",
            (Counted::Fingerprints, _) => "fingerprints",
        }
    }
}

/// A sample of distinct fingerprints, chosen by a hash, with all their records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Sampling {
    /// The number of distinct fingerprints in the sample.
    #[cfg_attr(feature = "serde", serde(rename = "fingerprints"))]
    pub fingerprint_count: u64,
    /// One distinct fingerprint in this number is in the sample.
    pub one_in: u64,
}

/// How often a bit is 1.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct BitStatistics {
    /// The bit, 63 the most significant.
    pub bit: u32,
    /// The number of counted distinct fingerprints in which the bit is 1.
    pub ones: u64,
    /// The share of distinct fingerprints in which the bit is 1; one half without fingerprints.
    pub share: f64,
    /// The share of records in which the bit is 1, always exact.
    pub record_share: f64,
}

/// Two bits that are set together more or less often than by chance.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct BitPair {
    /// The higher bit.
    pub high: u32,
    /// The lower bit.
    pub low: u32,
    /// Pearson's correlation: 1 if the two bits are always equal, -1 if they always differ.
    pub correlation: f64,
}

/// A fingerprint with many records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct HeavyFingerprint {
    /// The fingerprint.
    pub fingerprint: Fingerprint,
    /// The number of records with this fingerprint.
    pub count: u64,
    /// Whether the count is exact; otherwise it is estimated from a sample of the records.
    pub exact: bool,
}

/// The mean number of matches that a query finds by chance within a distance.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ExpectedMatches {
    /// The distance.
    pub k: u32,
    /// For a random query, whatever is stored: n * (C(64,0) + ... + C(64,k)) / 2^64.
    pub random: f64,
    /// For a query with the same shares of ones as the stored fingerprints, bits taken as
    /// independent.
    pub alike: f64,
}

impl Statistics {
    /// The largest distance at which fewer than one query in a thousand finds a match by chance;
    /// `None` if there is no such distance.
    pub fn distance_without_chance(&self) -> Option<u32> {
        let few = |expected: &&ExpectedMatches| expected.random.max(expected.alike) < 1e-3;
        self.by_chance.iter().take_while(few).last().map(|expected| expected.k)
    }

    /// The scheme of [`tables`](Self::tables). If segments have different schemes, the result is
    /// the scheme of the first segment, which is the oldest.
    ///
    /// # Errors
    ///
    /// The errors of [`Scheme::from_masks`]. A store without fingerprints has no tables.
    pub fn scheme(&self) -> Result<Scheme> {
        let first = self.tables.first().and_then(|table| table.segment);
        let of_first = self.tables.iter().filter(|table| table.segment == first);
        Scheme::of_tables(of_first.map(|table| (table.mask, table.telling_bits)), self.tuned_k)
    }

    /// The request to the planner for these fingerprints, with `tuned_k` as the distance.
    ///
    /// ```no_run
    /// let store = fpstore::Store::open("pages.fps")?;
    /// let plan = fpstore::profile::profile(&store)?.plan_request().plan()?;
    /// println!("{}", plan.chosen().name);
    /// # Ok::<(), fpstore::Error>(())
    /// ```
    pub fn plan_request(&self) -> PlanRequest {
        let request = PlanRequest::new(self.fingerprint_count, self.tuned_k);
        match &self.scheme_sample {
            Some(sample) => request.sample(sample.clone()),
            None => request,
        }
    }

    /// Entry `k`: the mean number of matches by chance within `k` bits, for a query with the same
    /// shares of ones as the stored fingerprints.
    pub(super) fn matches_alike(&self) -> Vec<f64> {
        self.by_chance.iter().map(|expected| expected.alike).collect()
    }

    pub(super) fn expected_by_chance(
        fingerprint_count: u64,
        alike: &[f64],
    ) -> Vec<ExpectedMatches> {
        let at = |(k, &alike): (u32, &f64)| {
            let random = random_matches(fingerprint_count, k);
            ExpectedMatches { k, random, alike }
        };
        (0..=64).zip(alike).map(at).collect()
    }
}
