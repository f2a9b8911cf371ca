//! Runs queries within the limits of the server.
//!
//! The expected cost of a search selects the place where it runs:
//!
//! * cheap: on the thread that read the request: a handover would cost more than the request;
//! * medium: in the lane of quick queries, in one piece;
//! * costly: in the lane of slow queries, in slices.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use fpstore_base::Fingerprint;

use super::answers::{Encoder, Needles};
use super::price::{INLINE_NANOS, Price};
use crate::protocol::failure::Failure;
use crate::protocol::memory_budget::AnswerBytes;
use crate::protocol::request::no_room;
use crate::state::limits::{checked_k, number_within};
use crate::state::live_store::LiveStore;
use crate::state::opened::Witness;
use crate::state::shared::Shared;
use fpstore::options::{self, IDS, LIMIT, NumberOption};
use fpstore::{Answer, CutBy, Error, Limits, Result as StoreResult, SearchStats, Searcher};
use fpstore_client::limits::{MAX_ANSWER, MAX_IDS, MAX_MATCHES};
use fpstore_client::{Lane, QueryOptions};

/// The option `count`, which is at least 1 over HTTP.
const COUNT: NumberOption = NumberOption { min: 1, ..options::COUNT };
/// The largest number of values that a search compares on the thread that reads requests. After
/// that the search starts again in the next lane: a dense group of values must not block all
/// connections.
const INLINE_COMPARED: u64 = 50_000;
/// The largest number of values that a search compares in the lane of quick queries.
const QUICK_COMPARED: u64 = 5_000_000;
/// The longest time of a request in the lane of quick queries. After that the request starts again
/// in the lane of slow queries.
const QUICK_TIME: Duration = Duration::from_millis(50);
/// The clock is read after each search that is expected to take this long, else after 16.
const CLOCK_NANOS: f64 = 20_000.0;

/// The kind of matches that a query returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueryKind {
    /// All matches within `k`.
    Near,
    /// The nearest matches, at most `count`.
    Nearest,
}

impl QueryKind {
    /// The names of the parameters of a query of this kind. `ids` and `explain` come last: binary
    /// answers allow neither, and streams do not allow `explain`.
    pub(crate) fn params(self) -> &'static [&'static str] {
        match self {
            QueryKind::Near => &["k", "limit", "max_cost", "ids", "explain"],
            QueryKind::Nearest => &["k", "count", "max_cost", "ids", "explain"],
        }
    }

    pub(crate) fn in_stream(self) -> &'static [&'static str] {
        self.params_before("explain")
    }

    pub(crate) fn in_binary(self) -> &'static [&'static str] {
        self.params_before("ids")
    }

    fn params_before(self, name: &str) -> &'static [&'static str] {
        self.params().split(|param| *param == name).next().unwrap_or_default()
    }
}

/// The parameters of a query, the same for each fingerprint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question {
    pub(crate) k: u32,
    /// The number of nearest matches; `None` for all matches within `k`.
    pub(crate) count: Option<usize>,
    /// The smallest number of matches of a complete answer: with fewer, there may be more matches
    /// at larger distances.
    enough: Option<usize>,
    /// The largest number of matches in an answer.
    pub(crate) matches_max: usize,
    /// The largest number of ids of a match.
    pub(crate) ids_max: usize,
    pub(crate) deadline: Instant,
}

impl Question {
    /// The parameters in `options`, checked against the limits of the server.
    pub(crate) fn new(
        server: &Shared,
        options: &QueryOptions,
        wanted: QueryKind,
    ) -> Result<Self, Failure> {
        let limits = &server.limits;
        let nearest = wanted == QueryKind::Nearest;
        let default_k = if nearest { limits.max_k } else { server.live.opened().tuned_k };
        let k = checked_k(limits, options.k, default_k)?;
        let matches =
            |option, asked| number_within(option, asked, &MAX_MATCHES, limits.max_matches);
        let count = matches(&COUNT, options.count.or(COUNT.default))?;
        Ok(Question {
            k,
            count: nearest.then_some(count),
            enough: None,
            matches_max: matches(&LIMIT, options.limit)?,
            ids_max: number_within(&IDS, options.ids, &MAX_IDS, limits.max_ids)?,
            deadline: Instant::now() + limits.deadline,
        })
    }

    fn search<'a>(
        &self,
        searcher: &'a mut Searcher,
        needle: Fingerprint,
        compared_max: Option<u64>,
    ) -> StoreResult<Answer<'a>> {
        let limits = Limits::default().deadline(self.deadline).max_compared(compared_max);
        match self.count {
            Some(count) => searcher.nearest_with(needle, count, self.k, &limits),
            None => searcher.search_with(needle, self.k, &limits.limit(self.matches_max)),
        }
    }
}

