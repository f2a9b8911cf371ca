//! Many queries at once: by probes in the order of each table, or by a pass over the store.
//!
//! [`search_many`] is the public function, which takes the queries chunk by chunk; `query_batch`
//! answers a chunk.

pub(in crate::join) mod batch_mode;
pub(in crate::join) mod nearest;
pub(in crate::join) mod query_batch;
pub(in crate::join) mod ranks;

use crate::base::error::Error;
use crate::join::options::JoinOptions;
use crate::search::{Answer, Limits};
use crate::store::Store;
use batch_mode::BatchMode;
use fpstore_base::Fingerprint;
use fpstore_base::watch::Phase;
use query_batch::QueryBatch;

/// Finds all fingerprints of a store within the distance of the options of each query, and calls
/// `each` with the position of the query and its answer, in the order of the queries.
///
/// The answers are the same as from a [`Searcher`](crate::Searcher); of the `limits` only `limit`
/// has an effect.
///
/// Queries are taken in chunks of up to a million. The queries of a chunk are sorted in the order
/// of each table, so that each thread traverses the table once. Or they are joined with all stored
/// fingerprints in a few passes, if that is expected to be faster: for very many queries, or for a
/// distance that the tables are not made for.
///
/// # Errors
///
/// * [`Error::InvalidDistance`] if the distance is above 64, [`Error::InvalidOptions`] if the
///   memory is too little for the threads.
/// * [`Error::Corrupt`] if bytes that a query reads break a rule.
/// * [`Error::Interrupted`] if the observer ends the search.
/// * Any error that `each` returns.
///
/// # Examples
///
/// ```
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
