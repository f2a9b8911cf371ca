//! Progress output of long commands, signals that end them, and memory settings of the process.

use std::fmt;
use std::io::{self, IsTerminal};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use fpstore::{Observer, Phase, Progress, Step};
use fpstore_base::waiting::end_waits_on;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
#[cfg(unix)]
use signal_hook::flag;

use super::wait::WaitNotice;
use crate::output::text::{bytes, counted, grouped, note_bar};

/// The exit status after any signal: 128 plus the number of SIGINT, as in shells.
pub(crate) const INTERRUPTED: u8 = 130;

/// The allocator returns freed buffers of at least this many bytes to the system at once.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const GIVEN_BACK_LEN: i32 = 1 << 22;
/// The allocator keeps up to this many free bytes at the end of each heap; each thread can have
/// a heap. Not 0, because then small buffers would often need new pages from the system.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT_LEN: i32 = 2 * GIVEN_BACK_LEN;

/// The form of the progress output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgressForm {
    Not,
    /// A bar that is redrawn, for terminals.
    AsBar,
    /// A line for each phase, and a line every ten seconds, for files and pipes.
    AsLines,
}

/// Shows the progress of a long command, and stops the command after a signal.
pub(crate) struct Monitor {
    interrupted: Arc<AtomicBool>,
    /// Whether observers ignore a signal for the moment, so that the current step completes.
    is_deaf: Arc<AtomicBool>,
    bar: Arc<Bar>,
}

impl Monitor {
    /// A monitor for commands without the option `--progress`. Progress is shown on a terminal,
    /// unless the command is `quiet` or prints its results to the terminal (`prints`).
    pub(crate) fn on_documents(quiet: bool, prints: bool) -> anyhow::Result<Self> {
        let prints_to_terminal = prints && io::stdout().is_terminal();
        let is_shown = io::stderr().is_terminal() && !quiet && !prints_to_terminal;
        Monitor::start(if is_shown { ProgressForm::AsBar } else { ProgressForm::Not })
    }

    /// Installs the signal handlers and starts the progress output.
    pub(crate) fn start(shown: ProgressForm) -> anyhow::Result<Self> {
        let interrupted = Arc::<AtomicBool>::default();
        listen(&interrupted).context("cannot listen to signals")?;
        end_waits_on(interrupted.clone());
        if shown == ProgressForm::AsLines {
            message!("progress: begun");
        }
        Ok(Monitor { interrupted, is_deaf: Arc::default(), bar: Arc::new(Bar::new(shown)) })
    }

    /// An observer that shows all progress, and stops the work after a signal.
    pub(crate) fn observer(&self) -> Observer {
        let (interrupted, bar) = (self.interrupted.clone(), self.bar.clone());
        let is_deaf = self.is_deaf.clone();
        let notice = WaitNotice::default();
        Observer::new(move |progress| {
            if notice.is_due(&progress) {
                bar.bar.suspend(WaitNotice::print);
            }
            bar.show(progress);
            if interrupted.load(Ordering::Relaxed) && !is_deaf.load(Ordering::Relaxed) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })
    }

    /// Like [`Monitor::observer`], but for one of several searches: the shown number of queries
    /// includes `queries`, the number of queries before this search, and no total is shown.
    pub(crate) fn observer_after(&self, queries: u64) -> Observer {
        self.observer().of_part(move |mut progress| {
            if progress.phase == Phase::Search {
                progress.done += queries;
                progress.total = None;
            }
            progress
        })
    }

    /// Returns an error if a signal arrived. For work that has no observer.
    pub(crate) fn check(&self) -> Result<(), fpstore::Error> {
        if self.interrupted.load(Ordering::Relaxed) {
            return Err(fpstore::Error::Interrupted);
        }
        Ok(())
    }

    /// Runs a step that a signal must not interrupt. If one arrives, the next [`Monitor::check`]
    /// reports it.
    pub(crate) fn deaf<T>(&self, step: impl FnOnce() -> T) -> T {
        self.is_deaf.store(true, Ordering::Relaxed);
        let done = step();
        self.is_deaf.store(false, Ordering::Relaxed);
        done
    }