/// Queries that are answered together, from one snapshot.
struct Job {
    server: Arc<Shared>,
    question: Question,
    needles: Needles,
    encoder: Encoder,
    /// Expected nanoseconds of one search.
    each: f64,
}

/// Answered queries.
pub(crate) struct AnsweredQueries {
    pub(crate) bytes: AnswerBytes,
    pub(crate) generation: u64,
    /// The searched snapshot.
    pub(crate) witness: Witness,
    /// The largest distance of the matches.
    pub(crate) k: u32,
    pub(crate) stats: SearchStats,
}

/// Answers the queries for `needles` together.
pub(crate) async fn answers_to(
    server: &Arc<Shared>,
    wanted: QueryKind,
    needles: Needles,
    options: &QueryOptions,
    encoder: Encoder,
) -> Result<AnsweredQueries, Failure> {
    let question = Question::new(server, options, wanted)?;
    let price = Price::of(server.live.store(), question.k, needles.len());
    price.check(options.max_cost)?;
    let job = Job { server: Arc::clone(server), question, needles, encoder, each: price.each };
    job.run(price.lane()).await
}

/// The work after which a job stops, to continue later or in the next lane.
#[derive(Clone, Copy)]
struct Effort {
    /// The largest number of values that one search compares.
    compared: Option<u64>,
    /// The time when the job stops.
    end: Option<Instant>,
}

/// The progress of a job.
#[derive(Default)]
struct Progress {
    /// The number of answered needles.
    count: usize,
    bytes: AnswerBytes,
    sum: SearchStats,
    cut: u64,
}

/// The reason for a missing answer.
enum Stopped {
    /// The search costs more than expected; the next lane may answer it.
    Costly,
    Failed(Failure),
}

impl Job {
    /// Searches in a lane, and in the next lane if the search costs more than expected.
    async fn run(self, lane: Lane) -> Result<AnsweredQueries, Failure> {
        let store = self.server.live.store();
        let metrics = &self.server.live.metrics;
        let here = if lane == Lane::Inline {
            Some(self.question)
        } else if let (Some(count), 1) = (self.question.count, self.needles.len()) {
            // First searches within the largest distance that is cheap here: if this finds enough
            // matches, they are the nearest.
            let is_cheap = |k: &u32| Price::of(store, *k, 1).each <= INLINE_NANOS / 4.0;
            let k = (0..=64).take_while(is_cheap).last();
            let enough = Some(count);
            k.map(|k| Question { k: k.min(self.question.k), enough, ..self.question })
        } else {
            None
        };
        if let Some(question) = here.filter(|_| self.server.live.health.is_warm()) {
            let effort = Effort { compared: Some(INLINE_COMPARED), end: None };
            match self.answer(&question, effort) {
                Ok(done) => {
                    metrics.inline.fetch_add(1, Relaxed);
                    return Ok(done);
                }
                Err(Stopped::Failed(failure)) => return Err(failure),
                Err(Stopped::Costly) => {}
            }
        }
        let server = Arc::clone(&self.server);
        let job = if lane == Lane::Slow {
            self
        } else {
            metrics.pooled.fetch_add(1, Relaxed);
            let work = move || {
                let end = Some(Instant::now() + QUICK_TIME);
                let done =
                    self.answer(&self.question, Effort { compared: Some(QUICK_COMPARED), end });
                (done, self)
            };
            match server.lanes.quick(&server.live, work).await? {
                (Ok(done), _) => return Ok(done),
                (Err(Stopped::Failed(failure)), _) => return Err(failure),
                (Err(Stopped::Costly), job) => job,
            }
        };
        server.live.metrics.slow.fetch_add(1, Relaxed);
        // All slices search one snapshot.
        let mut searcher = server.live.store().searcher();
        let witness = Witness::of(&searcher.state_id());
        let mut progress = Progress::default();
        let slice = move |end| {
            let effort = Effort { compared: None, end: Some(end) };
            match job.advance(&mut searcher, &job.question, effort, &mut progress) {
                Ok(false) => None,
                Ok(true) => {
                    let progress = std::mem::take(&mut progress);
                    Some(Ok(job.done(&searcher, &witness, progress)))
                }
                Err(Stopped::Failed(failure)) => Some(Err(failure)),
                Err(Stopped::Costly) => Some(Err(Failure::broken())),
            }
        };
        server.lanes.slow(&server.live, slice).await?
    }

