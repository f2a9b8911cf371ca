//! Many queries at once: sorted as each table is and walked along it, or joined with all that is stored.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::options::JoinOptions;
use super::pair::near_pairs_across;
use super::run::side_by_side;
use super::split::Split;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::scheme::{Choice, Way};
use crate::search::{Answer, Found, Limits, Outcome, Walker, Work};
use crate::section::TableIndex;
use crate::store::{Snapshot, Store};
use crate::watch::{Phase, Watch};

/// The most queries that are answered together.
const CHUNK_COUNT: usize = 1 << 20;
/// Bytes of memory for each query of a chunk, and for each match.
const QUERY_LEN: u64 = 64;
const MATCH_LEN: u64 = 2 * size_of::<(u32, Found)>() as u64;
/// Nanoseconds to read a value of a table in a pass.
const NANOS_PER_READ: f64 = 4.0;
/// How much less a probe costs when the one before it was next to it.
const WALKING_SHARE: f64 = 0.5;
/// Queries between two looks at whether to go on, and at the memory of the matches.
const STEP: usize = 1 << 8;

/// How a batch is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum BatchMode {
    /// Whichever is expected to be faster.
    #[default]
    Auto,
    /// Probes, in the order of each table.
    Probe,
    /// Passes over all that is stored.
    Pass,
}

/// Finds everything within `options.k` bits of each of the queries, and hands the answers to `each` in
/// the order of the queries, with the position of the query. They are the ones that a
/// [`Searcher`](crate::Searcher) gives; of the `limits` only `max_matches` counts.
///
/// Queries are taken in chunks of about a million. A chunk is either sorted as each table is, so that a
/// table is walked along once, on all threads; or joined with all that is stored, in a few passes over it,
/// where that is expected to be faster: for very many queries, or a `k` for which the tables are not
/// made.
///
/// # Errors
///
/// * [`Error::InvalidDistance`] if `options.k` is above 64, [`Error::InvalidOptions`] if the memory is too little
///   for the threads.
/// * [`Error::Corrupt`] if bytes that it visits break a rule.
/// * [`Error::Interrupted`] if the observer says so, and whatever `each` returns.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let mut builder = fpstore::Builder::new(folder.path().join("news.fps"))?;
/// # builder.push(7.into(), "a.html")?;
/// # let store = builder.finish()?;
/// use fpstore::{BatchMode, Fingerprint, JoinOptions, Limits, search_many};
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
/// Manku, Jain and Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007: the batch query, a
/// file of queries against the whole collection.
pub fn search_many<E: From<Error>>(
    store: &Store,
    queries: &[Fingerprint],
    options: &JoinOptions,
    limits: &Limits,
    mode: BatchMode,
    mut each: impl FnMut(usize, Answer<'_>) -> Result<(), E>,
) -> Result<(), E> {
    options.check()?;
    let resources = options.resources()?;
    let memory = resources.memory;
    let chunk_max = usize::try_from(memory / 4 / QUERY_LEN).unwrap_or(usize::MAX);
    let chunk_max = chunk_max.clamp(1, CHUNK_COUNT);
    let watch = options.watch(Phase::Search, Some(queries.len() as u64));
    let store = &store.pinned();
    let batch = Batch {
        store,
        snapshot: store.snapshot(),
        options,
        limits: *limits,
        threads: resources.threads,
        match_max: usize::try_from(memory / 2 / MATCH_LEN).unwrap_or(usize::MAX).max(1),
        mode,
        watch,
        steps: AtomicU64::new(0),
    };
    let mut at = 0;
    let mut count_max = chunk_max;
    while at < queries.len() {
        let range = at..queries.len().min(at + count_max);
        // The memory holds the matches of a chunk; where it does not, a smaller one will do.
        let Some(found) = batch.find(&queries[range.clone()])? else {
            if range.len() == 1 {
                let mut searcher = store.searcher();
                each(at, searcher.search_within(queries[at], options.k, limits)?)?;
                at += 1;
            }
            count_max = (range.len() / 2).max(1);
            continue;
        };
        batch.answer(queries, range.clone(), found, &mut each)?;
        at = range.end;
        count_max = (2 * count_max).min(chunk_max);
        batch.watch.tick(range.len() as u64)?;
    }
    Ok(())
}

struct Batch<'a> {
    /// Always in the state of the snapshot.
    store: &'a Store,
    snapshot: Arc<Snapshot>,
    options: &'a JoinOptions,
    limits: Limits,
    threads: usize,
    /// The most matches of a chunk.
    match_max: usize,
    mode: BatchMode,
    watch: Watch,
    /// Steps of the chunk that are done: a query on a table each.
    steps: AtomicU64,
}

