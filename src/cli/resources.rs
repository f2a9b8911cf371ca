//! The options of long commands: memory, threads, temporary files, progress.

use std::io::{self, IsTerminal};
use std::num::NonZeroUsize;
use std::path::PathBuf;

use bytesize::ByteSize;
use clap::{Args, ValueEnum};
use fpstore::WriterOptions;
use fpstore::join::JoinOptions;

use super::monitor::Monitor;

/// The resources that a long command may use.
#[derive(Args, Debug)]
pub(super) struct ResourceArgs {
    /// Memory to use, such as 512MiB or 4GB [default: a quarter of the machine's]
    #[arg(long, value_name = "SIZE")]
    pub(super) memory: Option<ByteSize>,
    /// Number of threads [default: one for each core]
    #[arg(long, value_name = "N", env = "FPSTORE_THREADS")]
    pub(super) threads: Option<NonZeroUsize>,
    /// Directory for temporary files [default: beside or in the store that is written, else the
    /// system's]
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub(super) temp_dir: Option<PathBuf>,
    /// Start even if the disk seems too small
    #[arg(long, hide_short_help = true)]
    pub(super) skip_space_check: bool,
    /// When to show progress on standard error; auto: if it is a terminal
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto", hide_short_help = true)]
    progress: ProgressArg,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ProgressArg {
    Auto,
    Always,
    Never,
}

impl ResourceArgs {
    /// Starts to show progress, as `--progress` says, and to handle signals.
    pub(super) fn monitor(&self, quiet: bool) -> anyhow::Result<Monitor> {
        Monitor::start(match self.progress {
            ProgressArg::Auto => io::stderr().is_terminal() && !quiet,
            ProgressArg::Always => true,
            ProgressArg::Never => false,
        })
    }

    /// Limits a writer to these resources; `monitor` shows its progress and may interrupt it.
    pub(super) fn limit(&self, options: WriterOptions, monitor: &Monitor) -> WriterOptions {
        options
            .memory(self.memory.map(|memory| memory.as_u64()))
            .threads(self.threads.map(usize::from))
            .temp_dir(self.temp_dir.clone())
            .skip_space_check(self.skip_space_check)
            .observer(monitor.observer())
    }

    /// A join within `k` bits that is limited to these resources; `monitor` shows its progress and
    /// may interrupt it.
    pub(super) fn join_options(&self, k: u32, monitor: &Monitor) -> JoinOptions {
        JoinOptions::new(k)
            .memory(self.memory.map(|memory| memory.as_u64()))
            .threads(self.threads.map(usize::from))
            .temp_dir(self.temp_dir.clone())
            .observer(monitor.observer())
    }
}