    /// Clears the signal, so that a short last step can run.
    pub(crate) fn forget_signal(&self) {
        self.interrupted.store(false, Ordering::Relaxed);
    }

    /// Hides the bar while `print` writes lines.
    pub(crate) fn suspend(&self, print: impl FnOnce()) {
        self.bar.bar.suspend(print);
    }

    /// Removes the bar, and prints how many records were read before a failure.
    pub(crate) fn report_loss(&self, record_count: u64) {
        self.finish();
        if record_count > 0 {
            message!(
                "{} read before this; nothing was written",
                counted(record_count, "record was", "records were"),
            );
        }
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        self.bar.bar.finish_and_clear();
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Installs the signal handlers: the first signal sets the flag, so that the command stops in an
/// orderly way; a second one ends the process immediately.
#[cfg(unix)]
fn listen(interrupted: &Arc<AtomicBool>) -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let flag = interrupted.clone();
        flag::register_conditional_shutdown(signal, INTERRUPTED.into(), flag)?;
        flag::register(signal, interrupted.clone())?;
    }
    Ok(())
}

/// Installs a handler for events of the Windows console: the first event sets the flag, so that the
/// command stops in an orderly way; a second one ends the process immediately.
#[cfg(windows)]
fn listen(interrupted: &Arc<AtomicBool>) -> io::Result<()> {
    let interrupted = interrupted.clone();
    let asked = move || {
        if interrupted.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED.into());
        }
    };
    ctrlc::set_handler(asked).map_err(io::Error::other)
}

