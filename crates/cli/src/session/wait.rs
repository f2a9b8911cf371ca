//! `--wait`: waiting for another process that writes to the store.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use fpstore::{Observer, Phase, Progress, Waiting};

/// Whether a command that writes waits for its turn.
#[derive(Args, Debug)]
pub(crate) struct WaitArgs {
    /// Wait for another process that writes to the store, at most SECONDS if given
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true,
          default_missing_value = "forever", hide_short_help = true)]
    wait: Option<Waiting>,
}

impl WaitArgs {
    /// Whether the user set the option.
    pub(crate) fn is_given(&self) -> bool {
        self.wait.is_some()
    }

    /// The maximum time to wait.
    pub(crate) fn duration(&self) -> Duration {
        self.wait.unwrap_or_default().most()
    }
}

/// Prints once that a command is waiting.
#[derive(Debug, Default)]
pub(crate) struct WaitNotice {
    is_given: AtomicBool,
}

impl WaitNotice {
    /// Whether this progress is the first that should be printed. Locks that are held only for an
    /// instant are not reported.
    pub(crate) fn is_due(&self, progress: &Progress) -> bool {
        progress.phase == Phase::Wait
            && progress.done > 0
            && !self.is_given.swap(true, Ordering::Relaxed)
    }

    pub(crate) fn print() {
        message!("waiting for another process that is writing to the store");
    }
}

/// An observer for commands without progress. It only reports waiting.
pub(crate) fn announcer() -> Observer {
    let notice = WaitNotice::default();
    Observer::new(move |progress| {
        if notice.is_due(&progress) {
            WaitNotice::print();
        }
        ControlFlow::Continue(())
    })
}
