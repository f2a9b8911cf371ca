//! Runs long work on another thread, while the calling thread handles signals and progress.
//!
//! Only the calling thread attaches to the interpreter, at most every tenth of a second, to handle
//! signals, so that Ctrl-C ends the work, and to report progress. The working threads only read a
//! flag, so a busy Python thread does not slow them down.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use fpstore::{Observer, Progress};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyBool;

use crate::errors::{Failure, internal_error, panic_message};
use crate::later::raise_after;
use crate::tuple_class::{TYPES, answer};

/// The interval of checking signals and reporting progress.
pub(crate) const TICK: Duration = Duration::from_millis(100);

/// State shared by the working threads and the calling thread.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// Set to stop the work.
    pub(crate) stop: Arc<AtomicBool>,
    last: Mutex<Option<Progress>>,
    done: Mutex<Done>,
}

impl Shared {
    /// An observer that records the progress, and stops the work after `stop` was set.
    pub(crate) fn observer(self: &Arc<Self>) -> Observer {
        let shared = Arc::clone(self);
        Observer::new(move |progress| {
            *shared.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress);
            if shared.is_stopped() {
                std::ops::ControlFlow::Break(())
            } else {
                std::ops::ControlFlow::Continue(())
            }
        })
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Fails if the work is to stop.
    pub(crate) fn check(&self) -> fpstore::Result<()> {
        if self.is_stopped() { Err(fpstore::Error::Interrupted) } else { Ok(()) }
    }

    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    fn take(&self) -> Option<Progress> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn done(&self) -> MutexGuard<'_, Done> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The progress of a call that was reported so far.
#[derive(Debug, Default)]
struct Done {
    /// The last reported progress.
    last: Option<Progress>,
    /// The number of earlier phases in the current step.
    phases: u32,
    /// The fraction at the beginning of the current phase.
    start: f64,
    fraction: f64,
}

impl Done {
    /// Adds a progress report of a call with about `phases` phases in each step: a phase gets an
    /// equal part of the rest of its step. The fraction never decreases.
    fn add(&mut self, progress: Progress, phases: u32) {
        let (number, steps) = progress.step.map_or((1, 1), |it| (it.number, it.count));
        let step = |of: &Progress| of.step.map(|it| it.number);
        match &self.last {
            Some(last) if step(last) != step(&progress) => {
                self.phases = 0;
                self.start = self.fraction.max(f64::from(number - 1) / f64::from(steps));
            }
            Some(last) if last.phase.name() != progress.phase.name() => {
                self.phases += 1;
                self.start = self.fraction;
            }
            _ => {}
        }
        let rest = (f64::from(number) / f64::from(steps) - self.start).max(0.0);
        let part = rest / f64::from(phases.saturating_sub(self.phases).max(1));
        let of_phase = match progress.total {
            Some(total) => progress.done as f64 / total.max(progress.done).max(1) as f64,
            None => 0.0,
        };
        self.fraction = self.fraction.max(self.start + part * of_phase);
        self.last = Some(progress);
    }
}

/// The target of progress reports.
#[derive(Debug, Default)]
pub(crate) struct Reporter {
    function: Option<Py<PyAny>>,
    /// The usual number of phases of a step.
    phases: u32,
}

impl Reporter {
    /// Converts the argument `progress`: a function, `True` for a line on standard error, `False`
    /// or `None` for no reports.
    pub(crate) fn new(given: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let to = |function| Ok(Reporter { function, phases: 1 });
        let Some(given) = given else { return to(None) };
        let py = given.py();
        if let Ok(flag) = given.cast::<PyBool>() {
            if !flag.is_true() {
                return to(None);
            }
            let reporter = py.import(TYPES)?.call_method0("progress_reporter")?;
            return to(Some(reporter.unbind()));
        }
        if !given.is_callable() {
            let kind = given.get_type().name()?;
            let message = format!("progress must be a function, True or None, not {kind}");
            return Err(pyo3::exceptions::PyTypeError::new_err(message));
        }
        to(Some(given.clone().unbind()))
    }

    /// Handles signals and reports new progress. The caller stops the work if a signal handler or
    /// the progress function raises.
    pub(crate) fn look(&self, py: Python<'_>, shared: &Shared) -> PyResult<()> {
        py.check_signals()?;
        self.report(py, shared)
    }

    /// Sets the usual number of phases of a step, for the fraction.
    pub(crate) fn phases(self, phases: u32) -> Self {
        Reporter { phases, ..self }
    }

    /// Reports new progress. An error is an interrupt during the progress function, or its own
    /// exception.
    fn tell(&self, py: Python<'_>, shared: &Shared) -> Result<(), Ended> {
        self.report(py, shared).map_err(|error| ended_by(py, error))
    }

    fn report(&self, py: Python<'_>, shared: &Shared) -> PyResult<()> {
        let (Some(_), Some(progress)) = (&self.function, shared.take()) else { return Ok(()) };
        shared.done().add(progress, self.phases);
        self.show(py, shared)
    }

    /// Reports the end of a call that reported progress.
    fn report_end(&self, py: Python<'_>, shared: &Shared) -> PyResult<()> {
        self.report(py, shared)?;
        let is_left = {
            let mut done = shared.done();
            let is_left = done.last.is_some() && done.fraction < 1.0;
            done.fraction = 1.0;
            is_left
        };
        if is_left { self.show(py, shared) } else { Ok(()) }
    }

