//! Answers many queries at once: by a walk of each table, by probes in the order of the table, or
//! by a pass over the store.
//!
//! [`search_many`] splits the queries into chunks; `query_batch` answers a chunk. [`nearest_many`]
//! finds the nearest fingerprints by calls of [`search_many`] with increasing distances.

pub(in crate::join) mod batch_mode;
pub(in crate::join) mod query_batch;
pub(in crate::join) mod ranks;

use crate::base::error::{Error, Result};
use crate::join::options::JoinOptions;
use crate::search::{Answer, Limits};
use crate::store::Store;
use batch_mode::BatchMode;
use fpstore_base::Fingerprint;
use fpstore_base::watch::Phase;
use query_batch::QueryBatch;

/// With fewer queries a scan for each query costs no more than passes over the store for all.
const QUERIES_MIN: usize = 64;
/// Difference between two successive search distances, in bits.
const STEP: u32 = 4;
/// Maximum distance for searching all queries together: at larger distances nearly all pairs of a
/// query and a stored fingerprint would be compared.
const K_MAX: u32 = 20;
/// Maximum expected number of matches with random fingerprints for each wanted match. Limits the
/// memory, in which all matches are held.
const SURPLUS: f64 = 64.0;

/// Finds all fingerprints of a store within the distance `k` of the options from each query, and
/// calls `each` with the position of the query and its answer, in the order of the queries.
///
/// The answers are the same as from a [`Searcher`](crate::Searcher); of the `limits` only `limit`
/// has an effect.
///
/// Queries are taken in chunks, see [`batch_count`]. The queries of a chunk are sorted in the order
/// of each table. If there are many queries, each table is then walked once from its first page to
/// its last, so that a store larger than the memory is read once; if there are few, each thread
/// probes the table in its order. Or the queries are joined with all stored fingerprints in a few passes, if that is
/// expected to be faster: for very many queries, or for a distance for which the tables are not
/// tuned. Segments are answered one after the other.
///
/// # Errors
///
/// * [`Error::InvalidDistance`] if the distance is above 64, [`Error::InvalidOptions`] if the
///   memory of the options is too small for the number of threads.
/// * [`Error::Corrupt`] if bytes that a query reads break a rule.
/// * [`Error::Interrupted`] if the observer ends the search.
/// * Any error that `each` returns.
///
/// # Examples
///
#[cfg_attr(feature = "write", doc = "```")]
#[cfg_attr(not(feature = "write"), doc = "```ignore")]
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let mut builder = fpstore::Builder::new(folder.path().join("news.fps"))?;
/// # builder.push(7.into(), "a.html")?;
/// # let store = builder.finish()?;
/// use fpstore::join::{BatchMode, JoinOptions, search_many};
/// use fpstore::{Fingerprint, Limits};
///
/// let queries = [3, 1 << 60].map(Fingerprint::new);
/// let mut counts = Vec::new();
/// let (options, limits) = (JoinOptions::new(3), Limits::default());
/// search_many(&store, &queries, &options, &limits, BatchMode::Auto, |_, answer| {
///     counts.push(answer.len());
///     Ok::<(), fpstore::Error>(())
/// })?;
/// assert_eq!(counts, [1, 0]);
/// # Ok(()) }
/// ```
///
/// # Source
///
/// Manku, Jain and Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007: the batch
/// query, a file of queries against the whole collection.
pub fn search_many<E: From<Error>>(
    store: &Store,
    queries: &[Fingerprint],
    options: &JoinOptions,
    limits: &Limits,
    mode: BatchMode,
    mut each: impl FnMut(usize, Answer<'_>) -> Result<(), E>,
) -> Result<(), E> {
    options.check()?;
    let snapshot = store.snapshot();
    queries.iter().try_for_each(|query| snapshot.check_needle(*query))?;
    drop(snapshot);
    let watch = options.watch(Phase::Search, Some(queries.len() as u64));
    let batch = QueryBatch::new(store, queries.len(), options, *limits, mode, watch)?;
    let mut at = 0;
    let mut count_max = batch.chunk_max;
    while at < queries.len() {
        let range = at..queries.len().min(at + count_max);
        // If the matches of a chunk do not fit into memory, a smaller chunk is tried.
        let Some(found) = batch.find(&queries[range.clone()])? else {
            if range.len() == 1 {
                let mut searcher = batch.store.searcher();
                each(at, searcher.search_with(queries[at], options.k, limits)?)?;
                at += 1;
            }
            count_max = (range.len() / 2).max(1);
            continue;
        };
        batch.answer(range.clone(), &found, &mut each)?;
        at = range.end;
        count_max = (2 * count_max).min(batch.chunk_max);
        batch.watch.tick(range.len() as u64).map_err(Error::from)?;
    }
    Ok(())
}

/// The number of queries that [`search_many`] answers together: the more, the less often a store
/// that is larger than the memory is read. Depends on the memory and on the size of the store. A
/// caller that reads queries from a stream passes this many at once.
///
/// # Errors
///
/// [`Error::InvalidOptions`] if the memory is too little for the threads.
pub fn batch_count(store: &Store, options: &JoinOptions) -> Result<usize> {
    let (watch, mode) = (options.watch(Phase::Search, None), BatchMode::Auto);
    Ok(QueryBatch::new(store, usize::MAX, options, Limits::default(), mode, watch)?.chunk_max)
}

/// Finds the `count` nearest fingerprints of a store within the distance of the options for each
/// query, by searches of all queries together ([`search_many`]) at increasing distances. Calls
/// `each` with the position and the answer of each query that these searches answer. Returns the
/// positions of the other queries, ascending: queries without enough near fingerprints, and queries
/// left when there are too few for a search together. Answer them one by one with
/// [`Searcher::nearest`](crate::Searcher::nearest), whose answers are the same.
///
/// # Errors
///
/// The same as [`search_many`].
///
/// # Examples
///
#[cfg_attr(feature = "write", doc = "```")]
#[cfg_attr(not(feature = "write"), doc = "```ignore")]
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let mut builder = fpstore::Builder::new(folder.path().join("news.fps"))?;
/// # builder.push(7.into(), "a.html")?;
/// # let store = builder.finish()?;
/// use fpstore::join::{BatchMode, JoinOptions, nearest_many};
/// use fpstore::{Fingerprint, Limits};
///
/// let queries = vec![Fingerprint::new(3); 100];
/// let (mut count, options) = (0, JoinOptions::new(8));
/// let left = nearest_many(&store, &queries, 1, &options, BatchMode::Auto, |_, answer| {
///     count += answer.len();
///     Ok::<(), fpstore::Error>(())
/// })?;
/// assert_eq!((count, left.len()), (100, 0));
/// # Ok(()) }
/// ```
pub fn nearest_many<E: From<Error>>(
    store: &Store,
    queries: &[Fingerprint],
    count: usize,
    options: &JoinOptions,
    mode: BatchMode,
    mut each: impl FnMut(usize, Answer<'_>) -> Result<(), E>,
) -> Result<Vec<usize>, E> {
    options.check()?;
    let mut left: Vec<usize> = (0..queries.len()).collect();
    let least = if mode == BatchMode::Auto { QUERIES_MIN } else { 1 };
    if mode == BatchMode::Probe {
        return Ok(left);
    }
    // All searches use the same snapshot.
    let store = store.pinned();
    let limits = Limits::default().limit(count);
    for k in distances(&store, count, options.k) {
        if left.len() < least {
            break;
        }
        let part: Vec<Fingerprint> = left.iter().map(|&at| queries[at]).collect();
        let mut others = Vec::new();
        let of_distance = options.at(k);
        search_many(&store, &part, &of_distance, &limits, mode, |at, answer| {
            if k == options.k || answer.len() >= count {
                return each(left[at], answer);
            }
            others.push(left[at]);
            Ok(())
        })?;
        left = others;
    }
    Ok(left)
}

/// The distances of the searches of [`nearest_many`], ascending. The last one is `k`, unless the
/// matches within `k` would be too many.
fn distances(store: &Store, count: usize, k: u32) -> Vec<u32> {
    let stored = store.info().fingerprint_count() as f64;
    let mut list = Vec::new();
    let mut at = store.tuned_k().min(k);
    loop {
        let has_many = stored * random_share(at) > SURPLUS * count.max(1) as f64;
        if at > K_MAX || (has_many && !list.is_empty()) {
            return list;
        }
        list.push(at);
        if at == k {
            return list;
        }
        // If few matches are expected within `k`, one search at `k` is enough.
        let is_sparse = k <= K_MAX && stored * random_share(k) <= SURPLUS;
        at = if is_sparse { k } else { (at + STEP).min(k) };
    }
}

/// The share of random fingerprints within `k` bits of a query.
fn random_share(k: u32) -> f64 {
    let mut ways = 1.0;
    let mut sum = 0.0;
    for bits in 0..=k {
        sum += ways;
        ways *= f64::from(64 - bits.min(64)) / f64::from(bits + 1);
    }
    sum / 2_f64.powi(64)
}
