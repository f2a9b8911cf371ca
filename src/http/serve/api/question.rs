//! A question to the store: what is wanted, within which limits, and who searches for it.
//!
//! A search that should cost little runs on the thread that read the request, because a hand-over to
//! another thread costs three times the processor time of the whole request. All others run in a
//! pool that is as wide as the machine.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use fpstore_base::Fingerprint;

use super::answers::{Encoder, Needle};
use crate::base::error::{Error, Result as StoreResult};
use crate::base::options::{IDS, LIMIT};
use crate::http::serve::protocol::failure::Failure;
use crate::http::serve::state::limits::{millis, number_within};
use crate::http::serve::state::live_store::LiveStore;
use crate::http::serve::state::shared::Shared;
use crate::http::wire::QueryOptions;
use crate::http::wire::limits::{MAX_ANSWER, MAX_IDS, MAX_MATCHES, QUEUE_TIMEOUT};
use crate::http::wire::query_options::COUNT;
use crate::search::{Answer, Limits, SearchStats, Searcher};
use crate::store::Store;

/// Queries that are expected to take longer than this are searched in the pool.
const INLINE_NANOS: f64 = 50_000.0;
/// The same for all queries of a request together.
const INLINE_SUM_NANOS: f64 = 250_000.0;
/// A query on the thread that reads requests ends after comparing this many values, and begins again
/// in the pool: a crowd of near values must not hold all connections up.
const INLINE_COMPARED: u64 = 50_000;

/// Which matches are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// All within `k`.
    Near,
    /// The nearest, however many are within `k`.
    Nearest,
}