    /// Answers all queries in one piece, with the searcher of this thread.
    fn answer(&self, question: &Question, effort: Effort) -> Result<AnsweredQueries, Stopped> {
        with_searcher(&self.server.live, |searcher, witness| {
            let mut progress = Progress::default();
            match self.advance(searcher, question, effort, &mut progress)? {
                true => Ok(self.done(searcher, witness, progress)),
                false => Err(Stopped::Costly),
            }
        })
    }

    /// Continues answering. Returns whether all queries are answered.
    fn advance(
        &self,
        searcher: &mut Searcher,
        question: &Question,
        effort: Effort,
        progress: &mut Progress,
    ) -> Result<bool, Stopped> {
        let max_answer = self.server.limits.max_answer;
        let most = usize::try_from(max_answer).unwrap_or(usize::MAX);
        // Reading the clock costs a tenth of a cheap search, and the search also reads it itself.
        let looks = if self.each < CLOCK_NANOS { 16 } else { 1 };
        let mut is_late = false;
        let Progress { count, bytes: written, sum, cut } = progress;
        let start = *count;
        if start == 0 {
            written.bytes.reserve(256);
            self.encoder.begin_all(&mut written.bytes);
        }
        loop {
            if !written.has_room(&self.server.bodies) {
                return Err(Stopped::Failed(no_room(&self.server)));
            }
            let Some(needle) = self.needles.get(*count) else { return Ok(true) };
            if *count > 0 && *count % looks == 0 && !is_late {
                let now = Instant::now();
                is_late = now >= question.deadline;
                if !is_late && *count > start && effort.end.is_some_and(|end| now >= end) {
                    return Ok(false);
                }
            }
            *count += 1;
            let bytes = &mut written.bytes;
            if is_late {
                self.encoder.push_late(bytes, needle, searcher.width());
                *cut += 1;
                continue;
            }
            let found = question.search(searcher, needle.fingerprint, effort.compared);
            let answer = found.map_err(|error| Stopped::Failed(self.damage(error)))?;
            let stats = answer.outcome().stats;
            let is_costly =
                effort.compared.is_some_and(|most| stats.candidates + stats.scanned >= most);
            if is_costly || question.enough.is_some_and(|enough| answer.len() < enough) {
                return Err(Stopped::Costly);
            }
            *sum += stats;
            let cut_by = answer.outcome().cut_by.map(CutBy::name);
            *cut += u64::from(cut_by.is_some());
            self.encoder
                .push(bytes, needle, &answer, cut_by, question.ids_max, most)
                .map_err(|error| Stopped::Failed(self.damage(error)))?;
            if bytes.len() > most {
                let message = "the answer is too long; send fewer queries at a time, reduce the \
                               matches (limit) or ids (ids), or use a stream of NDJSON";
                let over = Failure::over("answer-over-limit", &MAX_ANSWER, max_answer, message);
                return Err(Stopped::Failed(over));
            }
        }
    }

    /// Counts the answered queries, and returns their result.
    fn done(&self, searcher: &Searcher, witness: &Witness, progress: Progress) -> AnsweredQueries {
        let Progress { bytes, sum, cut, .. } = progress;
        self.server.live.metrics.searched(self.needles.len() as u64, cut, &sum);
        let (k, generation) = (self.question.k, searcher.generation());
        AnsweredQueries { bytes, generation, witness: witness.clone(), k, stats: sum }
    }

    fn damage(&self, error: Error) -> Failure {
        self.server.live.health.note_damage(&error);
        Failure::from(error)
    }
}

thread_local! {
    /// The searcher of this thread, with the epoch and the identity of its snapshot. It keeps the
    /// snapshot open until the thread searches a newer one.
    static SEARCHER: RefCell<Option<(u64, Searcher, Witness)>> = const { RefCell::new(None) };
}

/// Calls `act` with the searcher of this thread, moved to the current snapshot, and with the
/// identity of that snapshot.
fn with_searcher<T>(live: &LiveStore, act: impl FnOnce(&mut Searcher, &Witness) -> T) -> T {
    SEARCHER.with_borrow_mut(|kept| {
        let epoch = live.epoch();
        let made = || {
            let searcher = live.store().searcher();
            let witness = Witness::of(&searcher.state_id());
            (epoch, searcher, witness)
        };
        let (of, searcher, witness) = kept.get_or_insert_with(made);
        if *of != epoch {
            searcher.follow(live.store());
            *witness = Witness::of(&searcher.state_id());
            *of = epoch;
        }
        act(searcher, witness)
    })
}
