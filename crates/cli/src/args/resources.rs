//! The options of commands that may run for a long time: memory, threads, temporary files,
//! progress.

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use anyhow::anyhow;
use bytesize::ByteSize;
use clap::{Args, ValueEnum};
use fpstore::join::JoinOptions;
use fpstore::options::THREADS;
use fpstore::{Resources, WriterOptions};

use crate::session::command::variable;
use crate::session::monitor::{Monitor, ProgressForm};
use crate::session::wait::WaitArgs;

const THREADS_VARIABLE: &str = "FPSTORE_THREADS";

/// The resources that a long command may use.
#[derive(Args, Clone, Debug)]
pub(crate) struct ResourceArgs {
    /// Memory to use, such as 512MiB or 4GB [default: a quarter of all memory]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<ByteSize>,
    #[command(flatten)]
    threads: ThreadArgs,
    /// Directory for temporary files [default: next to or in the written store, else the system
    /// default]
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub(crate) temp_dir: Option<PathBuf>,
    /// Start even if the disk seems too small
    #[arg(long, hide_short_help = true)]
    pub(crate) skip_space_check: bool,
    #[command(flatten)]
    progress: ProgressArgs,
}

/// The option that suppresses messages.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct QuietArgs {
    /// Print only errors
    #[arg(short, long)]
    quiet: bool,
}

impl QuietArgs {
    pub(crate) fn is_on(self) -> bool {
        self.quiet
    }
}

/// The options of commands that write to a store.
#[derive(Args, Debug)]
pub(crate) struct WriteArgs {
    #[command(flatten)]
    pub(crate) wait: WaitArgs,
    #[command(flatten)]
    pub(crate) resources: ResourceArgs,
    #[command(flatten)]
    quiet: QuietArgs,
}

impl WriteArgs {
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet.is_on()
    }

    /// As [`ProgressArgs::monitor`].
    pub(crate) fn monitor(&self) -> anyhow::Result<Monitor> {
        self.resources.monitor(self.is_quiet())
    }

    /// Sets in `options` how long a writer waits for other writers, and limits its resources.
    /// `monitor` shows the progress of the writer and may interrupt it.
    pub(crate) fn limit(
        &self,
        options: WriterOptions,
        monitor: &Monitor,
    ) -> anyhow::Result<WriterOptions> {
        let options =
            options.wait(self.wait.duration()).skip_space_check(self.resources.skip_space_check);
        Ok(options.resources(self.resources.given(monitor)?))
    }
}

/// The option for the number of threads.
#[derive(Args, Clone, Debug)]
pub(crate) struct ThreadArgs {
    /// Number of threads [default: $FPSTORE_THREADS, else one for each core]
    #[arg(long, value_name = "N", value_parser = thread_count)]
    threads: Option<usize>,
}

impl ThreadArgs {
    /// The number of threads, if the user or the environment sets one.
    pub(crate) fn count(&self) -> anyhow::Result<Option<usize>> {
        match (self.threads, variable(THREADS_VARIABLE)) {
            (None, Some(text)) => {
                let count = thread_count(&text.to_string_lossy());
                Ok(Some(count.map_err(|reason| anyhow!("{THREADS_VARIABLE}: {reason}"))?))
            }
            (threads, _) => Ok(threads),
        }
    }

    /// The limits for reading documents: this number of threads, and the default memory.
    pub(crate) fn reading(&self) -> anyhow::Result<ReadingLimits> {
        Ok(ReadingLimits { memory: None, threads: self.count()? })
    }
}

/// Limits of memory and threads for reading documents.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReadingLimits {
    /// The memory that the whole command may use, if the user limits it.
    pub(crate) memory: Option<ByteSize>,
    pub(crate) threads: Option<usize>,
}

/// The option that sets when progress is shown.
#[derive(Args, Clone, Debug)]
pub(crate) struct ProgressArgs {
    /// When to show progress on standard error; auto: on a terminal
    ///
    /// If standard error is a file or a pipe, 'always' prints a line for each phase, and a line
    /// every ten seconds.
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto", hide_short_help = true)]
    progress: ProgressArg,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ProgressArg {
    Auto,
    Always,
    Never,
}

/// Parses a number of threads.
fn thread_count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count) if THREADS.check(count).is_ok() => Ok(count),
        _ => Err(format!("expected a number of threads from {} to {}", THREADS.min, THREADS.max)),
    }
}

/// Parses a number of bytes per second, such as `20MB/s` or `20MB`.
pub(crate) fn rate(text: &str) -> Result<u64, String> {
    let size: ByteSize = text.strip_suffix("/s").unwrap_or(text).parse()?;
    match size.as_u64() {
        0 => Err("expected a rate above 0".into()),
        rate => Ok(rate),
    }
}

impl ProgressArgs {
    /// Installs the signal handlers, and starts the progress output according to `--progress`.
    pub(crate) fn monitor(&self, quiet: bool) -> anyhow::Result<Monitor> {
        self.monitor_beside(quiet, false)
    }

    /// Like [`ProgressArgs::monitor`], but without a progress bar if the command prints results
    /// (`prints`) to a terminal, because the bar would overwrite them.
    pub(crate) fn monitor_beside(&self, quiet: bool, prints: bool) -> anyhow::Result<Monitor> {
        let is_terminal = io::stderr().is_terminal();
        let is_free = is_terminal && !quiet && !(prints && io::stdout().is_terminal());
        Monitor::start(match self.progress {
            ProgressArg::Auto if is_free => ProgressForm::AsBar,
            ProgressArg::Always if is_terminal => ProgressForm::AsBar,
            ProgressArg::Always => ProgressForm::AsLines,
            ProgressArg::Auto | ProgressArg::Never => ProgressForm::Not,
        })
    }
}

impl ResourceArgs {
    /// The number of threads, if the user or the environment sets one.
    pub(crate) fn threads(&self) -> anyhow::Result<Option<usize>> {
        self.threads.count()
    }

    /// The limits for reading documents.
    pub(crate) fn reading(&self) -> anyhow::Result<ReadingLimits> {
        Ok(ReadingLimits { memory: self.memory, threads: self.threads()? })
    }

    /// The directory for temporary files of commands that do not write a store.
    pub(crate) fn temp_dir(&self) -> PathBuf {
        self.temp_dir.clone().unwrap_or_else(std::env::temp_dir)
    }

    /// As [`ProgressArgs::monitor`].
    pub(crate) fn monitor(&self, quiet: bool) -> anyhow::Result<Monitor> {
        self.progress.monitor(quiet)
    }

    /// Converts the options to the resources of the library. `monitor` shows the progress and may
    /// interrupt the work.
    pub(crate) fn given(&self, monitor: &Monitor) -> anyhow::Result<Resources> {
        Ok(Resources {
            memory: self.memory.map(|memory| memory.as_u64()),
            threads: self.threads()?,
            temp_dir: self.temp_dir.clone(),
            observer: Some(monitor.observer()),
        })
    }

    /// The options of a join within `k` bits with these resources. `monitor` shows its progress and
    /// may interrupt it.
    pub(crate) fn join_options(&self, k: u32, monitor: &Monitor) -> anyhow::Result<JoinOptions> {
        Ok(JoinOptions::new(k).resources(self.given(monitor)?))
    }
}
