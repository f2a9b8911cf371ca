//! The nearest matches of many queries, found by a few searches of all queries together.

use super::batch_mode::BatchMode;
use super::search_many;
use crate::base::error::Error;
use crate::join::options::JoinOptions;
use crate::search::{Answer, Limits};
use crate::store::Store;
use fpstore_base::Fingerprint;

/// For fewer queries a scan for each costs no more than passes over the store.
const QUERIES_MIN: usize = 64;
/// Bits between two distances that are searched.
const STEP: u32 = 4;
/// The largest distance of a search of all queries: a larger one compares nearly everything.
const K_MAX: u32 = 20;
/// Matches for each wanted one that random fingerprints may give. Matches are held in memory.
const SURPLUS: f64 = 64.0;

/// Finds the `count` nearest fingerprints of a store within the distance of the options for each
/// query, by searches of all queries together ([`search_many`]) at increasing distances. Calls
/// `each` with the position and the answer of each query that these searches settle, and returns
/// the positions of the others, ascending: queries without enough near fingerprints, or few
/// queries. A [`Searcher`](crate::Searcher) answers those, see
/// [`nearest`](crate::Searcher::nearest), whose answers are the same.
///
/// # Errors
///
/// As [`search_many`].
///
/// # Examples
///
/// ```
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
    // All searches see one state.
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

/// The distances of the searches, ascending. The last one is `k`, unless its matches would be too
/// many.
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
        // One search is enough if it has few matches.
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
