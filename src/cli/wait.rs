//! `--wait`: waiting for another process that writes to the store.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use fpstore::{Observer, Phase, Progress};
use std::ops::ControlFlow;

/// Whether a command that writes waits for its turn.
#[derive(Args, Debug)]
pub(super) struct WaitArgs {
    /// Wait for another process that writes to the store, at most SECONDS if given
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true,
          default_missing_value = "forever", value_parser = duration, hide_short_help = true)]
    wait: Option<Duration>,
}

impl WaitArgs {
    /// Whether the user asked for it.
    pub(super) fn is_given(&self) -> bool {
        self.wait.is_some()
    }

    /// How long to wait.
    pub(super) fn duration(&self) -> Duration {
        self.wait.unwrap_or_default()
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    if text == "forever" {
        return Ok(Duration::MAX);
    }
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=1e9).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("expected a number of seconds".into()),
    }
}

/// Says once that a command waits, so that nobody takes it for stuck.
#[derive(Debug, Default)]
pub(super) struct WaitNotice {
    is_given: AtomicBool,
}

impl WaitNotice {
    /// Whether this progress is the first that should be announced. Locks that are held for an
    /// instant are not worth a line.
    pub(super) fn is_due(&self, progress: &Progress) -> bool {
        progress.phase == Phase::Wait
            && progress.done > 0
            && !self.is_given.swap(true, Ordering::Relaxed)
    }

    pub(super) fn print() {
        message!("waiting for another process that is writing to the store");
    }
}

/// An observer for commands without progress: only says that they wait.
pub(super) fn announcer() -> Observer {
    let notice = WaitNotice::default();
    Observer::new(move |progress| {
        if notice.is_due(&progress) {
            WaitNotice::print();
        }
        ControlFlow::Continue(())
    })
}
