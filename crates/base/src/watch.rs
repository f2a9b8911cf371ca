//! The progress and the interruption of long work.
//!
//! A caller that wants progress passes an [`Observer`]. The working code has a [`Watch`] for each
//! phase and calls `tick` with the number of finished units. The observer can end the work: `tick`
//! then returns [`Interrupted`], which the work returns as its error. [`Throttle`] limits the rate
//! of reading and writing.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::Interrupted;

/// The observer is called whenever this many more units are finished.
const STEP: u64 = 1 << 16;
/// The observer is also called whenever this much time has passed since its last call.
const ASKED_AGAIN: Duration = Duration::from_millis(50);
/// The clock is read whenever this many more units are finished.
const CLOCK_STEP: u64 = 1 << 6;
/// Minimum pause of a [`Throttle`]. Shorter pauses are skipped, and their time is added to the next
/// pause.
const PAUSE_MIN: Duration = Duration::from_millis(5);

/// Maximum duration of a single sleep of a [`Throttle`]. A longer pause consists of several sleeps,
/// and the observer is called before each.
const PAUSE_MAX: Duration = Duration::from_millis(100);

crate::named! {
    /// A phase of long work.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum Phase {
        /// Reading documents. Counts the bytes of their files before decompression.
        Documents = "docs",
        /// Copying the kept documents. Counts the bytes of their files before decompression.
        Copy = "copy",
        /// Reading records. Counts records.
        Read = "read",
        /// Sorting records and finding the distinct fingerprints. Counts records.
        Sort = "sort",
        /// Choosing the scheme.
        Plan = "plan",
        /// Sorting and encoding the tables. Counts fingerprints, once when sorted for a table and
        /// once when encoded.
        Tables = "tables",
        /// Writing the ids. Counts records.
        Ids = "ids",
        /// Syncing and publishing.
        Publish = "publish",
        /// Finding pairs of near fingerprints. Counts fingerprints, once for each block of bits in
        /// which they may agree.
        Join = "join",
        /// Answering queries. Counts queries.
        Search = "search",
        /// Comparing the features of candidate pairs. Counts pairs.
        Confirm = "confirm",
        /// Forming clusters of near fingerprints. Counts fingerprints that are near another one.
        Cluster = "cluster",
        /// Waiting for another process that has a lock. Counts seconds.
        Wait = "wait",
        /// Verifying a store. Counts bytes read; bytes read twice count twice.
        Verify = "verify",
    }
}

/// The progress of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The phase.
    pub phase: Phase,
    /// The number of finished units of the phase.
    pub done: u64,
    /// The total number of units, if known.
    pub total: Option<u64>,
    /// The step, if the work has several steps. A step can have several phases, and also the same
    /// phase several times.
    pub step: Option<Step>,
}

/// A step of work that consists of several steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// The number of the step, from 1 on. Work that finds a fault can return to an earlier step.
    pub number: u32,
    /// The number of steps.
    pub count: u32,
}

/// Keeps the current step of work that consists of several steps.
#[derive(Debug)]
pub struct Steps {
    number: Arc<AtomicU32>,
    count: u32,
}

impl Steps {
    /// Work that consists of `count` steps, at its first step.
    pub fn new(count: u32) -> Self {
        Steps { number: Arc::new(AtomicU32::new(1)), count }
    }

    /// An observer that adds the current step to the progress before it calls the given observer.
    pub fn observed(&self, observer: Option<Observer>) -> Option<Observer> {
        let (number, count) = (self.number.clone(), self.count);
        Some(observer?.of_part(move |mut progress| {
            progress.step = Some(Step { number: number.load(Ordering::Relaxed), count });
            progress
        }))
    }

    /// Begins the step with this number, counted from 1.
    pub fn begin(&self, number: u32) {
        self.number.store(number, Ordering::Relaxed);
    }

    /// Begins the last step.
    pub fn begin_last(&self) {
        self.begin(self.count);
    }
}

/// A function that long work calls with its progress from time to time, from any of its threads. If
/// it returns `Break`, the work ends with [`Interrupted`], and existing files are unchanged.
#[derive(Clone)]
pub struct Observer(Arc<dyn Fn(Progress) -> ControlFlow<()> + Send + Sync>);

impl Observer {
    /// An observer that calls the function `watch`.
    pub fn new(watch: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        Observer(Arc::new(watch))
    }

    /// An observer for one of several parts of a phase: it calls this observer with the progress as
    /// changed by `change`.
    #[must_use]
    pub fn of_part(&self, change: impl Fn(Progress) -> Progress + Send + Sync + 'static) -> Self {
        let whole = self.clone();
        Observer::new(move |progress| (whole.0)(change(progress)))
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}

/// Counts the finished units of one phase, and calls the observer.
#[derive(Clone, Debug)]
pub struct Watch {
    observer: Option<Observer>,
    phase: Phase,
    total: Option<u64>,
    done: Arc<AtomicU64>,
    since: Instant,
    /// The time of the last call of the observer, in milliseconds after `since`.
    asked: Arc<AtomicU64>,
}

impl Watch {
    /// A watch for a phase, with the total number of units if it is known.
    pub fn new(observer: Option<Observer>, phase: Phase, total: Option<u64>) -> Self {
        let (done, asked) = (Arc::default(), Arc::default());
        Watch { observer, phase, total, done, since: Instant::now(), asked }
    }

