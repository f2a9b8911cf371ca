//! Samples a few pairs of documents of every distance, for people to judge.
//!
//! Nearly all random pairs have a large distance. So each fingerprint of a sample is paired with
//! its nearest other fingerprint, and about the same number of pairs is drawn for each distance.

use super::Pair;
use super::nearest_others::for_each_nearest_other;
use crate::base::error::{Error, Result};
use crate::bytes::scramble::scramble;
use crate::join::options::JoinOptions;
use crate::plan::{Sample, Sampler};
use crate::search::Hit;
use crate::store::Store;
use fpstore_base::Id;
use fpstore_base::watch::Phase;

/// The usual maximum distance of pairs to judge: few near-duplicates have a larger distance.
pub const JUDGED_DISTANCE: u32 = 24;

/// Two documents to judge.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SampledPair {
    /// The fingerprints of the two documents.
    pub pair: Pair,
    /// The id of the document with the first fingerprint.
    pub first_id: Id,
    /// The id of the document with the second fingerprint.
    pub second_id: Id,
}

/// Chooses pairs of documents for people to judge: up to `count` pairs, distributed evenly over the
/// distances from 0 to the `k` of the options, in an order that does not reveal the distance.
///
/// Each fingerprint of a sample is paired with the nearest other fingerprint; pairs at distance 0
/// are two documents with the same fingerprint. Both documents of a pair have ids, and no pair
/// occurs twice. The same store gives the same pairs.
///
/// The judgements show which `k` is suitable, see the command `fpstore evaluate`.
///
/// # Errors
///
/// * [`Error::Corrupt`] if the store is damaged.
/// * [`Error::InvalidDistance`] if `k` is more than 64.
/// * [`Error::Interrupted`] if the observer ends the work.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let mut builder = fpstore::Builder::new(folder.path().join("news.fps"))?;
/// for number in 0..100_u64 {
///     builder.push((number << 32).into(), number)?;
/// }
/// let store = builder.finish()?;
///
/// use fpstore::join::{JoinOptions, sampled_pairs};
/// let pairs = sampled_pairs(&store, &JoinOptions::new(24), 30)?;
/// assert_eq!(pairs.len(), 30);
/// assert!(pairs.iter().all(|pair| pair.pair.distance() == 1));
/// # Ok(()) }
/// ```
pub fn sampled_pairs(
    store: &Store,
    options: &JoinOptions,
    count: usize,
) -> Result<Vec<SampledPair>> {
    options.check()?;
    let (sample, fingerprint_count) = sample_of(store, options)?;
    let watch = options.watch(Phase::Search, Some(fingerprint_count));
    let mut by_distance: Vec<Vec<SampledPair>> = vec![Vec::new(); options.k as usize + 1];
    let mut take = |one: &Hit<'_>, other: &Hit<'_>, at_other: usize| -> Result<()> {
        let found = &mut by_distance[one.fingerprint().distance(other.fingerprint()) as usize];
        if found.len() < count
            && let (Some(pair), false) = (pair_of(one, other, at_other)?, count == 0)
            && !found.contains(&pair)
        {
            found.push(pair);
        }
        Ok(())
    };
    for_each_nearest_other(store, &sample, fingerprint_count, options.k, |own, other| {
        watch.tick(1).map_err(Error::from)?;
        take(own, own, 1)?;
        other.map_or(Ok(()), |other| take(own, other, 0))
    })?;
    // Takes one pair of each distance, then a second pair of each distance, and so on.
    let most = by_distance.iter().map(Vec::len).max().unwrap_or_default();
    let turn = |at| by_distance.iter().filter_map(move |found: &Vec<_>| found.get(at));
    let mut pairs: Vec<SampledPair> = (0..most).flat_map(turn).take(count).cloned().collect();
    pairs.sort_by_key(|SampledPair { pair, .. }| {
        scramble(pair.first.value() ^ scramble(pair.second.value()))
    });
    Ok(pairs)
}

/// A sample of the fingerprints of a store, and the number of all its fingerprints.
fn sample_of(store: &Store, options: &JoinOptions) -> Result<(Sample, u64)> {
    let watch = options.watch(Phase::Read, Some(store.info().fingerprint_count()));
    let (mut sampler, mut fingerprint_count) = (Sampler::new(Sampler::CAPACITY), 0);
    store.for_each(|record| {
        watch.tick(1).map_err(Error::from)?;
        fingerprint_count += 1;
        sampler.push(record.fingerprint());
        Ok::<(), Error>(())
    })?;
    Ok((sampler.finish_any(), fingerprint_count))
}

/// The pair of the first document of `one` and the document at position `at_other` of `other`, if
/// both have ids.
fn pair_of(one: &Hit<'_>, other: &Hit<'_>, at_other: usize) -> Result<Option<SampledPair>> {
    let first_id = one.ids().next().transpose()?.map(|id| id.to_id());
    let second_id = other.ids().nth(at_other).transpose()?.map(|id| id.to_id());
    let (Some(first_id), Some(second_id)) = (first_id, second_id) else { return Ok(None) };
    let (first, second) = (one.fingerprint(), other.fingerprint());
    let is_in_order = first <= second;
    let (first, second) = if is_in_order { (first, second) } else { (second, first) };
    let (first_id, second_id) =
        if is_in_order { (first_id, second_id) } else { (second_id, first_id) };
    Ok(Some(SampledPair { pair: Pair { first, second }, first_id, second_id }))
}
