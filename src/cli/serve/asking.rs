//! A question to the store: what is wanted, within which limits, and who searches for it.
//!
//! A search that should cost little runs on the thread that read the request, because a hand-over to
//! another thread costs three times the processor time of the whole request. All others run in a
//! pool that is as wide as the machine.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use fpstore::{Answer, Fingerprint, SearchStats, Searcher};

use super::answers::Encoder;
use super::failure::Failure;
use super::params::Params;
use super::server::Server;
use super::shown::Shown;

/// Queries that are expected to take longer than this are searched in the pool.
const INLINE_NANOS: f64 = 50_000.0;
/// The same for all queries of a request together.
const INLINE_SUM_NANOS: f64 = 250_000.0;
/// A query on the thread that reads requests ends after comparing this many values, and begins again
/// in the pool: a crowd of near values must not hold all connections up.
const INLINE_COMPARED: u64 = 50_000;

/// What is wanted of each fingerprint.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question {
    pub(super) k: u32,
    /// How many of the nearest are wanted, if not all within `k`.
    pub(super) count: Option<usize>,
    /// Fewer matches than these are no answer: there may be others farther away.
    enough: Option<usize>,
    /// Matches that an answer keeps.
    pub(super) matches_max: usize,
    /// Ids that a match keeps.
    pub(super) ids_max: usize,
    pub(super) deadline: Instant,
}

impl Question {
    /// What the parameters ask for, within the limits of the server.
    pub(super) fn new(
        server: &Server,
        shown: &Shown,
        params: &Params,
        nearest: bool,
    ) -> Result<Self, Failure> {
        let limits = &server.limits;
        let default_k = if nearest { limits.max_k } else { shown.tuned_k.min(limits.max_k) };
        let k = params.k.unwrap_or(default_k);
        if k > 64 {
            return Err(Failure::bad("bad-k", format!("k={k}, expected 0 to 64")));
        }
        if k > limits.max_k {
            let message = format!("k={k} is more than this server searches");
            let failure = Failure::over("k-over-limit", "max-k", limits.max_k.into(), message);
            return Err(Failure { status: hyper::StatusCode::BAD_REQUEST, ..failure });
        }
        let at_most = |name: &str, wanted: Option<u64>, option, most: u64| match wanted {
            Some(wanted) if wanted > most => {
                let message = format!("{name}={wanted} is more than this server answers");
                let failure = Failure::over("over-limit", option, most, message);
                Err(Failure { status: hyper::StatusCode::BAD_REQUEST, ..failure })
            }
            Some(0) if name != "ids" => {
                Err(Failure::bad("bad-parameter", format!("{name}=0, expected 1 or more")))
            }
            wanted => Ok(usize::try_from(wanted.unwrap_or(most)).unwrap_or(usize::MAX)),
        };
        let count = at_most("count", params.count.or(Some(1)), "max-matches", limits.max_matches)?;
        Ok(Question {
            k,
            count: nearest.then_some(count),
            enough: None,
            matches_max: at_most("limit", params.limit, "max-matches", limits.max_matches)?,
            ids_max: at_most("ids", params.ids, "max-ids", limits.max_ids)?,
            deadline: Instant::now() + limits.deadline,
        })
    }

