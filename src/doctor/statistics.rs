//! What is known of a store or an input, in numbers.

use crate::doctor::chance::random_matches;
use crate::doctor::size_class::SizeClass;
use crate::doctor::table::TableStatistics;
use crate::fingerprint::Fingerprint;
use crate::planner::{PlanRequest, Sample};

/// What is known of the fingerprints of a store or an input.
///
/// Everything is exact, unless [`sampling`](Self::sampling) says that it is of a sample.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Statistics {
    /// What [`record_count`](Self::record_count) and the counts of single fingerprints count.
    pub counted: Counted,
    /// Distinct fingerprints; estimated if this is a sample.
    pub fingerprint_count: u64,
    /// Records over all fingerprints, always exact.
    pub record_count: u64,
    /// Set if there were too many distinct fingerprints to hold them all.
    pub sampling: Option<Sampling>,
    /// The distance that the tables are meant for.
    pub tuned_k: u32,
    /// The bits, bit 63 first.
    pub bits: Vec<BitStatistics>,
    /// How many even, independent bits would tell as many fingerprints apart as these do if
    /// they were independent: the collision entropy of the shares of ones, at most 64. `None`
    /// for fewer than two fingerprints.
    pub effective_bits: Option<f64>,
    /// Pairs of bits with a correlation that is strong and no chance, strongest first, ties by
    /// descending bit. From at most 2^20 fingerprints.
    pub correlated: Vec<BitPair>,
    /// The fingerprints with the most records, most first, ties by ascending fingerprint. At
    /// most ten, and none that has a single one.
    pub heaviest: Vec<HeavyFingerprint>,
    /// Records of the fingerprint 0, always exact.
    pub zero_count: u64,
    /// Records of the fingerprint of 64 ones, always exact.
    pub all_ones_count: u64,
    /// Fingerprints that are deleted and stand in the tables still, until their segments are compacted: tables count
    /// them, and nothing else here does.
    pub deleted_in_tables: u64,
    /// Fingerprints by their number of records; `total` sums the records.
    pub duplicates: Vec<SizeClass>,
    /// Fingerprints by their number of ones, 0 to 64.
    pub popcounts: Vec<u64>,
    /// Fingerprints that are exactly a number of double precision, as JavaScript has them.
    pub double_count: u64,
    /// Fingerprints with hex digits 0 to 9 only.
    pub decimal_looking_count: u64,
    /// The least and the greatest fingerprint.
    pub range: Option<(Fingerprint, Fingerprint)>,
    /// What a query finds by chance, for distances 0 to 64.
    pub chance: Vec<ChanceMatches>,
    /// The tables of the store, or those that a store of the input would have.
    pub tables: Vec<TableStatistics>,
    /// Fingerprints for the planner; `None` if there are too few to tell it anything.
    pub scheme_sample: Option<Sample>,
}

/// What counts as a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Counted {
    /// The records of an input.
    Records,
    /// The ids of a store; a fingerprint without one counts as one.
    Ids,
    /// The fingerprints of a store without ids, which does not know how often each came.
    Fingerprints,
}

impl Counted {
    /// The noun for this many.
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

/// How a sample was taken: by a hash of the fingerprint, with all its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sampling {
    /// Distinct fingerprints in the sample.
    pub fingerprint_count: u64,
    /// One distinct fingerprint in so many is in the sample.
    pub one_in: u64,
}

/// How often a bit is set.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct BitStatistics {
    /// The bit, 63 the most significant.
    pub bit: u32,
    /// The distinct fingerprints looked at in which it is 1.
    pub ones: u64,
    /// The share of ones among distinct fingerprints, 0 to 1; one half for none.
    pub share: f64,
    /// The share of ones among records, always exact.
    pub record_share: f64,
}

/// Two bits that are set together more or less often than chance would have it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct BitPair {
    /// The higher bit.
    pub high: u32,
    /// The lower bit.
    pub low: u32,
    /// Pearson's correlation: 1 if they are always equal, -1 if they always differ.
    pub correlation: f64,
}

/// A fingerprint with many records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeavyFingerprint {
    /// The fingerprint.
    pub fingerprint: Fingerprint,
    /// How many records it has.
    pub count: u64,
    /// Whether the count is exact; otherwise it is estimated from a sample of the records.
    pub exact: bool,
}

/// What a query finds by chance within a distance, on average.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ChanceMatches {
    /// The distance.
    pub k: u32,
    /// By a random query, whatever is stored: n * (C(64,0) + ... + C(64,k)) / 2^64.
    pub random: f64,
    /// By a query with the same shares of ones as the stored fingerprints, bits taken as
    /// independent.
    pub alike: f64,
}

impl Statistics {
    /// The greatest distance at which a query like the stored fingerprints finds less than
    /// one in a thousand by chance; `None` if even equal fingerprints are more.
    pub fn distance_without_chance(&self) -> Option<u32> {
        let few = |chance: &&ChanceMatches| chance.random.max(chance.alike) < 1e-3;
        self.chance.iter().take_while(few).last().map(|chance| chance.k)
    }

    /// What to ask the planner for these fingerprints and this distance.
    ///
    /// ```no_run
    /// let store = fpstore::Store::open("pages.fps")?;
    /// let plan = fpstore::doctor::examine(&store)?.plan_request().plan()?;
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

    /// What to call a table: by its number, and by its segment where there are several.
    pub(super) fn name_of(&self, table: &TableStatistics) -> String {
        let several = self.tables.iter().any(|other| other.segment != table.segment);
        match table.segment {
            Some(segment) if several => format!("table {} of segment {segment}", table.table.0),
            _ => format!("table {}", table.table.0),
        }
    }

    pub(super) fn chance_of(fingerprint_count: u64, alike: &[f64]) -> Vec<ChanceMatches> {
        let at = |(k, &alike): (u32, &f64)| {
            let random = random_matches(fingerprint_count, k);
            ChanceMatches { k, random, alike }
        };
        (0..=64).zip(alike).map(at).collect()
    }
}
