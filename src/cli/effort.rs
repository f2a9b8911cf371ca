//! Long work on the command line: what it may take, how far it is, and how it is interrupted.

use std::fmt;
use std::io::{self, IsTerminal};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use bytesize::ByteSize;
use clap::{Args, ValueEnum};
use fpstore::{Observer, Phase, Progress, WriterOptions};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::output::counted;

/// The status of a program that was interrupted, as shells count it: 128 and the signal.
pub(super) const INTERRUPTED: u8 = 130;

/// What a long command may take.
#[derive(Args, Debug)]
pub(super) struct EffortArgs {
    /// Memory for all of it, such as 512MiB or 4GB; a quarter of the machine's if not given
    #[arg(long, value_name = "SIZE")]
    pub(super) memory: Option<ByteSize>,
    /// Threads; one for each core if not given
    #[arg(long, value_name = "N", env = "FPSTORE_THREADS")]
    pub(super) threads: Option<NonZeroUsize>,
    /// Directory for temporary files; if not given, beside or in the store that is written, else the system's
    #[arg(long, value_name = "DIR")]
    pub(super) temp_dir: Option<PathBuf>,
    /// Begin even if the disk seems too small
    #[arg(long)]
    pub(super) skip_space_check: bool,
    /// When to show progress on standard error; auto is on a terminal
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto")]
    progress: ProgressArg,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ProgressArg {
    Auto,
    Always,
    Never,
}

/// Long work under way.
pub(super) struct Work {
    interrupted: Arc<AtomicBool>,
    bar: Arc<Bar>,
}

impl EffortArgs {
    /// Has a writer keep to this, and be interrupted.
    pub(super) fn limit(&self, options: &mut WriterOptions, work: &Work) {
        options.memory = self.memory.map(|memory| memory.as_u64());
        options.threads = self.threads.map(usize::from);
        options.temp_dir.clone_from(&self.temp_dir);
        options.skip_space_check = self.skip_space_check;
        options.observer = Some(work.observer());
    }
}

impl Work {
    /// Begins to listen to signals and to show progress.
    pub(super) fn start(args: &EffortArgs, quiet: bool) -> anyhow::Result<Self> {
        Work::begin(match args.progress {
            ProgressArg::Auto => io::stderr().is_terminal() && !quiet,
            ProgressArg::Always => true,
            ProgressArg::Never => false,
        })
    }

    /// The same where nothing was said about it, and lines may go to the terminal.
    pub(super) fn on_documents(quiet: bool, prints: bool) -> anyhow::Result<Self> {
        let disturbs = prints && io::stdout().is_terminal();
        Work::begin(io::stderr().is_terminal() && !quiet && !disturbs)
    }

    fn begin(shown: bool) -> anyhow::Result<Self> {
        let interrupted = Arc::<AtomicBool>::default();
        let asked = interrupted.clone();
        // The first signal lets the work tidy up; whoever asks again does not want to wait.
        ctrlc::set_handler(move || {
            if asked.swap(true, Ordering::Relaxed) {
                std::process::exit(INTERRUPTED.into());
            }
        })
        .context("cannot listen to signals")?;
        Ok(Work { interrupted, bar: Arc::new(Bar::new(shown)) })
    }

    /// Who is to be told of the progress.
    pub(super) fn observer(&self) -> Observer {
        self.observer_of(|progress| progress)
    }

    /// Who is to be told of the progress of one search of many, so many queries after the first of
    /// them; how many there will be is not known.
    pub(super) fn observer_after(&self, queries: u64) -> Observer {
        self.observer_of(move |mut progress| {
            if progress.phase == Phase::Search {
                progress.done += queries;
                progress.total = None;
            }
            progress
        })
    }

    fn observer_of(
        &self,
        shown: impl Fn(Progress) -> Progress + Send + Sync + 'static,
    ) -> Observer {
        let (interrupted, bar) = (self.interrupted.clone(), self.bar.clone());
        Observer::new(move |progress| {
            bar.show(shown(progress));
            match interrupted.load(Ordering::Relaxed) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })
    }

    /// Asks whether to go on, where there is nothing to tell.
    pub(super) fn check(&self) -> Result<(), fpstore::Error> {
        match self.interrupted.load(Ordering::Relaxed) {
            true => Err(fpstore::Error::Interrupted),
            false => Ok(()),
        }
    }

    /// Goes on whatever was asked, for a last step that is short.
    pub(super) fn deafen(&self) {
        self.interrupted.store(false, Ordering::Relaxed);
    }

    /// Prints lines without disturbing the bar.
    pub(super) fn aside(&self, print: impl FnOnce()) {
        self.bar.bar.suspend(print);
    }

    /// Says how far reading came before it failed.
    pub(super) fn lost(&self, record_count: u64) {
        self.done();
        if record_count > 0 {
            say!(
                "fpstore: {} read before this; nothing was written",
                counted(record_count, "record was", "records were"),
            );
        }
    }

    /// Takes the bar away.
    pub(super) fn done(&self) {
        self.bar.bar.finish_and_clear();
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.done();
    }
}

/// A progress bar that begins anew with each phase.
struct Bar {
    bar: ProgressBar,
    phase: Mutex<Option<Phase>>,
}

impl Bar {
    fn new(shown: bool) -> Self {
        let target = match shown {
            true => ProgressDrawTarget::stderr_with_hz(10),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(None, target).with_style(style(Phase::Read, false));
        Bar { bar, phase: Mutex::new(None) }
    }

    fn show(&self, progress: Progress) {
        let mut phase = self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        // The records that documents become are counted too, but only of bytes is it known how many there are.
        if (*phase, progress.phase) == (Some(Phase::Documents), Phase::Read) {
            return;
        }
        if *phase != Some(progress.phase) {
            *phase = Some(progress.phase);
            self.bar.reset();
            self.bar.set_style(style(progress.phase, progress.total.is_some()));
            self.bar.set_message(progress.phase.name());
            match progress.total {
                Some(total) => self.bar.set_length(total),
                None => self.bar.unset_length(),
            }
        }
        drop(phase);
        self.bar.set_position(progress.done);
    }
}

fn style(phase: Phase, has_total: bool) -> ProgressStyle {
    let template = match (phase, has_total) {
        (Phase::Documents, true) => {
            "{msg:8} [{bar:30}] {percent:>3} %  {decimal_bytes}  {decimal_bytes_per_sec}  {eta} left"
        }
        (Phase::Documents, false) => {
            "{msg:8} {spinner}  {decimal_bytes}  {decimal_bytes_per_sec}  {elapsed}"
        }
        (_, true) => "{msg:8} [{bar:30}] {percent:>3} %  {human_pos}  {rate}  {eta} left",
        (_, false) => "{msg:8} {spinner}  {human_pos}  {rate}  {elapsed}",
    };
    let style = ProgressStyle::with_template(template).expect("the template is valid");
    let rate = |state: &ProgressState, out: &mut dyn fmt::Write| {
        let _ = write!(out, "{:.2} million/s", state.per_sec() / 1e6);
    };
    style.with_key("rate", rate).progress_chars("=> ").tick_chars("-\\|/-")
}