/// The query of a match by its position in the chunk, and the match.
type Matched = (u32, Found);

impl Batch<'_> {
    fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// All matches of a chunk by query, then in the order of answers; `None` if they are too many.
    fn find(&self, chunk: &[Fingerprint]) -> Result<Option<Vec<Matched>>> {
        self.steps.store(0, Ordering::Relaxed);
        let pass = match self.mode {
            BatchMode::Auto => self.pass_is_cheaper(chunk.len()),
            BatchMode::Probe => self.only_scans(),
            BatchMode::Pass => true,
        };
        if pass { self.find_in_passes(chunk) } else { self.find_by_probes(chunk) }
    }

    fn choices(&self) -> impl Iterator<Item = &Choice> {
        self.snapshot().segments().iter().map(|open| open.choice(self.options.k))
    }

    /// Whether there is a segment that probes do not serve.
    fn only_scans(&self) -> bool {
        self.choices().any(|choice| matches!(choice.way, Way::Scan { .. }))
    }

    fn pass_is_cheaper(&self, queries: usize) -> bool {
        let nanos = |choice: &Choice| match choice.way {
            Way::Probe { .. } => choice.expected_nanos * WALKING_SHARE,
            Way::Scan { .. } => choice.expected_nanos,
        };
        let probing = queries as f64 * self.choices().map(nanos).sum::<f64>();
        let stored: u64 = self
            .snapshot()
            .segments()
            .iter()
            .map(|open| open.segment.header().fingerprint_count)
            .sum();
        let k = self.options.k;
        let pairs = queries as f64 * stored as f64;
        let joining = match Split::choose(u64::MAX, stored + queries as u64, pairs, k) {
            Some(split) => {
                let reading = stored as f64 * NANOS_PER_READ * f64::from(k + 2);
                split.expected_nanos() as f64 + reading
            }
            None => pairs + stored as f64 * NANOS_PER_READ,
        };
        joining < probing || self.only_scans()
    }

    /// Each thread walks along each table with its part of the queries, in the order of the table.
    fn find_by_probes(&self, chunk: &[Fingerprint]) -> Result<Option<Vec<Matched>>> {
        let len = chunk.len().div_ceil(self.threads).max(1);
        let pieces: Vec<(u32, &[Fingerprint])> =
            (0..).step_by(len).zip(chunk.chunks(len)).collect();
        let room = self.match_max / self.threads;
        let found = side_by_side(&pieces, |&(first, piece)| self.walk(first, piece, room))?;
        let mut all: Vec<Matched> = Vec::new();
        for found in found {
            let Some(found) = found else { return Ok(None) };
            all.extend(found);
        }
        Ok(Some(all))
    }

    /// The matches of some queries, the first of which has the number `first` in its chunk.
    fn walk(
        &self,
        first: u32,
        queries: &[Fingerprint],
        room: usize,
    ) -> Result<Option<Vec<Matched>>> {
        let k = self.options.k;
        let mut walker = Walker::default();
        let mut found: Vec<Matched> = Vec::new();
        let mut order: Vec<(u64, u32)> = Vec::with_capacity(queries.len());
        let tables = self.choices().map(Choice::table_count).sum::<u64>().max(1);
        for (number, open) in self.snapshot().segments().iter().enumerate() {
            let Way::Probe { radii } = &open.choice(k).way else { continue };
            for (position, (table, radius)) in open.segment.tables().iter().zip(radii).enumerate() {
                if radius.is_none() {
                    continue;
                }
                order.clear();
                let permuted = queries.iter().map(|&needle| table.permutation.apply(needle).0);
                order.extend(permuted.zip(0..));
                order.sort_unstable();
                for steps in order.chunks(STEP) {
                    let done = self.steps.fetch_add(steps.len() as u64, Ordering::Relaxed);
                    self.watch.report_with(done / tables)?;
                    let queries =
                        steps.iter().map(|&(_, query)| (first + query, queries[query as usize]));
                    let segment = (number, &*open.segment);
                    let before = found.len();
                    walker.ask(segment, radii, position, queries, k, (&mut found, room))?;
                    if found.len() > room {
                        return Ok(None);
                    }
                    open.retain_live_pairs(&mut found, before)?;
                }
            }
        }
        found.sort_unstable_by_key(|(query, found)| (*query, found.key()));
        Ok(Some(found))
    }

    /// Joins the queries with all that is stored, then looks up where each match is.
    fn find_in_passes(&self, chunk: &[Fingerprint]) -> Result<Option<Vec<Matched>>> {
        let options = JoinOptions {
            // Half of the memory is for the matches.
            held: self.options.held + (self.match_max as u64 * MATCH_LEN),
            max_pairs: Some(self.match_max as u64),
            ..self.options.clone()
        };
        let mut sorted: Vec<(Fingerprint, u32)> = chunk.iter().copied().zip(0..).collect();
        sorted.sort_unstable();
        let distinct: Vec<Fingerprint> =
            sorted.chunk_by(|a, b| a.0 == b.0).map(|same| same[0].0).collect();
        let mut pairs = Vec::new();
        let joined = near_pairs_across(distinct.as_slice(), self.store, &options, |found| {
            pairs.extend_from_slice(found);
            Ok(())
        });
        match joined {
            Err(Error::TooManyPairs { .. }) => return Ok(None),
            joined => joined?,
        }
        pairs.sort_unstable();
        let mut all: Vec<Matched> = Vec::new();
        for pair in pairs {
            let queries = sorted.partition_point(|(query, _)| *query < pair.first);
            for (number, open) in self.snapshot().segments().iter().enumerate() {
                let Some(first) = open.segment.tables().first() else { continue };
                let value = first.permutation.apply(pair.second);
                let Some(rank) = open.segment.find(first, value, &mut 0)? else { continue };
                if open.is_gone(rank) {
                    continue;
                }
                let found = Found {
                    distance: pair.distance(),
                    fingerprint: pair.second,
                    segment: number,
                    table: TableIndex(0),
                    rank,
                };
                let same = sorted[queries..].iter().take_while(|(query, _)| *query == pair.first);
                all.extend(same.map(|&(_, query)| (query, found)));
            }
            if all.len() > self.match_max {
                return Ok(None);
            }
        }
        all.sort_unstable_by_key(|(query, found)| (*query, found.key()));
        Ok(Some(all))
    }

    /// Hands over the answers of a chunk.
    fn answer<E: From<Error>>(
        &self,
        queries: &[Fingerprint],
        range: Range<usize>,
        found: Vec<Matched>,
        each: &mut impl FnMut(usize, Answer<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let most = self.limits.max_matches.unwrap_or(usize::MAX);
        let mut rest = found.as_slice();
        let mut own: Vec<Found> = Vec::new();
        for (query, at) in (0..).zip(range) {
            debug_assert!(at < queries.len());
            let count = rest.iter().take_while(|(of, _)| *of == query).count();
            let (matches, after) = rest.split_at(count);
            rest = after;
            own.clear();
            let mut hit_count = 0;
            let mut cut = false;
            for places in matches.chunk_by(|a, b| a.1.fingerprint == b.1.fingerprint) {
                if hit_count == most {
                    cut = true;
                    break;
                }
                hit_count += 1;
                own.extend(places.iter().map(|(_, found)| *found));
            }
            let outcome = Outcome { cut, work: Work::default() };
            let snapshot = self.snapshot();
            each(at, Answer { snapshot, found: &own, hit_count, outcome })?;
        }
        Ok(())
    }
}
