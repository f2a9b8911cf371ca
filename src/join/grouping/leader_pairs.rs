//! Finds all near pairs of documents and leaders with a join, if that is cheaper than a scan.
//!
//! A scan compares a document with one leader after the other until a leader is near: it is cheap
//! if a near leader comes early. A join is cheap if there are few near pairs. The choice depends on
//! the scan of a sample of documents; both methods give the same leaders.

use crate::base::error::{Error, Result};
use crate::join::engine::blocking::Blocking;
use crate::join::engine::density::{is_dense, near_count};
use crate::join::engine::finder::{PairFinder, ValuePair};
use crate::join::engine::sides::SidesMut;
use fpstore_base::watch::Watch;

/// If documents times leaders is at most this number, a scan takes negligible time.
const SCAN_FREE: usize = if cfg!(test) { 64 } else { 1 << 22 };
/// Nanoseconds to compare a document with a leader.
const NANOS_PER_LEADER: f64 = 1.0;
/// Nanoseconds to find and sort a near pair.
const NANOS_PER_PAIR: f64 = 20.0;
/// Number of documents that are scanned to estimate the time of a scan.
const SCANNED_COUNT: usize = 64;
/// Number of sampled pairs.
const SAMPLE_COUNT: usize = 2048;
/// With this many near documents for each document there are few leaders, so a scan is cheap.
const DENSE_DEGREE: f64 = 16.0;
/// Maximum number of pairs in memory. With more pairs, a scan is used.
const PAIRS_MAX: usize = 1 << 23;

/// Near pairs, given as positions: first a document, then a leader or document near it. Ascending.
pub(in crate::join) struct NearLists(Vec<(u32, u32)>);

impl NearLists {
    /// The positions of the leaders or documents near a document.
    pub(in crate::join) fn of(&self, document: u32) -> impl Iterator<Item = u32> {
        let start = self.0.partition_point(|pair| pair.0 < document);
        self.0[start..].iter().take_while(move |pair| pair.0 == document).map(|pair| pair.1)
    }
}

/// The near pairs of documents and leaders; `None` if it is cheaper to scan the leaders for each
/// document until a near leader is found.
pub(in crate::join) fn near_across(
    documents: &[u64],
    leaders: &[u64],
    k: u32,
    watch: &Watch,
) -> Result<Option<NearLists>> {
    if documents.len() * leaders.len() <= SCAN_FREE {
        return Ok(None);
    }
    let step = documents.len().div_ceil(SCANNED_COUNT);
    let scanned: Vec<usize> = documents
        .iter()
        .step_by(step)
        .map(|value| {
            let is_near = |other: &u64| (value ^ other).count_ones() <= k;
            watch.look()?;
            Ok(leaders.iter().position(is_near).unwrap_or(leaders.len()))
        })
        .collect::<Result<_>>()?;
    let mean = scanned.iter().sum::<usize>() as f64 / scanned.len() as f64;
    let scan_nanos = mean * documents.len() as f64 * NANOS_PER_LEADER;
    let (documents, leaders) = (ByValue::new(documents), ByValue::new(leaders));
    let (mut probe, mut build) = (documents.distinct(), leaders.distinct());
    let sides = SidesMut::Across { probe: &mut probe, build: &mut build };
    let sample = sides.sample(SAMPLE_COUNT);
    let near = near_count(&sample, k);
    let (count, pairs) = (sides.value_count() as u64, sides.pair_count());
    let Some(blocking) = Blocking::choose_measured(sides.varying(), count, pairs, k, &sample)
    else {
        return Ok(None);
    };
    let pair_nanos = NANOS_PER_PAIR * pairs * near as f64 / sample.len() as f64;
    if blocking.expected_nanos() as f64 + pair_nanos > scan_nanos {
        return Ok(None);
    }
    find(sides, k, watch, |one, other, pairs| {
        for one in documents.with(one) {
            pairs.extend(leaders.with(other).map(|other| (one, other)));
        }
    })
}

/// The near pairs among documents, the later document first; `None` if there are too many.
pub(in crate::join) fn near_within(
    values: &[u64],
    k: u32,
    watch: &Watch,
) -> Result<Option<NearLists>> {
    let documents = ByValue::new(values);
    let mut distinct = documents.distinct();
    let sides = SidesMut::Within(&mut distinct);
    let sample = sides.sample(SAMPLE_COUNT + values.len() / 16);
    let is_dense = is_dense(&sample, values.len() as u64, DENSE_DEGREE, k);
    if is_dense || documents.copies() > values.len() as u64 * DENSE_DEGREE as u64 {
        return Ok(None);
    }
    let copies = documents.0.chunk_by(|a, b| a.0 == b.0).flat_map(|same| {
        let earlier = move |at: usize| same[..at].iter().map(move |other| (same[at].1, other.1));
        (1..same.len()).flat_map(earlier)
    });
    let copies: Vec<(u32, u32)> = copies.collect();
    let found = find(sides, k, watch, |one, other, pairs| {
        for one in documents.with(one) {
            pairs.extend(documents.with(other).map(|other| (one.max(other), one.min(other))));
        }
    })?;
    Ok(found.map(|NearLists(mut pairs)| {
        pairs.extend(copies);
        pairs.sort_unstable();
        NearLists(pairs)
    }))
}

/// Finds the near pairs of values; `add` appends the pairs of positions for each pair of values.
/// `None` if there are too many.
fn find(
    sides: SidesMut<'_>,
    k: u32,
    watch: &Watch,
    add: impl Fn(u64, u64, &mut Vec<(u32, u32)>),
) -> Result<Option<NearLists>> {
    let mut pairs = Vec::new();
    let mut emit = |found: &mut Vec<ValuePair>| {
        watch.look()?;
        for (one, other) in found.drain(..) {
            add(one, other, &mut pairs);
            if pairs.len() > PAIRS_MAX {
                return Err(Error::TooManyPairs { most: PAIRS_MAX as u64 });
            }
        }
        Ok(())
    };
    match PairFinder::new(k).find(sides, &mut emit) {
        Err(Error::TooManyPairs { .. }) => return Ok(None),
        found => found?,
    }
    pairs.sort_unstable();
    Ok(Some(NearLists(pairs)))
}

/// Values with their positions, sorted by value, then by position.
struct ByValue(Vec<(u64, u32)>);

impl ByValue {
    fn new(values: &[u64]) -> Self {
        let mut sorted: Vec<(u64, u32)> = values.iter().copied().zip(0..).collect();
        sorted.sort_unstable();
        ByValue(sorted)
    }

    fn distinct(&self) -> Vec<u64> {
        let mut values: Vec<u64> = self.0.iter().map(|entry| entry.0).collect();
        values.dedup();
        values
    }

    /// The positions of a value.
    fn with(&self, value: u64) -> impl Iterator<Item = u32> {
        let start = self.0.partition_point(|entry| entry.0 < value);
        self.0[start..].iter().take_while(move |entry| entry.0 == value).map(|entry| entry.1)
    }

    /// The number of pairs of positions with equal values.
    fn copies(&self) -> u64 {
        let same = self.0.chunk_by(|a, b| a.0 == b.0).map(|same| same.len() as u64);
        same.map(|count| count * (count - 1) / 2).sum()
    }
}
