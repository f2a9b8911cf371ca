//! The option `--wait`: waits while another process writes to the store.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use fpstore::{Observer, Phase, Progress, Waiting};

/// The option for how long a command waits while another process writes to the store.
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

/// Ensures that a command prints only once that it is waiting.
#[derive(Debug, Default)]
pub(crate) struct WaitNotice {
    is_given: AtomicBool,
}

impl WaitNotice {
    /// Whether to print the notice now: at the first report of a wait that already lasts a moment.
    /// Very short waits are not reported.
    pub(crate) fn is_due(&self, progress: &Progress) -> bool {
        progress.phase == Phase::Wait
            && progress.done > 0
            && !self.is_given.swap(true, Ordering::Relaxed)
    }

    pub(crate) fn print() {
        message!("waiting for another process that is writing to the store");
    }
}

/// An observer for commands without progress output: it only prints that the command is waiting.
pub(crate) fn announcer() -> Observer {
    let notice = WaitNotice::default();
    Observer::new(move |progress| {
        if notice.is_due(&progress) {
            WaitNotice::print();
        }
        ControlFlow::Continue(())
    })
}
