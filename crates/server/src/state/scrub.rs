//! Scrubbing: reads the whole store repeatedly while it is served, to find disk damage before a
//! query meets it.
//!
//! One thread with a low priority verifies the newest generation at a bounded rate. It counts and
//! logs faults; answers do not depend on it, because every byte is used only after its checksum was
//! verified.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::lanes::step_back;
use super::live_store::LiveStore;
use crate::protocol::failure::chain;
use fpstore::{Error, VerifyOptions, verify};
use fpstore_base::watch::Observer;

/// The largest number of faults of a pass that are logged; others are counted.
const LOGGED_MAX: usize = 10;

/// The rate of scrubbing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScrubOptions {
    /// The time between the starts of two passes; the first starts with the server. After a longer
    /// pass the next pass starts at once.
    pub every: Duration,
    /// The largest number of bytes read in a second. A pass reads each file four times, as
    /// [`verify`](fpstore::verify()) does.
    pub max_rate: u64,
}

/// Starts scrubbing, until the returned end of the channel is dropped.
pub(super) fn start(live: &Arc<LiveStore>, options: ScrubOptions) -> std::io::Result<Sender<()>> {
    let (end, ends) = channel::<()>();
    let live = Arc::clone(live);
    std::thread::Builder::new().name("scrub".into()).spawn(move || {
        step_back();
        let ends = Arc::new(Mutex::new(ends));
        loop {
            let start = Instant::now();
            pass(&live, options.max_rate, &ends);
            let pause = options.every.saturating_sub(start.elapsed());
            let ends = ends.lock().unwrap_or_else(PoisonError::into_inner);
            if ends.recv_timeout(pause) == Err(RecvTimeoutError::Disconnected) {
                return;
            }
        }
    })?;
    Ok(end)
}

/// Verifies the newest generation once.
fn pass(live: &Arc<LiveStore>, max_rate: u64, ends: &Arc<Mutex<Receiver<()>>>) {
    let (counted, seen, ends) = (Arc::clone(live), AtomicU64::new(0), Arc::clone(ends));
    let observer = Observer::new(move |progress| {
        let before = seen.swap(progress.done, Relaxed);
        counted.scrubbed.bytes.fetch_add(progress.done.saturating_sub(before), Relaxed);
        let ends = ends.lock().unwrap_or_else(PoisonError::into_inner);
        match ends.try_recv() {
            Err(TryRecvError::Disconnected) => std::ops::ControlFlow::Break(()),
            _ => std::ops::ControlFlow::Continue(()),
        }
    });
    let options = VerifyOptions::default().samples(0).max_rate(Some(max_rate)).observer(observer);
    match verify(&live.path, &options) {
        Ok(report) => {
            live.scrubbed.note(&report);
            for fault in report.faults.iter().take(LOGGED_MAX) {
                live.log(format_args!("scrub: {}", chain(fault)));
            }
            if let count @ 1.. = report.faults.len() {
                live.log(format_args!(
                    "scrub: faults found: {count}; 'fpstore verify -s {}' lists all of them with \
                     remedies",
                    live.path.display()
                ));
            }
        }
        // The server is ending.
        Err(Error::Interrupted) => {}
        Err(error) => {
            live.scrubbed.failures.fetch_add(1, Relaxed);
            live.log(format_args!("the scrub failed: {}", chain(&error)));
        }
    }
}
