//! The report of a build.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use fpstore_base::watch::Phase;

/// What a build did and how long it took.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct BuildReport {
    /// Records taken.
    pub record_count: u64,
    /// Distinct fingerprints among them.
    pub fingerprint_count: u64,
    /// The most bytes that temporary files held at one time.
    pub temporary_len: u64,
    /// The phases and how long they took. Reading takes from the first record to the last.
    pub phases: Vec<(Phase, Duration)>,
    /// Directories beside a new store that look like those of a build that died. They stay, because
    /// their owner or their files do not prove it.
    pub left: Vec<PathBuf>,
}

/// Measures phases that follow each other.
#[derive(Debug, Default)]
pub(super) struct PhaseTimer {
    since: Option<Instant>,
    pub(super) phases: Vec<(Phase, Duration)>,
}

impl PhaseTimer {
    /// Starts the first phase, unless it has started.
    pub(super) fn start(&mut self) {
        self.since.get_or_insert_with(Instant::now);
    }

    /// Ends `phase` and starts the next one.
    pub(super) fn end(&mut self, phase: Phase) {
        let now = Instant::now();
        let since = self.since.replace(now).unwrap_or(now);
        self.phases.push((phase, now - since));
    }
}