/// Catches SIGXFSZ, so that a write beyond the file size limit is an error, as on a full disk. By
/// default the signal ends the process.
pub(crate) fn survive_file_limits() {
    #[cfg(unix)]
    let _ = flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

/// Makes the allocator of the GNU C library return large freed buffers to the system, such as those
/// of a sort or a merge. By default each thread keeps up to twice its largest freed buffer.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "a function of the C library")]
pub(crate) fn give_back_memory() {
    // glibc raises both thresholds when a large buffer is freed, unless they are set.
    let options = [(libc::M_MMAP_THRESHOLD, GIVEN_BACK_LEN), (libc::M_TRIM_THRESHOLD, KEPT_LEN)];
    for (option, value) in options {
        // SAFETY: `mallopt` takes two integers and no pointers; `main` calls this function before
        // other threads exist. An error is ignored, because it changes nothing.
        unsafe { libc::mallopt(option, value) };
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn give_back_memory() {}

type LastLine = (Phase, Option<Step>, Instant);
type OnBar = (Phase, Option<u64>, Option<Step>);

/// A progress bar that restarts at each phase.
struct Bar {
    bar: ProgressBar,
    width: u16,
    /// The phase, total and step that the bar shows now.
    shown: Mutex<Option<OnBar>>,
    /// If progress is shown as lines: the phase, step and time of the last printed line.
    line: Option<Mutex<Option<LastLine>>>,
}

impl Bar {
    fn new(how: ProgressForm) -> Self {
        let target = match how {
            ProgressForm::AsBar => ProgressDrawTarget::stderr_with_hz(10),
            ProgressForm::Not | ProgressForm::AsLines => ProgressDrawTarget::hidden(),
        };
        let width = columns().unwrap_or(WIDTH_MIN);
        let bar = ProgressBar::with_draw_target(None, target).with_style(style(
            Phase::Read,
            false,
            width,
        ));
        if how == ProgressForm::AsBar {
            note_bar(&bar);
        }
        let line = (how == ProgressForm::AsLines).then(Mutex::default);
        Bar { bar, width, shown: Mutex::new(None), line }
    }

    /// Prints a line if the phase or the step is new, or if the last line is old enough.
    fn show_line(&self, line: &Mutex<Option<LastLine>>, progress: Progress) {
        let Progress { phase, done, total, step, .. } = progress;
        let mut last = line.lock().unwrap_or_else(PoisonError::into_inner);
        let is_recent = |(before, of, at): LastLine| {
            (before, of) == (phase, step) && at.elapsed() < BETWEEN_LINES
        };
        if last.is_some_and(is_recent) {
            return;
        }
        *last = Some((phase, step, Instant::now()));
        let name = match step {
            Some(Step { number, count, .. }) => {
                format!("step {number} of {count}, {}", phase.name())
            }
            None => phase.name().to_string(),
        };
        let count = |count| match phase {
            Phase::Documents | Phase::Copy => bytes(count),
            _ => grouped(count),
        };
        match (phase, total.filter(|total| *total > 0)) {
            (Phase::Wait, _) | (Phase::Join, None) => message!("progress: {name}"),
            (Phase::Join, Some(total)) => {
                message!("progress: {name} {} %", 100 * done.min(total) / total);
            }
            (_, Some(total)) => {
                let percent = 100 * done.min(total) / total;
                message!("progress: {name} {percent} %, {} of {}", count(done), count(total));
            }
            (_, None) => message!("progress: {name}, {}", count(done)),
        }
    }

    fn show(&self, progress: Progress) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let phase = shown.map(|(phase, ..)| phase);
        // While documents are read, the bar counts bytes, whose total is known, not records.
        if (phase, progress.phase) == (Some(Phase::Documents), Phase::Read) {
            return;
        }
        // The total is compared, too: for a join it becomes known only during the phase.
        let now = (progress.phase, progress.total, progress.step);
        if *shown != Some(now) {
            *shown = Some(now);
            if phase != Some(progress.phase) {
                self.bar.reset();
            }
            self.bar.set_style(style(progress.phase, progress.total.is_some(), self.width));
            self.bar.set_message(match progress.step {
                Some(Step { number, count, .. }) => {
                    format!("{number}/{count} {}", progress.phase.name())
                }
                None => progress.phase.name().into(),
            });
            match progress.total {
                Some(total) => self.bar.set_length(total),
                None => self.bar.unset_length(),
            }
        }
        drop(shown);
        self.bar.set_position(progress.done);
        if let Some(line) = &self.line {
            self.show_line(line, progress);
        }
    }
}

/// The width of the terminal at standard error, in columns.
fn columns() -> Option<u16> {
    #[cfg(unix)]
    {
        let size = rustix::termios::tcgetwinsize(io::stderr()).ok()?;
        Some(size.ws_col).filter(|&columns| columns > 0)
    }
    #[cfg(not(unix))]
    None
}

/// The minimum time between two lines of the same phase.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

/// The width of the longest form of the bar, in columns.
const WIDTH_MIN: u16 = 80;

fn style(phase: Phase, has_total: bool, width: u16) -> ProgressStyle {
    let template = match (phase, has_total) {
        // On a narrow terminal a shorter form: a line that wraps cannot be removed completely.
        (_, true) if width < WIDTH_MIN => "{msg:12} {percent:>3} %",
        (_, false) if width < WIDTH_MIN => "{msg:12} {spinner}",
        (Phase::Documents | Phase::Copy, true) => {
            "{msg:12} [{bar:24}] {percent:>3} %  {decimal_bytes}  {decimal_bytes_per_sec}  {eta} left"
        }
        (Phase::Documents | Phase::Copy, false) => {
            "{msg:12} {spinner}  {decimal_bytes}  {decimal_bytes_per_sec}  {elapsed}"
        }
        // No count for a join, because its units are not records.
        (Phase::Join, true) => "{msg:12} [{bar:24}] {percent:>3} %  {elapsed}  {eta} left",
        (Phase::Join, false) => "{msg:12} {spinner}  {elapsed}",
        (Phase::Wait, _) => "{msg:12} {spinner}  {elapsed}",
        (_, true) => "{msg:12} [{bar:24}] {percent:>3} %  {human_pos}  {rate}  {eta} left",
        (_, false) => "{msg:12} {spinner}  {human_pos}  {rate}  {elapsed}",
    };
    let style = ProgressStyle::with_template(template).expect("the template is valid");
    let rate = |state: &ProgressState, out: &mut dyn fmt::Write| {
        let _ = write!(out, "{:.2} million/s", state.per_sec() / 1e6);
    };
    style.with_key("rate", rate).progress_chars("=> ").tick_chars("-\\|/-")
}
