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
pub(crate) struct Clock {
    since: Instant,
    pub(crate) report: BuildReport,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Clock { since: Instant::now(), report: BuildReport::default() }
    }

    /// The phase that ends here.
    pub(crate) fn ended(&mut self, phase: Phase) {
        let now = Instant::now();
        self.report.phases.push((phase, now - self.since));
        self.since = now;
    }
}