    fn search<'a>(
        &self,
        searcher: &'a mut Searcher,
        needle: Fingerprint,
        compared_max: Option<u64>,
    ) -> fpstore::Result<Answer<'a>> {
        let limits = fpstore::Limits::default().deadline(self.deadline).max_compared(compared_max);
        match self.count {
            Some(count) => searcher.nearest_with(needle, count, self.k, &limits),
            None => searcher.search_with(needle, self.k, &limits.max_matches(self.matches_max)),
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

/// A fingerprint to search for, and the name that its sender gave it.
#[derive(Clone, Debug)]
pub(super) struct Needle {
    pub(super) id: Option<String>,
    pub(super) fingerprint: Fingerprint,
}

/// Questions that are answered together, from one state of the store.
pub(super) struct Job {
    pub(super) server: Arc<Server>,
    pub(super) question: Question,
    pub(super) needles: Vec<Needle>,
    pub(super) encoder: Encoder,
}

/// Answered questions.
pub(super) struct Done {
    pub(super) bytes: Vec<u8>,
    pub(super) generation: u64,
    pub(super) stats: SearchStats,
}

/// Why there is no answer.
enum Stopped {
    /// It costs more than was expected; the pool may try.
    Costly,
    Failed(Failure),
}

impl Job {
    /// Searches here, or in the pool.
    pub(super) async fn run(self, shown: &Shown) -> Result<Done, Failure> {
        let store = self.server.store();
        let cost = shown.cost(store, self.question.k);
        let sum = cost * self.needles.len() as f64;
        let here = if cost <= INLINE_NANOS && sum <= INLINE_SUM_NANOS {
            Some(self.question)
        } else if let (Some(count), [_]) = (self.question.count, self.needles.as_slice()) {
            // Where enough are very near, they are the nearest.
            let k = shown.cheap_k(store, INLINE_NANOS / 4.0);
            let enough = Some(count);
            k.map(|k| Question { k: k.min(self.question.k), enough, ..self.question })
        } else {
            None
        };
        if let Some(question) = here.filter(|_| self.server.health().is_warm()) {
            match self.answer(&question, Some(INLINE_COMPARED)) {
                Ok(done) => {
                    self.server.metrics.inline.fetch_add(1, Relaxed);
                    return Ok(done);
                }
                Err(Stopped::Failed(failure)) => return Err(failure),
                Err(Stopped::Costly) => {}
            }
        }
        self.server.metrics.pooled.fetch_add(1, Relaxed);
        let server = Arc::clone(&self.server);
        in_pool(&server, move || match self.answer(&self.question, None) {
            Ok(done) => Ok(done),
            Err(Stopped::Failed(failure)) => Err(failure),
            Err(Stopped::Costly) => Err(Failure::broken()),
        })
        .await?
    }

    fn answer(&self, question: &Question, compared_max: Option<u64>) -> Result<Done, Stopped> {
        with_searcher(&self.server, |searcher| {
            let mut bytes = Vec::with_capacity(256);
            let (mut sum, mut cut) = (SearchStats::default(), 0);
            let mut is_late = false;
            let most = self.server.limits.answer_max();
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
                sum.probes += stats.probes;
                sum.candidates += stats.candidates;
                sum.scanned += stats.scanned;
                sum.pages_checked += stats.pages_checked;
                let cut_by = question.cut_by(&answer);
                cut += u64::from(cut_by.is_some());
                self.encoder
                    .push(&mut bytes, needle, &answer, cut_by, question.ids_max, most)
                    .map_err(|error| Stopped::Failed(self.damage(error)))?;
                if bytes.len() > most {
                    let message = "the answer is too long; ask for fewer at a time, for fewer \
                                   matches (limit) or ids (ids), or take a stream of NDJSON";
                    let most = self.server.limits.max_answer.as_u64();
                    let over = Failure::over("answer-over-limit", "max-answer", most, message);
                    return Err(Stopped::Failed(over));
                }
            }
            self.server.metrics.searched(self.needles.len() as u64, cut, &sum);
            Ok(Done { bytes, generation: searcher.generation(), stats: sum })
        })
    }

    fn damage(&self, error: fpstore::Error) -> Failure {
        let failure = Failure::from(error);
        self.server.health().note_damage(failure.message.clone());
        failure
    }
}

thread_local! {
    /// The searcher of this thread, and the state that it searches.
    static SEARCHER: RefCell<Option<(u64, Searcher)>> = const { RefCell::new(None) };
}

/// Lends the searcher of this thread, which searches the state that is shown.
fn with_searcher<T>(server: &Server, act: impl FnOnce(&mut Searcher) -> T) -> T {
    SEARCHER.with_borrow_mut(|kept| {
        let epoch = server.epoch();
        let (of, searcher) = kept.get_or_insert_with(|| (epoch, server.store().searcher()));
        if *of != epoch {
            searcher.follow(server.store());
            *of = epoch;
        }
        act(searcher)
    })
}

/// Runs work on a thread of the pool, once one is free. Waits for it no longer than the limit.
pub(super) async fn in_pool<T: Send + 'static>(
    server: &Server,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failure> {
    let free = Arc::clone(&server.pool).acquire_owned();
    let permit = match tokio::time::timeout(server.limits.queue_timeout, free).await {
        Ok(Ok(permit)) => permit,
        _ => {
            server.metrics.refused.fetch_add(1, Relaxed);
            return Err(Failure::busy(format_args!(
                "all threads search; none became free within --queue-timeout {}",
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

pub(super) fn millis(time: Duration) -> String {
    format!("{}ms", time.as_millis())
}