    fn show(&self, py: Python<'_>, shared: &Shared) -> PyResult<()> {
        let state = shared.done();
        let (Some(function), Some(progress)) = (&self.function, &state.last) else {
            return Ok(());
        };
        let (step, steps) = progress.step.map(|it| (it.number, it.count)).unzip();
        let (phase, fraction) = (progress.phase.name(), state.fraction);
        let (done, total) = (progress.done, progress.total);
        drop(state);
        let given = answer!(py, "Progress", phase, done, total, step, steps, fraction)?;
        function.call1(py, (given,)).map(drop)
    }
}

/// Runs `work` on another thread while the interpreter is released, and returns its result. A
/// signal that raises, such as Ctrl-C, and an error of the progress function stop the work and are
/// raised. A panic becomes an `InternalError`.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    reporter: &Reporter,
    work: impl FnOnce(&Arc<Shared>) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    run_shared(py, reporter, &Arc::new(Shared::default()), work)
}

/// Like [`run`], but uses the caller's [`Shared`]; an observer made from it can outlive this call.
pub(crate) fn run_shared<T: Send>(
    py: Python<'_>,
    reporter: &Reporter,
    shared: &Arc<Shared>,
    work: impl FnOnce(&Arc<Shared>) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let done = run_part(py, reporter, shared, work)?;
    reporter.report_end(py, shared)?;
    Ok(done)
}

/// Like [`run_shared`], but does not report the end: later calls of the builder or writer continue
/// the work.
pub(crate) fn run_part<T: Send>(
    py: Python<'_>,
    reporter: &Reporter,
    shared: &Arc<Shared>,
    work: impl FnOnce(&Arc<Shared>) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let (done, ended) = wait_for(py, reporter, shared, work)?;
    if let Some(ended) = ended {
        return Err(ended.error);
    }
    let done = done?;
    reporter.look(py, shared)?;
    Ok(done)
}

/// Like [`run_shared`], but for work that changes files. Its result is always returned, and so is
/// an error after a change that took effect. A signal that raised meanwhile then raises right after
/// the call, and an error of the progress function goes to `sys.unraisablehook`. Both stop the
/// work, and are raised here if it changed nothing.
pub(crate) fn run_change<T: Send>(
    py: Python<'_>,
    reporter: &Reporter,
    shared: &Arc<Shared>,
    work: impl FnOnce(&Arc<Shared>) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let (done, ended) = wait_for(py, reporter, shared, work)?;
    let took_effect = done.as_ref().map_or_else(Failure::took_effect, |_| true);
    let ended = match ended {
        Some(ended) if !took_effect => return Err(ended.error),
        // Signals are not checked here: a later signal raises by itself after this call.
        None if done.is_ok() => {
            reporter.report_end(py, shared).map_err(|it| ended_by(py, it)).err()
        }
        None => reporter.tell(py, shared).err(),
        ended => ended,
    };
    match ended {
        Some(Ended { error, by_signal: true }) => raise_after(py, error),
        Some(Ended { error, by_signal: false }) => {
            let function = reporter.function.as_ref().map(|function| function.bind(py));
            error.write_unraisable(py, function);
        }
        None => {}
    }
    Ok(done?)
}

/// Runs `work` on another thread and waits for it. Returns its result, and the signal or the error
/// of the progress function that stopped it.
fn wait_for<T: Send>(
    py: Python<'_>,
    reporter: &Reporter,
    shared: &Arc<Shared>,
    work: impl FnOnce(&Arc<Shared>) -> Result<T, Failure> + Send,
) -> PyResult<(Result<T, Failure>, Option<Ended>)> {
    shared.stop.store(false, Ordering::Relaxed);
    if shared.done().fraction >= 1.0 {
        *shared.done() = Done::default();
    }
    std::thread::scope(|scope| {
        let (send, receive) = sync_channel(1);
        let of_work = Arc::clone(shared);
        scope.spawn(move || {
            // Sending cannot fail: the receiver waits for the result.
            let _ = send.send(caught(|| work(&of_work)));
        });
        let mut receive = receive;
        let mut ended: Option<Ended> = None;
        loop {
            let received;
            (receive, received) = py.detach(move || {
                let received = receive.recv_timeout(TICK);
                (receive, received)
            });
            match received {
                Ok(done) => return Ok((done, ended)),
                Err(RecvTimeoutError::Timeout) if ended.is_none() => {
                    let by_signal = |error| Ended { error, by_signal: true };
                    let looked = py.check_signals().map_err(by_signal);
                    if let Err(by) = looked.and_then(|()| reporter.tell(py, shared)) {
                        shared.stop();
                        ended = Some(by);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(internal_error(py, "a thread ended without a result"));
                }
            }
        }
    })
}

/// The reason why the work was stopped early.
struct Ended {
    error: PyErr,
    /// Whether a signal was the reason, and not the function for progress.
    by_signal: bool,
}

fn ended_by(py: Python<'_>, error: PyErr) -> Ended {
    Ended { by_signal: error.is_instance_of::<PyKeyboardInterrupt>(py), error }
}

/// Runs `work` on this thread with the interpreter held, for calls of microseconds.
pub(crate) fn held<T>(work: impl FnOnce() -> Result<T, Failure>) -> PyResult<T> {
    Ok(caught(work)?)
}

pub(crate) fn caught<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    // Safe to assert: after a panic, the objects used by the work are dropped or refuse further
    // use.
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|panic| Err(Failure::Panic(panic_message(&*panic))))
}

/// The number of available cores, cached because the system call is slow.
pub(crate) fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}
