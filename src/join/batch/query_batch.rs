//! Answers a chunk of queries: by a walk of each table, by probes in the order of each table, or by
//! a join with the store.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::batch_mode::BatchMode;
use super::ranks::Places;
use crate::base::error::{Error, Result};
use crate::base::side_by_side::side_by_side;
use crate::join::engine::blocking::Blocking;
use crate::join::options::JoinOptions;
use crate::join::pairs::near_pairs_across;
use crate::plan::{AccessPath, PathPlan};
use crate::scheme::Radius;
use crate::search::snapshot::{OpenSegment, SegmentHit, Snapshot};
use crate::search::walk::{self, Walk};
use crate::search::{Answer, BatchSearcher, BatchTable, CutBy, Limits, Outcome, SearchStats};
use crate::store::{Store, warm_for_batch};
use fpstore_base::Fingerprint;
use fpstore_base::watch::Watch;

/// Maximum number of queries in a chunk of a pass, which reads the whole store for each chunk.
const PASS_CHUNK_COUNT: usize = 1 << 20;
/// Maximum number of queries in a chunk of probes or walks.
const CHUNK_COUNT: usize = 1 << 18;
/// In a large store, chunks have one query for this many stored fingerprints even if that exceeds
/// the maximum, so that the store is read less often. In a small store such chunks would take memory
/// and save no time.
const STORED_PER_QUERY: u64 = 64;
/// Bytes of memory for each query of a chunk.
const QUERY_LEN: u64 = 96;
/// Bytes of memory for each match of a chunk, including intermediate lists.
const MATCH_LEN: u64 = 2 * size_of::<(u32, SegmentHit)>() as u64 + 48;
/// Nanoseconds to read a value of a table in a pass, in which only one thread reads.
const NANOS_PER_READ: f64 = 4.0;
/// Nanoseconds to sort a query of a pass, and to look up its matches, on one thread. Measured with
/// 10^6 queries, half of them with a match, in a store of 10^6 fingerprints.
const NANOS_PER_QUERY: f64 = 300.0;
/// The cost of a probe in the order of the table, relative to the cost of an isolated probe.
const SORTED_PROBE_COST: f64 = 0.5;
/// Segments with fewer fingerprints share threads: a store may have hundreds of them, and starting
/// threads for each would take too long.
const SMALL_COUNT: u64 = 1 << 20;
/// Queries between two checks of the observer and of the memory of the matches.
const STEP: usize = 1 << 8;

/// The data that all chunks of queries share.
pub(in crate::join) struct QueryBatch<'a> {
    /// The store, pinned to the snapshot.
    pub(in crate::join) store: Store,
    snapshot: Arc<Snapshot>,
    options: &'a JoinOptions,
    limits: Limits,
    threads: usize,
    /// Maximum number of queries in a chunk.
    pub(in crate::join) chunk_max: usize,
    /// Maximum number of matches of a chunk.
    match_max: usize,
    mode: BatchMode,
    pub(in crate::join) watch: Watch,
    /// The number of tables read for each query.
    tables: u64,
    /// Finished steps of the chunk: one step answers one query from one table.
    steps: AtomicU64,
}

/// The position of a query in the chunk, and a match of the query.
type QueryMatch = (u32, SegmentHit);

impl<'a> QueryBatch<'a> {
    /// A batch of `count` queries.
    pub(in crate::join) fn new(
        store: &Store,
        count: usize,
        options: &'a JoinOptions,
        limits: Limits,
        mode: BatchMode,
        watch: Watch,
    ) -> Result<Self> {
        let resources = options.budget()?;
        let of_memory = |divisor: u64, len: u64| {
            usize::try_from(resources.memory / divisor / len).unwrap_or(usize::MAX)
        };
        let store = store.pinned();
        let mut batch = QueryBatch {
            snapshot: store.snapshot(),
            store,
            options,
            limits,
            threads: resources.threads,
            chunk_max: of_memory(4, QUERY_LEN).max(1),
            match_max: of_memory(2, MATCH_LEN).max(1),
            mode,
            watch,
            tables: 0,
            steps: AtomicU64::new(0),
        };
        batch.tables = batch.filled().map(|(.., plan)| plan.table_count()).sum::<u64>().max(1);
        let stored: u64 = batch.filled().map(|(_, open, _)| stored_count(open)).sum();
        let shared = usize::try_from(stored / STORED_PER_QUERY).unwrap_or(usize::MAX);
        let together = match batch.is_in_passes(count.min(PASS_CHUNK_COUNT).min(batch.chunk_max)) {
            true => PASS_CHUNK_COUNT,
            false => CHUNK_COUNT,
        };
        batch.chunk_max = batch.chunk_max.min(shared.max(together));
        Ok(batch)
    }

