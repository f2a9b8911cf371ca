//! What scrubs have counted and found, for the metrics and for `/readyz`.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use crate::protocol::failure::chain;
use fpstore::VerifyReport;

/// What passes have counted and found.
#[derive(Debug, Default)]
pub(crate) struct Scrubbed {
    /// Passes that were done.
    pub(crate) passes: AtomicU64,
    /// Passes that could not be done.
    pub(crate) failures: AtomicU64,
    /// Bytes that were read, those read again, too.
    pub(crate) bytes: AtomicU64,
    /// Pages whose checksums were compared, in passes that were done.
    pub(crate) pages: AtomicU64,
    /// The faults that the last pass found.
    pub(crate) faults: AtomicU64,
    /// When the last pass was done, in seconds since 1970; 0 if none was.
    pub(crate) last_pass: AtomicU64,
    /// The first fault of the last pass.
    first_fault: Mutex<Option<String>>,
}

impl Scrubbed {
    /// The number of faults of the last pass, and the first of them, if it found any.
    pub(crate) fn found(&self) -> Option<(u64, String)> {
        let first = self.first_fault.lock().unwrap_or_else(PoisonError::into_inner);
        Some((self.faults.load(Relaxed), first.clone()?))
    }

    /// Notes a pass that was done.
    pub(super) fn note(&self, report: &VerifyReport) {
        self.pages.fetch_add(report.page_count, Relaxed);
        self.faults.store(report.faults.len() as u64, Relaxed);
        let first = report.faults.first().map(|fault| chain(fault));
        *self.first_fault.lock().unwrap_or_else(PoisonError::into_inner) = first;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        self.last_pass.store(now.map_or(0, |since| since.as_secs()), Relaxed);
        self.passes.fetch_add(1, Relaxed);
    }
}
