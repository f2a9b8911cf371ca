//! What a build did.

use std::time::{Duration, Instant};

use crate::watch::Phase;

/// What a build did, for people who want to know.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct BuildReport {
    /// Records taken.
    pub record_count: u64,
    /// Distinct fingerprints among them.
    pub fingerprint_count: u64,
    /// Bytes of temporary files that were held at a time, at most.
    pub temporary_len: u64,
    /// The phases and how long they took. Reading takes from the first record to the last.
    pub phases: Vec<(Phase, Duration)>,
}

/// Notes the times of phases.
#[derive(Debug)]
pub(super) struct Clock {
    since: Instant,
    pub(super) report: BuildReport,
}

impl Clock {
    pub(super) fn start() -> Self {
        Clock { since: Instant::now(), report: BuildReport::default() }
    }

    /// The phase that ends here.
    pub(super) fn ended(&mut self, phase: Phase) {
        let now = Instant::now();
        self.report.phases.push((phase, now - self.since));
        self.since = now;
    }
}