    /// Whether a chunk of `queries` queries is joined with all stored fingerprints. If not, smaller
    /// chunks are not, either.
    fn is_in_passes(&self, queries: usize) -> bool {
        let wanted = match self.mode {
            BatchMode::Auto => self.pass_is_cheaper(queries),
            BatchMode::Probe | BatchMode::Walk => false,
            BatchMode::Pass => true,
        };
        wanted || self.filled().all(|(.., plan)| is_scan(plan))
    }

    /// Finds all matches of a chunk, sorted by query, then in the order of answers; `None` if there
    /// are more than [`Self::match_max`].
    pub(in crate::join) fn find(&self, chunk: &[Fingerprint]) -> Result<Option<Vec<QueryMatch>>> {
        self.steps.store(0, Ordering::Relaxed);
        let scanned: Vec<usize> =
            self.filled().filter(|(.., plan)| is_scan(plan)).map(|of| of.0).collect();
        if self.is_in_passes(chunk.len()) {
            return self.find_in_passes(chunk, &self.filled().map(|of| of.0).collect::<Vec<_>>());
        }
        let Some(mut found) = self.find_by_probes(chunk)? else { return Ok(None) };
        // Segments whose plan is a scan (the small ones) are answered in passes.
        if !scanned.is_empty() {
            let Some(more) = self.find_in_passes(chunk, &scanned)? else { return Ok(None) };
            found.extend(more);
            found.sort_unstable_by_key(|(query, found)| (*query, found.key()));
            if found.len() > self.match_max {
                return Ok(None);
            }
        }
        Ok(Some(found))
    }

    /// The non-empty segments with their positions and plans. Empty segments are left out because
    /// their plan is always a scan.
    fn filled(&self) -> impl Iterator<Item = (usize, &OpenSegment, &PathPlan)> {
        let filled =
            self.snapshot.segments().iter().enumerate().filter(|(_, open)| !open.is_empty());
        filled.map(|(at, open)| (at, open, open.plan(self.options.k)))
    }

    fn pass_is_cheaper(&self, queries: usize) -> bool {
        let (mut probing, mut stored) = (0.0, 0);
        for (_, open, plan) in self.filled() {
            let count = stored_count(open);
            stored += count;
            probing += match plan.path {
                AccessPath::Probe { .. } => {
                    let nanos = match self.is_walked(open, queries) {
                        true => plan.walk_nanos(&open.segment, queries),
                        false => queries as f64 * plan.expected_nanos * SORTED_PROBE_COST,
                    };
                    nanos / self.threads as f64
                }
                AccessPath::Scan { .. } => self.pass_nanos(queries, count),
            };
        }
        self.pass_nanos(queries, stored) < probing
    }

    /// The expected nanoseconds of a join of the queries with `stored` fingerprints.
    fn pass_nanos(&self, queries: usize, stored: u64) -> f64 {
        let k = self.options.k;
        let pairs = queries as f64 * stored as f64;
        let of_queries = queries as f64 * NANOS_PER_QUERY;
        match Blocking::choose(u64::MAX, stored + queries as u64, pairs, k) {
            Some(blocking) => {
                let reading = stored as f64 * NANOS_PER_READ * f64::from(k + 2);
                blocking.expected_nanos() as f64 / self.threads as f64 + reading + of_queries
            }
            None => pairs / self.threads as f64 + stored as f64 * NANOS_PER_READ + of_queries,
        }
    }

    /// Answers the queries from the segments that are planned to be probed. Large segments are
    /// probed (or walked) one at a time, so that only one of them must be in memory; adjacent small
    /// segments are processed together.
    fn find_by_probes(&self, chunk: &[Fingerprint]) -> Result<Option<Vec<QueryMatch>>> {
        let mut all: Vec<QueryMatch> = Vec::new();
        let probed = self.filled().filter_map(|(number, open, plan)| match &plan.path {
            AccessPath::Probe { radii } => Some(Probed { number, open, radii }),
            AccessPath::Scan { .. } => None,
        });
        let probed: Vec<Probed<'_>> = probed.collect();
        let is_walked = |of: &Probed<'_>| self.is_walked(of.open, chunk.len());
        let are_together = |one: &Probed<'_>, other: &Probed<'_>| {
            one.is_small() && other.is_small() && is_walked(one) == is_walked(other)
        };
        for together in probed.chunk_by(are_together) {
            let is_done = match is_walked(&together[0]) {
                true => self.walk_all(together, chunk, &mut all)?,
                false => self.probe_all(together, chunk, &mut all)?,
            };
            if !is_done {
                return Ok(None);
            }
        }
        Ok(Some(in_order(&all, chunk.len())))
    }

