//! Watching long work: how far it is, and whether it should go on.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// The observer is called each time so much more is done.
const STEP: u64 = 1 << 16;
/// Pauses shorter than this are put off.
const PAUSE_MIN: Duration = Duration::from_millis(5);

/// In longer ones the observer is asked again after so much.
const PAUSE_MAX: Duration = Duration::from_millis(100);

/// What a build is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Phase {
    /// Reading documents; the bytes of their files are counted, compressed as they are.
    Documents,
    /// Taking records; they are counted.
    Read,
    /// Sorting them and finding the distinct fingerprints; records are counted.
    Sort,
    /// Sorting and encoding the tables; fingerprints are counted, once when sorted for a table and once
    /// when encoded.
    Tables,
    /// Writing the ids; records are counted.
    Ids,
    /// Syncing and publishing.
    Publish,
    /// Looking for near pairs; fingerprints are counted, once for each block that they may agree on.
    Join,
    /// Answering queries; they are counted.
    Search,
    /// Making clusters of what is near; fingerprints that are near others are counted.
    Cluster,
}

impl Phase {
    /// The word for it: `read`, `sort`, `tables`, `ids` or `publish`.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Documents => "docs",
            Phase::Read => "read",
            Phase::Sort => "sort",
            Phase::Tables => "tables",
            Phase::Ids => "ids",
            Phase::Publish => "publish",
            Phase::Join => "join",
            Phase::Search => "search",
            Phase::Cluster => "cluster",
        }
    }
}

/// How far a build is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// What is being done.
    pub phase: Phase,
    /// How much of it is done, in the units of the phase.
    pub done: u64,
    /// How much there is to do, where that is known.
    pub total: Option<u64>,
}

/// Is told now and then how far a build is, from any of its threads. If it breaks, the build
/// ends with [`Error::Interrupted`], and what was there before stays as it was.
#[derive(Clone)]
pub struct Observer(Arc<dyn Fn(Progress) -> ControlFlow<()> + Send + Sync>);

impl Observer {
    /// An observer that is this function.
    pub fn new(watch: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        Observer(Arc::new(watch))
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}

/// Counts the work of one phase.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    observer: Option<Observer>,
    phase: Phase,
    total: Option<u64>,
    done: Arc<AtomicU64>,
}

impl Watch {
    pub(crate) fn new(observer: Option<Observer>, phase: Phase, total: Option<u64>) -> Self {
        Watch { observer, phase, total, done: Arc::default() }
    }

    /// The same watcher for another phase.
    pub(crate) fn next(&self, phase: Phase, total: Option<u64>) -> Self {
        Watch::new(self.observer.clone(), phase, total)
    }

    /// Says that so much more is done, and asks whether to go on.
    #[inline]
    pub(crate) fn tick(&self, count: u64) -> Result<()> {
        let before = self.done.fetch_add(count, Ordering::Relaxed);
        if before / STEP == (before + count) / STEP { Ok(()) } else { self.report() }
    }

    /// Tells the observer how far it is, and asks whether to go on.
    pub(crate) fn report(&self) -> Result<()> {
        self.report_with(0)
    }

    /// As [`Watch::report`], with so much more that is under way.
    pub(crate) fn report_with(&self, under_way: u64) -> Result<()> {
        let Some(observer) = &self.observer else { return Ok(()) };
        let done = self.done.load(Ordering::Relaxed) + under_way;
        match (observer.0)(Progress { phase: self.phase, done, total: self.total }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::Interrupted),
        }
    }
}

/// Keeps work to a rate, by pauses.
#[derive(Clone, Debug)]
pub(crate) struct Throttle {
    since: Instant,
    bytes_per_second: f64,
    spent: Arc<AtomicU64>,
    heard: Option<Arc<Heard>>,
}

/// What an observer was told last, so that it can be asked again in a pause.
#[derive(Debug)]
struct Heard {
    observer: Observer,
    last: Mutex<Option<Progress>>,
    ended: AtomicBool,
}

impl Heard {
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
    /// At most so many bytes a second from now on. If there is an observer, it is asked in pauses, too, and one is given to
    /// be told in its place.
    pub(crate) fn new(
        bytes_per_second: u64,
        observer: Option<Observer>,
    ) -> (Self, Option<Observer>) {
        let bytes_per_second = bytes_per_second.max(1) as f64;
        let heard = observer.map(|observer| {
            Arc::new(Heard { observer, last: Mutex::default(), ended: AtomicBool::new(false) })
        });
        let spent = Arc::default();
        let throttle =
            Throttle { since: Instant::now(), bytes_per_second, spent, heard: heard.clone() };
        let observer = heard.map(|heard| Observer::new(move |progress| heard.tell(progress)));
        (throttle, observer)
    }

    /// Counts so many bytes, and waits until they may have been read or written, or the observer wants an end: who
    /// works will hear of that.
    pub(crate) fn spend(&self, bytes: u64) {
        let spent = self.spent.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let due = Duration::from_secs_f64(spent as f64 / self.bytes_per_second);
        // Short pauses would take longer than they should.
        while let Some(pause) = due.checked_sub(self.since.elapsed())
            && pause > PAUSE_MIN
            && self.heard.as_ref().is_none_or(|heard| heard.ask_again().is_continue())
        {
            std::thread::sleep(pause.min(PAUSE_MAX));
        }
    }
}