impl Wanted {
    /// The parameters that such a query takes: those of all bodies first, then `ids`, which a
    /// binary answer has none of, then `explain`, which is for a single query.
    pub(crate) fn params(self) -> &'static [&'static str] {
        match self {
            Wanted::Near => &["k", "limit", "ids", "explain"],
            Wanted::Nearest => &["k", "count", "ids", "explain"],
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

/// What is wanted of each fingerprint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question {
    pub(crate) k: u32,
    /// How many of the nearest are wanted, if not all within `k`.
    pub(crate) count: Option<usize>,
    /// Fewer matches than these are no answer: there may be others farther away.
    enough: Option<usize>,
    /// Matches that an answer keeps.
    pub(crate) matches_max: usize,
    /// Ids that a match keeps.
    pub(crate) ids_max: usize,
    pub(crate) deadline: Instant,
}

impl Question {
    /// What the options ask for, within the limits of the server.
    pub(crate) fn new(
        server: &Shared,
        options: &QueryOptions,
        wanted: Wanted,
    ) -> Result<Self, Failure> {
        let limits = &server.limits;
        let nearest = wanted == Wanted::Nearest;
        let k = limits
            .k(options.k, if nearest { limits.max_k } else { server.live.opened().tuned_k })?;
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

    /// Which limit cut an answer.
    fn cut_by(&self, answer: &Answer<'_>) -> Option<&'static str> {
        if !answer.outcome().cut {
            return None;
        }
        // Past the deadline, what was kept need not be the nearest.
        if Instant::now() >= self.deadline {
            return Some("deadline");
        }
        Some("limit")
    }
}

/// Questions that are answered together, from one state of the store.
struct Job {
    server: Arc<Shared>,
    question: Question,
    needles: Vec<Needle>,
    encoder: Encoder,
}

/// Answered questions.
pub(crate) struct Done {
    pub(crate) bytes: Vec<u8>,
    pub(crate) generation: u64,
    /// The distance of the question.
    pub(crate) k: u32,
    pub(crate) stats: SearchStats,
}

/// Answers questions about `needles` together.
pub(crate) async fn answers_to(
    server: &Arc<Shared>,
    wanted: Wanted,
    needles: Vec<Needle>,
    options: &QueryOptions,
    encoder: Encoder,
) -> Result<Done, Failure> {
    let question = Question::new(server, options, wanted)?;
    Job { server: Arc::clone(server), question, needles, encoder }.run().await
}

/// Why there is no answer.
enum Stopped {
    /// It costs more than was expected; the pool may try.
    Costly,
    Failed(Failure),
}

impl Job {
    /// Searches here, or in the pool.
    async fn run(self) -> Result<Done, Failure> {
        let store = self.server.live.store();
        let cost = expected_nanos(store, self.question.k);
        let sum = cost * self.needles.len() as f64;
        let here = if cost <= INLINE_NANOS && sum <= INLINE_SUM_NANOS {
            Some(self.question)
        } else if let (Some(count), [_]) = (self.question.count, self.needles.as_slice()) {
            // Where enough are very near, they are the nearest.
            let is_cheap = |k: &u32| expected_nanos(store, *k) <= INLINE_NANOS / 4.0;
            let k = (0..=64).take_while(is_cheap).last();
            let enough = Some(count);
            k.map(|k| Question { k: k.min(self.question.k), enough, ..self.question })
        } else {
            None
        };
        if let Some(question) = here.filter(|_| self.server.live.health.is_warm()) {
            match self.answer(&question, Some(INLINE_COMPARED)) {
                Ok(done) => {
                    self.server.live.metrics.inline.fetch_add(1, Relaxed);
                    return Ok(done);
                }
                Err(Stopped::Failed(failure)) => return Err(failure),
                Err(Stopped::Costly) => {}
            }
        }
        self.server.live.metrics.pooled.fetch_add(1, Relaxed);
        let server = Arc::clone(&self.server);
        in_pool(&server, move || match self.answer(&self.question, None) {
            Ok(done) => Ok(done),
            Err(Stopped::Failed(failure)) => Err(failure),
            Err(Stopped::Costly) => Err(Failure::broken()),
        })
        .await?
    }

    fn answer(&self, question: &Question, compared_max: Option<u64>) -> Result<Done, Stopped> {
        with_searcher(&self.server.live, |searcher| {
            let mut bytes = Vec::with_capacity(256);
            let (mut sum, mut cut) = (SearchStats::default(), 0);
            let mut is_late = false;
            let max_answer = self.server.limits.max_answer;
            let most = usize::try_from(max_answer).unwrap_or(usize::MAX);
            for (at, needle) in self.needles.iter().enumerate() {
                // The clock costs a tenth of a search, and the search itself looks at it, too.
                is_late |= at > 0 && at % 16 == 0 && Instant::now() >= question.deadline;
                if is_late {
                    self.encoder.push_late(&mut bytes, needle);
                    cut += 1;
                    continue;
                }
                let found = question.search(searcher, needle.fingerprint, compared_max);
                let answer = found.map_err(|error| Stopped::Failed(self.damage(error)))?;
                let stats = answer.outcome().stats;
                let is_costly =
                    compared_max.is_some_and(|most| stats.candidates + stats.scanned >= most);
                if is_costly || question.enough.is_some_and(|enough| answer.len() < enough) {
                    return Err(Stopped::Costly);
                }
                sum += stats;
                let cut_by = question.cut_by(&answer);
                cut += u64::from(cut_by.is_some());
                self.encoder
                    .push(&mut bytes, needle, &answer, cut_by, question.ids_max, most)
                    .map_err(|error| Stopped::Failed(self.damage(error)))?;
                if bytes.len() > most {
                    let message = "the answer is too long; ask for fewer at a time, for fewer \
                                   matches (limit) or ids (ids), or take a stream of NDJSON";
                    let over = Failure::over("answer-over-limit", &MAX_ANSWER, max_answer, message);
                    return Err(Stopped::Failed(over));
                }
            }
            self.server.live.metrics.searched(self.needles.len() as u64, cut, &sum);
            let (k, generation) = (self.question.k, searcher.generation());
            Ok(Done { bytes, generation, k, stats: sum })
        })
    }

    fn damage(&self, error: Error) -> Failure {
        self.server.live.health.note_damage(&error);
        Failure::from(error)
    }
}

fn expected_nanos(store: &Store, k: u32) -> f64 {
    store.expected_nanos(k).unwrap_or(f64::INFINITY)
}

thread_local! {
    /// The searcher of this thread, and the state that it searches. It keeps that state until the
    /// thread searches another one.
    static SEARCHER: RefCell<Option<(u64, Searcher)>> = const { RefCell::new(None) };
}

/// Lends the searcher of this thread, which searches the state that is shown.
fn with_searcher<T>(live: &LiveStore, act: impl FnOnce(&mut Searcher) -> T) -> T {
    SEARCHER.with_borrow_mut(|kept| {
        let epoch = live.epoch();
        let (of, searcher) = kept.get_or_insert_with(|| (epoch, live.store().searcher()));
        if *of != epoch {
            searcher.follow(live.store());
            *of = epoch;
        }
        act(searcher)
    })
}

/// Runs work on a thread of the pool, once one is free. Waits for it no longer than the limit.
pub(crate) async fn in_pool<T: Send + 'static>(
    server: &Shared,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failure> {
    let free = Arc::clone(&server.pool).acquire_owned();
    let permit = match tokio::time::timeout(server.limits.queue_timeout, free).await {
        Ok(Ok(permit)) => permit,
        _ => {
            return Err(server.live.refused(format_args!(
                "all threads search; none became free within --{} {}",
                QUEUE_TIMEOUT.flag(),
                millis(server.limits.queue_timeout)
            )));
        }
    };
    let work = move || {
        let done = work();
        drop(permit);
        done
    };
    tokio::task::spawn_blocking(work).await.map_err(|_| Failure::broken())
}