    /// Whether `queries` queries are answered by a walk of a segment.
    fn is_walked(&self, open: &OpenSegment, queries: usize) -> bool {
        let plan = open.plan(self.options.k);
        let AccessPath::Probe { radii } = &plan.path else { return false };
        let is_wanted = match self.mode {
            BatchMode::Auto => plan.walk_is_cheaper(&open.segment, queries),
            BatchMode::Walk => true,
            BatchMode::Probe | BatchMode::Pass => false,
        };
        is_wanted && walk::fits(&open.segment, radii)
    }

    /// Like [`QueryBatch::probe_all`], but walks the tables.
    fn walk_all(
        &self,
        segments: &[Probed<'_>],
        chunk: &[Fingerprint],
        all: &mut Vec<QueryMatch>,
    ) -> Result<bool> {
        for of @ &Probed { number, open, radii } in segments {
            let walk = Walk {
                segment: &open.segment,
                number,
                radii,
                k: self.options.k,
                threads: if of.is_small() { 1 } else { self.threads },
                found_max: self.match_max.saturating_sub(all.len()),
                needs_first_rank: open.deleted.is_some(),
                report: &|queries| self.report(queries),
            };
            let Some(mut found) = walk.find(chunk)? else { return Ok(false) };
            open.retain_live_pairs(&mut found, 0)?;
            all.append(&mut found);
        }
        Ok(true)
    }

    /// Adds the matches in `segments` to `all`; returns `false` if there are too many. Each thread
    /// probes each table with a part of the queries, in the order of the table.
    fn probe_all(
        &self,
        segments: &[Probed<'_>],
        chunk: &[Fingerprint],
        all: &mut Vec<QueryMatch>,
    ) -> Result<bool> {
        for &Probed { open, radii, .. } in segments {
            for table in (0..radii.len()).filter(|&table| radii[table].is_some()) {
                warm_for_batch(&open.segment, table, chunk.len(), self.threads);
            }
        }
        let len = chunk.len().div_ceil(self.threads).max(1);
        let pieces: Vec<(u32, &[Fingerprint])> =
            (0..).step_by(len).zip(chunk.chunks(len)).collect();
        let most = self.match_max.saturating_sub(all.len()) / self.threads;
        let probe = |&(first, piece): &_| self.probe(segments, first, piece, most);
        for found in side_by_side(&pieces, probe)? {
            let Some(found) = found else { return Ok(false) };
            all.extend(found);
        }
        Ok(true)
    }

    /// The matches of `queries`, which start at position `first` of their chunk; `None` if there
    /// are more than `most`.
    fn probe(
        &self,
        segments: &[Probed<'_>],
        first: u32,
        queries: &[Fingerprint],
        most: usize,
    ) -> Result<Option<Vec<QueryMatch>>> {
        let k = self.options.k;
        let mut searcher = BatchSearcher::default();
        let mut found: Vec<QueryMatch> = Vec::new();
        let mut order: Vec<(u64, u32)> = Vec::with_capacity(queries.len());
        for &Probed { number, open, radii } in segments {
            for (position, (table, radius)) in open.segment.tables().zip(radii).enumerate() {
                if radius.is_none() {
                    continue;
                }
                order.clear();
                let permuted = queries.iter().map(|&needle| table.permutation.apply(needle).0);
                order.extend(permuted.zip(0..));
                order.sort_unstable();
                for steps in order.chunks(STEP) {
                    self.report(steps.len() as u64)?;
                    let queries =
                        steps.iter().map(|&(_, query)| (first + query, queries[query as usize]));
                    let segment = &*open.segment;
                    let table =
                        BatchTable { segment, number, radii, table: position, k, found_max: most };
                    let before = found.len();
                    searcher.search(&table, queries, &mut found)?;
                    if found.len() > most {
                        return Ok(None);
                    }
                    open.retain_live_pairs(&mut found, before)?;
                }
            }
        }
        Ok(Some(found))
    }

    /// Reports to the observer that `queries` queries were answered from one table of a segment.
    fn report(&self, queries: u64) -> Result<()> {
        let done = self.steps.fetch_add(queries, Ordering::Relaxed);
        Ok(self.watch.report_with(done / self.tables)?)
    }

    /// Joins the queries with all fingerprints of the segments at the positions `segments`, then
    /// finds the rank of each match.
    fn find_in_passes(
        &self,
        chunk: &[Fingerprint],
        segments: &[usize],
    ) -> Result<Option<Vec<QueryMatch>>> {
        // Half of the memory is reserved for the matches.
        let options = self.options.reserve(self.match_max as u64 * MATCH_LEN);
        let options = options.max_pairs(self.match_max as u64);
        let mut sorted: Vec<(Fingerprint, u32)> = chunk.iter().copied().zip(0..).collect();
        sorted.sort_unstable();
        let distinct: Vec<Fingerprint> =
            sorted.chunk_by(|a, b| a.0 == b.0).map(|same| same[0].0).collect();
        let mut pairs = Vec::new();
        let store = self.store.part(segments);
        let joined = near_pairs_across(distinct.as_slice(), &store, &options, |found| {
            pairs.extend_from_slice(found);
            Ok(())
        });
        match joined {
            Err(Error::TooManyPairs { .. }) => return Ok(None),
            joined => joined?,
        }
        let found = pairs.iter().map(|pair| pair.second).collect();
        let places = Places::look_up(found, &self.snapshot, segments.iter().copied())?;
        let mut all: Vec<QueryMatch> = Vec::new();
        for pair in pairs {
            let queries = sorted.partition_point(|(query, _)| *query < pair.first);
            let same = sorted[queries..].iter().take_while(|(query, _)| *query == pair.first);
            for &place in places.of(pair.second) {
                let found = SegmentHit { distance: pair.distance(), ..place };
                all.extend(same.clone().map(|&(_, query)| (query, found)));
            }
            if all.len() > self.match_max {
                return Ok(None);
            }
        }
        all.sort_unstable_by_key(|(query, found)| (*query, found.key()));
        Ok(Some(all))
    }

    /// Calls `each` with the answers of a chunk, whose queries have the positions `range`.
    pub(in crate::join) fn answer<E: From<Error>>(
        &self,
        range: Range<usize>,
        found: &[QueryMatch],
        each: &mut impl FnMut(usize, Answer<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let most = self.limits.limit.unwrap_or(usize::MAX);
        let mut rest = found;
        let mut own: Vec<SegmentHit> = Vec::new();
        for (query, at) in (0..).zip(range) {
            let count = rest.iter().take_while(|(of, _)| *of == query).count();
            let (matches, after) = rest.split_at(count);
            rest = after;
            own.clear();
            let mut hit_count = 0;
            let mut cut_by = None;
            for places in matches.chunk_by(|a, b| a.1.fingerprint == b.1.fingerprint) {
                if hit_count == most {
                    cut_by = Some(CutBy::Limit);
                    break;
                }
                hit_count += 1;
                own.extend(places.iter().map(|(_, found)| *found));
            }
            let outcome = Outcome::new(cut_by, SearchStats::default());
            let snapshot = &*self.snapshot;
            each(at, Answer { snapshot, found: &own, hit_count, outcome })?;
        }
        Ok(())
    }
}

/// A segment whose plan is probes.
#[derive(Clone, Copy)]
struct Probed<'a> {
    /// The position of the segment in the snapshot.
    number: usize,
    open: &'a OpenSegment,
    radii: &'a [Radius],
}

impl Probed<'_> {
    /// Whether the segment is too small to start threads for it alone.
    fn is_small(&self) -> bool {
        stored_count(self.open) < SMALL_COUNT
    }
}

/// Sorts matches by query, then in the order of answers.
fn in_order(found: &[QueryMatch], queries: usize) -> Vec<QueryMatch> {
    let Some(&any) = found.first() else { return Vec::new() };
    // Counting sort by query: a comparison sort takes four times as long.
    let mut ends = vec![0_usize; queries + 1];
    found.iter().for_each(|(query, _)| ends[*query as usize + 1] += 1);
    for at in 0..queries {
        ends[at + 1] += ends[at];
    }
    let mut all = vec![any; found.len()];
    for one in found {
        // `ends` has the start of the matches of each query; this loop moves it to their end.
        let at = &mut ends[one.0 as usize];
        all[*at] = *one;
        *at += 1;
    }
    for of_query in all.chunk_by_mut(|one, other| one.0 == other.0) {
        of_query.sort_unstable_by_key(|(_, found)| found.key());
    }
    all
}

fn stored_count(open: &OpenSegment) -> u64 {
    open.segment.header().fingerprint_count
}

fn is_scan(plan: &PathPlan) -> bool {
    matches!(plan.path, AccessPath::Scan { .. })
}
