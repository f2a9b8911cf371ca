//! The options of long commands: memory, threads, temporary files, progress.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use bytesize::ByteSize;
use clap::{Args, ValueEnum};
use fpstore::WriterOptions;
use fpstore::join::JoinOptions;

use super::command::variable;
use super::monitor::Monitor;

const THREADS_MAX: usize = 1024;
const THREADS_VARIABLE: &str = "FPSTORE_THREADS";

/// The resources that a long command may use.
#[derive(Args, Clone, Debug)]
pub(super) struct ResourceArgs {
    /// Memory to use, such as 512MiB or 4GB [default: a quarter of the machine's]
    #[arg(long, value_name = "SIZE")]
    pub(super) memory: Option<ByteSize>,
    #[command(flatten)]
    threads: ThreadArgs,
    /// Directory for temporary files [default: beside or in the store that is written, else the
    /// system's]
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub(super) temp_dir: Option<PathBuf>,
    /// Start even if the disk seems too small
    #[arg(long, hide_short_help = true)]
    pub(super) skip_space_check: bool,
    #[command(flatten)]
    progress: ProgressArgs,
}

/// How many threads work.
#[derive(Args, Clone, Debug)]
pub(super) struct ThreadArgs {
    /// Number of threads [default: $FPSTORE_THREADS, else one for each core]
    #[arg(long, value_name = "N", value_parser = thread_count)]
    threads: Option<usize>,
}

impl ThreadArgs {
    /// The number of threads, if the user or the environment names one.
    pub(super) fn count(&self) -> anyhow::Result<Option<usize>> {
        match (self.threads, variable(THREADS_VARIABLE)) {
            (None, Some(text)) => {
                let count = thread_count(&text.to_string_lossy());
                Ok(Some(count.map_err(|reason| anyhow!("{THREADS_VARIABLE}: {reason}"))?))
            }
            (threads, _) => Ok(threads),
        }
    }

    /// The limits of reading documents with these threads.
    pub(super) fn reading(&self) -> anyhow::Result<ReadingLimits> {
        Ok(ReadingLimits { memory: None, threads: self.count()? })
    }
}

/// What reading documents may take.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReadingLimits {
    /// That of the whole command, if the user limits it.
    pub(super) memory: Option<ByteSize>,
    pub(super) threads: Option<usize>,
}

/// Whether progress is shown.
#[derive(Args, Clone, Debug)]
pub(super) struct ProgressArgs {
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

/// A number of threads. More than these are of no use, and the system may refuse them.
fn thread_count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count @ 1..=THREADS_MAX) => Ok(count),
        _ => Err(format!("expected a number of threads from 1 to {THREADS_MAX}")),
    }
}

/// Bytes for each second, such as `20MB/s` or `20MB`.
pub(super) fn rate(text: &str) -> Result<u64, String> {
    let size: ByteSize = text.strip_suffix("/s").unwrap_or(text).parse()?;
    match size.as_u64() {
        0 => Err("expected a rate above 0".into()),
        rate => Ok(rate),
    }
}

impl ProgressArgs {
    /// Starts to show progress, as `--progress` says, and to handle signals.
    pub(super) fn monitor(&self, quiet: bool) -> anyhow::Result<Monitor> {
        Monitor::start(match self.progress {
            ProgressArg::Auto => io::stderr().is_terminal() && !quiet,
            ProgressArg::Always => true,
            ProgressArg::Never => false,
        })
    }
}

impl ResourceArgs {
    /// The number of threads, if the user or the environment names one.
    pub(super) fn threads(&self) -> anyhow::Result<Option<usize>> {
        self.threads.count()
    }

    /// What reading documents may take.
    pub(super) fn reading(&self) -> anyhow::Result<ReadingLimits> {
        Ok(ReadingLimits { memory: self.memory, threads: self.threads()? })
    }

    /// The directory for temporary files of commands that write no store.
    pub(super) fn temp_dir(&self) -> PathBuf {
        self.temp_dir.clone().unwrap_or_else(std::env::temp_dir)
    }

    /// The same with temporary files in `folder`, unless the user names another one.
    pub(super) fn beside(&self, folder: &Path) -> Self {
        let temp_dir = self.temp_dir.clone().or_else(|| Some(folder.into()));
        ResourceArgs { temp_dir, ..self.clone() }
    }

    /// As [`ProgressArgs::monitor`].
    pub(super) fn monitor(&self, quiet: bool) -> anyhow::Result<Monitor> {
        self.progress.monitor(quiet)
    }

    /// Limits a writer to these resources; `monitor` shows its progress and may interrupt it.
    pub(super) fn limit(
        &self,
        options: WriterOptions,
        monitor: &Monitor,
    ) -> anyhow::Result<WriterOptions> {
        Ok(options
            .memory(self.memory.map(|memory| memory.as_u64()))
            .threads(self.threads()?)
            .temp_dir(self.temp_dir.clone())
            .skip_space_check(self.skip_space_check)
            .observer(monitor.observer()))
    }

    /// A join within `k` bits that is limited to these resources; `monitor` shows its progress and
    /// may interrupt it.
    pub(super) fn join_options(&self, k: u32, monitor: &Monitor) -> anyhow::Result<JoinOptions> {
        Ok(JoinOptions::new(k)
            .memory(self.memory.map(|memory| memory.as_u64()))
            .threads(self.threads()?)
            .temp_dir(self.temp_dir.clone())
            .observer(monitor.observer()))
    }
}