    /// A watch for another phase, with the same observer.
    pub fn next(&self, phase: Phase, total: Option<u64>) -> Self {
        Watch::new(self.observer.clone(), phase, total)
    }

    /// Counts `count` more units as finished. After many units or a few hundredths of a second it
    /// calls the observer, which can end the work.
    #[inline]
    pub fn tick(&self, count: u64) -> Result<(), Interrupted> {
        let before = self.done.fetch_add(count, Ordering::Relaxed);
        let after = before + count;
        if before / CLOCK_STEP == after / CLOCK_STEP {
            return Ok(());
        }
        if before / STEP == after / STEP { self.look() } else { self.report() }
    }

    /// Calls the observer if its last call was some time ago; fails if the observer ends the work.
    /// Reads the clock each time, so call it only for long steps that are not units of the phase.
    pub fn look(&self) -> Result<(), Interrupted> {
        let now = self.since.elapsed().as_millis() as u64;
        let asked = self.asked.load(Ordering::Relaxed);
        if now < asked + ASKED_AGAIN.as_millis() as u64 {
            return Ok(());
        }
        self.report()
    }

    /// Calls the observer with the current progress; fails if the observer ends the work.
    pub fn report(&self) -> Result<(), Interrupted> {
        self.report_with(0)
    }

    /// Like [`Watch::report`], but with `under_way` more units than counted so far.
    pub fn report_with(&self, under_way: u64) -> Result<(), Interrupted> {
        let Some(observer) = &self.observer else { return Ok(()) };
        self.asked.store(self.since.elapsed().as_millis() as u64, Ordering::Relaxed);
        let done = self.done.load(Ordering::Relaxed) + under_way;
        match (observer.0)(Progress { phase: self.phase, done, total: self.total, step: None }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Interrupted),
        }
    }
}

/// Limits the rate of work by pauses.
#[derive(Clone, Debug)]
pub struct Throttle {
    since: Instant,
    bytes_per_second: f64,
    spent: Arc<AtomicU64>,
    observed: Option<Arc<LastProgress>>,
}

/// The last progress that the observer received, for calls in pauses.
#[derive(Debug)]
struct LastProgress {
    observer: Observer,
    last: Mutex<Option<Progress>>,
    ended: AtomicBool,
}

impl LastProgress {
    fn tell(&self, progress: Progress) -> ControlFlow<()> {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress);
        let ended = self.ended.load(Ordering::Relaxed) || (self.observer.0)(progress).is_break();
        self.ended.store(ended, Ordering::Relaxed);
        if ended { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn ask_again(&self) -> ControlFlow<()> {
        let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.map_or(ControlFlow::Continue(()), |last| self.tell(last))
    }
}

impl Throttle {
    /// Limits work to `bytes_per_second` from now on. The work must use the returned observer in
    /// place of the given one, so that it is also called in pauses.
    pub fn new(bytes_per_second: u64, observer: Option<Observer>) -> (Self, Option<Observer>) {
        let bytes_per_second = bytes_per_second.max(1) as f64;
        let observed = observer.map(|observer| {
            Arc::new(LastProgress {
                observer,
                last: Mutex::default(),
                ended: AtomicBool::new(false),
            })
        });
        let spent = Arc::default();
        let throttle =
            Throttle { since: Instant::now(), bytes_per_second, spent, observed: observed.clone() };
        let observer = observed.map(|last| Observer::new(move |progress| last.tell(progress)));
        (throttle, observer)
    }

    /// Like [`Throttle::new`] if a rate is given; otherwise no throttle, and the given observer.
    pub fn at_most(
        bytes_per_second: Option<u64>,
        observer: Option<Observer>,
    ) -> (Option<Self>, Option<Observer>) {
        match bytes_per_second {
            Some(rate) => {
                let (throttle, observer) = Throttle::new(rate, observer);
                (Some(throttle), observer)
            }
            None => (None, observer),
        }
    }

    /// Counts `bytes` bytes, and waits until the rate allows them or the observer ends the work. If
    /// the observer ends the work, the next tick returns [`Interrupted`].
    pub fn spend(&self, bytes: u64) {
        let spent = self.spent.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let due = Duration::from_secs_f64(spent as f64 / self.bytes_per_second);
        // The system makes short pauses longer than requested.
        while let Some(pause) = due.checked_sub(self.since.elapsed())
            && pause > PAUSE_MIN
            && self.observed.as_ref().is_none_or(|last| last.ask_again().is_continue())
        {
            std::thread::sleep(pause.min(PAUSE_MAX));
        }
    }
}
