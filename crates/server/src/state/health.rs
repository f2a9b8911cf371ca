//! The health of the server, which `/readyz` reports.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use fpstore::Error;
use fpstore_base::chain;

/// The health of the server.
#[derive(Debug)]
pub(crate) struct Health {
    /// Whether the current snapshot was read into memory.
    warm: AtomicBool,
    /// Whether warming has finished, or is disabled.
    started: AtomicBool,
    draining: AtomicBool,
    ending: AtomicBool,
    /// Whether another store has replaced the store of this writing server.
    replaced: AtomicBool,
    stale_after: Duration,
    trouble: Mutex<Trouble>,
}

#[derive(Debug)]
struct Trouble {
    good: Instant,
    /// While refreshes fail: the time of the first failure, and the last error.
    refresh: Option<(Instant, String)>,
    /// While commits fail: the time of the first failure, and the last error.
    commit: Option<(Instant, String)>,
    /// The damaged file of the current snapshot, if it is known, and the error.
    damage: Option<(Option<PathBuf>, String)>,
}

impl Health {
    pub(crate) fn new(stale_after: Duration) -> Self {
        let trouble = Trouble { good: Instant::now(), refresh: None, commit: None, damage: None };
        Health {
            warm: AtomicBool::new(false),
            started: AtomicBool::new(false),
            draining: AtomicBool::new(false),
            ending: AtomicBool::new(false),
            replaced: AtomicBool::new(false),
            stale_after,
            trouble: Mutex::new(trouble),
        }
    }

    fn trouble(&self) -> std::sync::MutexGuard<'_, Trouble> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the store was read into memory, or that warming is disabled.
    pub(crate) fn note_start(&self, is_warm: bool) {
        self.warm.store(is_warm, Ordering::Release);
        self.started.store(true, Ordering::Release);
    }

    /// Notes that the server will end soon and should receive no more requests.
    pub(crate) fn note_draining(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Notes whether another store has replaced the store of this writing server.
    pub(crate) fn note_replaced(&self, is_replaced: bool) {
        self.replaced.store(is_replaced, Ordering::Relaxed);
    }

    /// Notes that the server is ending now.
    pub(crate) fn note_end(&self) {
        self.ending.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Relaxed)
    }

    pub(crate) fn is_warm(&self) -> bool {
        self.warm.load(Ordering::Relaxed)
    }

    /// Notes that a search found damage.
    pub(crate) fn note_damage(&self, error: &Error) {
        let path = match error {
            Error::Corrupt { path, .. } => Some(path.clone()),
            _ => None,
        };
        self.trouble().damage = Some((path, chain(error)));
    }

    /// Forgets the found damage, unless the damaged file is known and still in use.
    pub(crate) fn forget_damage(&self, is_in_use: impl Fn(&Path) -> bool) {
        let mut trouble = self.trouble();
        let of_file = trouble.damage.as_ref().and_then(|(path, _)| path.as_deref());
        if !of_file.is_some_and(is_in_use) {
            trouble.damage = None;
        }
    }

    /// Notes a successful refresh. Returns whether earlier refreshes failed.
    pub(crate) fn note_good_refresh(&self) -> bool {
        let mut trouble = self.trouble();
        trouble.good = Instant::now();
        trouble.refresh.take().is_some()
    }

    /// Notes a failed refresh, see [`note_failure`].
    pub(crate) fn note_bad_refresh(&self, why: &str) -> bool {
        note_failure(&mut self.trouble().refresh, why)
    }

    /// Notes a successful commit. Returns whether earlier commits failed.
    pub(crate) fn note_good_commit(&self) -> bool {
        self.trouble().commit.take().is_some()
    }

    /// Notes a failed commit, see [`note_failure`].
    pub(crate) fn note_bad_commit(&self, why: &str) -> bool {
        note_failure(&mut self.trouble().commit, why)
    }

    /// The error of the last commit, and for how many seconds commits have failed.
    pub(crate) fn failing_commit(&self) -> Option<(String, f64)> {
        let trouble = self.trouble();
        let (since, why) = trouble.commit.as_ref()?;
        Some((why.clone(), since.elapsed().as_secs_f64()))
    }

    /// The reason why a writing server should receive no changes, although it answers queries.
    pub(crate) fn writing_fault(&self) -> Option<Fault> {
        let (why, seconds) = self.failing_commit()?;
        Some(("commits-failing", format!("commits have failed for {seconds:.0} s: {why}")))
    }

    pub(crate) fn seconds_since_good_refresh(&self) -> f64 {
        self.trouble().good.elapsed().as_secs_f64()
    }

    /// The error of the last refresh, and for how many seconds refreshes have failed.
    pub(crate) fn failing_refresh(&self) -> Option<(String, f64)> {
        let trouble = self.trouble();
        let (since, why) = trouble.refresh.as_ref()?;
        Some((why.clone(), since.elapsed().as_secs_f64()))
    }

    /// The reason why the server should receive no requests.
    pub(crate) fn fault(&self) -> Option<Fault> {
        if self.draining.load(Ordering::Relaxed) {
            return Some(("draining", "the server is shutting down".into()));
        }
        let trouble = self.trouble();
        if let Some((_, damage)) = &trouble.damage {
            return Some(("store-damaged", damage.clone()));
        }
        if !self.started.load(Ordering::Acquire) {
            return Some(("warming", "the store is being read into memory".into()));
        }
        if self.replaced.load(Ordering::Relaxed) {
            drop(trouble);
            return self.writing_fault();
        }
        match &trouble.refresh {
            Some((since, why)) if since.elapsed() >= self.stale_after => {
                let seconds = since.elapsed().as_secs();
                Some(("refresh-failing", format!("refresh has failed for {seconds} s: {why}")))
            }
            _ => None,
        }
    }
}

/// A reason not to be ready: a stable code for programs, and a sentence for people.
pub(crate) type Fault = (&'static str, String);

/// Notes a failure. Returns whether it is the first, or has another reason than the last failure.
fn note_failure(failing: &mut Option<(Instant, String)>, why: &str) -> bool {
    match failing {
        Some((_, before)) if before == why => false,
        Some((_, before)) => {
            *before = why.into();
            true
        }
        none => {
            *none = Some((Instant::now(), why.into()));
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_once_until_its_reason_changes() {
        let health = Health::new(Duration::ZERO);
        let told =
            ["full", "full", "broken", "broken", "full"].map(|why| health.note_bad_commit(why));
        assert_eq!(told, [true, false, true, false, true]);
        assert_eq!(health.failing_commit().unwrap().0, "full");
        assert!(health.note_good_commit() && !health.note_good_commit());
        let told = ["gone", "gone"].map(|why| health.note_bad_refresh(why));
        assert_eq!(told, [true, false]);
    }
}
