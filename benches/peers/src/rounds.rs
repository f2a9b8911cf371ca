//! Measures the contenders in turn: in each round each contender answers single queries, and then
//! many queries.

use std::hint::black_box;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::contenders::{Built, Session};

/// Number of pairs of consecutive clock readings from which the cost of a reading is computed.
const CLOCK_PAIRS: usize = 10_001;
/// Queries with more matches are excluded from the percentile of queries with few matches.
const FEW: usize = 10;
/// The minimum number of queries for a contender in a part of a round, however slow it is.
const QUERIES_MIN: usize = 12;

/// The limits of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct RoundLimits {
    pub rounds: u32,
    /// Time limit for each contender and part of a round.
    pub seconds: f64,
}

/// Medians over the rounds; times of single queries in microseconds, without the clock overhead.
#[derive(Clone, Debug, Default)]
pub struct Timing {
    pub p50: f64,
    pub p99: f64,
    pub mean: f64,
    /// The 99th percentile of the times of queries with at most ten matches.
    pub p99_few: Option<f64>,
    /// Minimum and maximum of the medians of the rounds.
    pub p50_range: (f64, f64),
    /// The median over the rounds of the ratio: median of this contender / median of the first one.
    pub p50_ratio: f64,
    /// Queries per second of CPU time, one after the other, without clock readings in between.
    pub loop_rate: f64,
    /// Queries per second of CPU time by the batch interface of the library.
    pub many_rate: Option<f64>,
    pub single_count: usize,
    pub batch_count: usize,
    /// The number of matches of the batch.
    pub match_count: usize,
}

/// The measurements of a contender in each round.
#[derive(Default)]
struct Rounds {
    p50: Vec<f64>,
    p99: Vec<f64>,
    mean: Vec<f64>,
    p99_few: Vec<f64>,
    loop_rate: Vec<f64>,
    many_rate: Vec<f64>,
}

/// Runs the contenders in turn, with a different first contender in each round.
pub fn take(built: &[Built], singles: &[u64], many: &[u64], limits: RoundLimits) -> Vec<Timing> {
    let clock = clock_cost();
    let mut timings = vec![Timing::default(); built.len()];
    let mut rounds: Vec<Rounds> = built.iter().map(|_| Rounds::default()).collect();
    let mut sessions: Vec<Box<dyn Session + '_>> =
        built.iter().map(|contender| contender.index.session()).collect();
    for (session, timing) in sessions.iter_mut().zip(&mut timings) {
        let seconds = seconds_of_one(session.as_mut(), singles);
        let fitting = (limits.seconds / seconds) as usize;
        timing.single_count = fitting.max(QUERIES_MIN).min(singles.len());
        timing.batch_count = fitting.max(QUERIES_MIN).min(many.len());
    }
    let mut times = Vec::new();
    for round in 0..limits.rounds as usize {
        for place in 0..built.len() {
            let number = (round + place) % built.len();
            let (session, timing) = (sessions[number].as_mut(), &mut timings[number]);
            let rounds = &mut rounds[number];
            time_singles(session, &singles[..timing.single_count], clock, &mut times);
            rounds.add_singles(&mut times);
            let batch = &many[..timing.batch_count];
            let (seconds, count) = cpu(|| batch.iter().map(|needle| session.ask(*needle)).sum());
            timing.match_count = count;
            rounds.loop_rate.push(batch.len() as f64 / seconds);
            let (seconds, count) = cpu(|| session.ask_many(batch));
            if let Some(count) = count {
                assert_eq!(count, timing.match_count, "{}", built[number].name);
                rounds.many_rate.push(batch.len() as f64 / seconds);
            }
        }
    }
    for (timing, own) in timings.iter_mut().zip(&rounds) {
        let ratios = own.p50.iter().zip(&rounds[0].p50).map(|(a, b)| a / b).collect();
        timing.p50 = median(own.p50.clone());
        timing.p99 = median(own.p99.clone());
        timing.mean = median(own.mean.clone());
        timing.p99_few = (!own.p99_few.is_empty()).then(|| median(own.p99_few.clone()));
        timing.p50_ratio = median(ratios);
        timing.loop_rate = median(own.loop_rate.clone());
        timing.many_rate = (!own.many_rate.is_empty()).then(|| median(own.many_rate.clone()));
        let (least, most) = (f64::min, f64::max);
        timing.p50_range = (
            own.p50.iter().copied().fold(f64::INFINITY, least),
            own.p50.iter().copied().fold(0.0, most),
        );
    }
    timings
}

impl Rounds {
    fn add_singles(&mut self, times: &mut [(f64, usize)]) {
        times.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        self.mean.push(times.iter().map(|(time, _)| time).sum::<f64>() / times.len() as f64);
        self.p50.push(times[(times.len() - 1) / 2].0);
        self.p99.push(times[(times.len() - 1) * 99 / 100].0);
        let few: Vec<f64> =
            times.iter().filter(|(_, count)| *count <= FEW).map(|(time, _)| *time).collect();
        if !few.is_empty() {
            self.p99_few.push(few[(few.len() - 1) * 99 / 100]);
        }
    }
}

/// Replaces the contents of `times` by the time in microseconds and the number of matches of each
/// query.
fn time_singles(
    session: &mut dyn Session,
    needles: &[u64],
    clock: Duration,
    times: &mut Vec<(f64, usize)>,
) {
    times.clear();
    for needle in needles {
        let start = Instant::now();
        let count = black_box(session.ask(black_box(*needle)));
        let time = start.elapsed().saturating_sub(clock);
        times.push((time.as_secs_f64() * 1e6, count));
    }
}

/// Runs queries for a few milliseconds, or until the end of `needles`. Returns the mean time of a
/// query in seconds.
fn seconds_of_one(session: &mut dyn Session, needles: &[u64]) -> f64 {
    let start = Instant::now();
    let mut count = 0;
    for needle in needles {
        black_box(session.ask(*needle));
        count += 1;
        if count >= 3 && start.elapsed() > Duration::from_millis(20) {
            break;
        }
    }
    start.elapsed().as_secs_f64() / f64::from(count.max(1))
}

/// The time between two readings of the clock.
fn clock_cost() -> Duration {
    let mut costs: Vec<Duration> = (0..CLOCK_PAIRS).map(|_| Instant::now().elapsed()).collect();
    costs.sort_unstable();
    costs[CLOCK_PAIRS / 2]
}

/// CPU seconds of the whole process, all threads included, while `work` runs.
fn cpu<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let now = || {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
    };
    let start = now();
    let done = black_box(work());
    (now() - start, done)
}

/// The median; 0 for an empty list.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get((values.len().max(1) - 1) / 2).copied().unwrap_or(0.0)
}
