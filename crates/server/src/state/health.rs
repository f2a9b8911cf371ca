//! How the server is: what `/readyz` says.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use fpstore::Error;
use fpstore_base::chain;

/// How the server is: what `/readyz` says.
#[derive(Debug)]
pub(crate) struct Health {
    /// Whether the state that is shown was read into memory.
    warm: AtomicBool,
    /// Whether the store was warmed, or was not to be.
    started: AtomicBool,
    draining: AtomicBool,
    ending: AtomicBool,
    stale_after: Duration,
    trouble: Mutex<Trouble>,
}

#[derive(Debug)]
struct Trouble {
    good: Instant,
    /// Since when refreshes fail, and why the last one did.
    refresh: Option<(Instant, String)>,
    /// Since when commits fail, and why the last one did.
    commit: Option<(Instant, String)>,
    /// What is wrong with the state that is shown, and the damaged file if it is known.
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
            stale_after,
            trouble: Mutex::new(trouble),
        }
    }

    fn trouble(&self) -> std::sync::MutexGuard<'_, Trouble> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the store was read into memory, or is not to be.
    pub(crate) fn note_start(&self, is_warm: bool) {
        self.warm.store(is_warm, Ordering::Release);
        self.started.store(true, Ordering::Release);
    }

    /// Notes that the server is to end soon: it should get no more requests.
    pub(crate) fn note_draining(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Notes that the server ends now.
    pub(crate) fn note_end(&self) {
        self.ending.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Relaxed)
    }

    pub(crate) fn is_warm(&self) -> bool {
        self.warm.load(Ordering::Relaxed)
    }

    /// Notes that a search met damage.
    pub(crate) fn note_damage(&self, error: &Error) {
        let path = match error {
            Error::Corrupt { path, .. } => Some(path.clone()),
            _ => None,
        };
        self.trouble().damage = Some((path, chain(error)));
    }

    /// Forgets the damage if its file is in use no more.
    pub(crate) fn forget_damage(&self, is_in_use: impl Fn(&Path) -> bool) {
        let mut trouble = self.trouble();
        let of_file = trouble.damage.as_ref().and_then(|(path, _)| path.as_deref());
        if !of_file.is_some_and(is_in_use) {
            trouble.damage = None;
        }
    }

    /// Returns whether refreshes failed before.
    pub(crate) fn note_good_refresh(&self) -> bool {
        let mut trouble = self.trouble();
        trouble.good = Instant::now();
        trouble.refresh.take().is_some()
    }

    /// Returns whether this is the first failure, or one for another reason.
    pub(crate) fn note_bad_refresh(&self, why: &str) -> bool {
        note_failure(&mut self.trouble().refresh, why)
    }

    /// Returns whether commits failed before.
    pub(crate) fn note_good_commit(&self) -> bool {
        self.trouble().commit.take().is_some()
    }

    /// Returns whether this is the first failure, or one for another reason.
    pub(crate) fn note_bad_commit(&self, why: &str) -> bool {
        note_failure(&mut self.trouble().commit, why)
    }

    /// Why the last commit failed, and for how many seconds commits have failed.
    pub(crate) fn failing_commit(&self) -> Option<(String, f64)> {
        let trouble = self.trouble();
        let (since, why) = trouble.commit.as_ref()?;
        Some((why.clone(), since.elapsed().as_secs_f64()))
    }

    pub(crate) fn seconds_since_good_refresh(&self) -> f64 {
        self.trouble().good.elapsed().as_secs_f64()
    }

    /// Why the last refresh failed, and for how many seconds refreshes have failed.
    pub(crate) fn failing_refresh(&self) -> Option<(String, f64)> {
        let trouble = self.trouble();
        let (since, why) = trouble.refresh.as_ref()?;
        Some((why.clone(), since.elapsed().as_secs_f64()))
    }

    /// Why the server should get no requests: a stable code and a sentence.
    pub(crate) fn fault(&self) -> Option<(&'static str, String)> {
        if self.draining.load(Ordering::Relaxed) {
            return Some(("draining", "the server is ending".into()));
        }
        let trouble = self.trouble();
        if let Some((_, damage)) = &trouble.damage {
            return Some(("store-damaged", damage.clone()));
        }
        if !self.started.load(Ordering::Acquire) {
            return Some(("warming", "the store is being read into memory".into()));
        }
        if let Some((since, why)) = &trouble.commit {
            let seconds = since.elapsed().as_secs();
            return Some((
                "commits-failing",
                format!("commits have failed for {seconds} s: {why}"),
            ));
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

/// Notes a failure. Returns whether it is the first one, or one for another reason.
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
