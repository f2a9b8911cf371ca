//! Runs long work on another thread, while the calling thread attends to the interpreter.
//!
//! Only the calling thread attaches to the interpreter, at most every tenth of a second, to handle
//! signals, so that Ctrl-C ends the work, and to report progress. The working threads read a flag,
//! so a busy thread of Python does not slow them down.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use fpstore::{Observer, Progress};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyBool;

use crate::errors::{Failure, internal_error, panic_message};
use crate::later::raise_after;
use crate::tuple_class::plain_value;

/// The interval of checking signals and reporting progress.
pub(crate) const TICK: Duration = Duration::from_millis(100);

/// State shared by the working threads and the calling thread.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// Set to stop the work.
    pub(crate) stop: Arc<AtomicBool>,
    last: Mutex<Option<Progress>>,
    /// The largest fraction of the work that was reported.
    fraction: Mutex<f64>,
}

impl Shared {
    /// An observer that records the progress and stops the work once the flag is set.
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

    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    fn take(&self) -> Option<Progress> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The fraction of all steps that is done. It never decreases during a call, also where a step
    /// repeats a phase.
    fn fraction(&self, progress: &Progress) -> f64 {
        let total = progress.total.unwrap_or(0).max(progress.done).max(1);
        let of_step = progress.done as f64 / total as f64;
        let (before, steps) = progress.step.map_or((0, 1), |it| (it.number - 1, it.count));
        let of_step = if progress.total.is_some() { of_step } else { 0.0 };
        let now = (f64::from(before) + of_step) / f64::from(steps);
        let mut most = self.fraction.lock().unwrap_or_else(PoisonError::into_inner);
        *most = most.max(now);
        *most
    }
}

/// The target of progress reports.
#[derive(Debug, Default)]
pub(crate) struct Reporter(Option<Py<PyAny>>);

impl Reporter {
    /// From an argument: a function, `True` for a line on standard error, `False` or `None` for no
    /// reports.
    pub(crate) fn new(given: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(given) = given else { return Ok(Reporter(None)) };
        let py = given.py();
        if let Ok(flag) = given.cast::<PyBool>() {
            if !flag.is_true() {
                return Ok(Reporter(None));
            }
            return Ok(Reporter(Some(plain_value(py, "progress_reporter", ())?.unbind())));
        }
        if !given.is_callable() {
            let kind = given.get_type().name()?;
            let message = format!("progress is a function, True or None, not {kind}");
            return Err(pyo3::exceptions::PyTypeError::new_err(message));
        }
        Ok(Reporter(Some(given.clone().unbind())))
    }

    /// Handles signals and reports new progress. An error of either stops the work.
    pub(crate) fn look(&self, py: Python<'_>, shared: &Shared) -> PyResult<()> {
        py.check_signals()?;
        self.report(py, shared)
    }

    /// Reports new progress. A signal may raise while the function runs.
    fn tell(&self, py: Python<'_>, shared: &Shared) -> Result<(), Ended> {
        self.report(py, shared).map_err(|error| {
            if error.is_instance_of::<PyKeyboardInterrupt>(py) {
                Ended::BySignal(error)
            } else {
                Ended::ByProgress(error)
            }
        })
    }

    fn report(&self, py: Python<'_>, shared: &Shared) -> PyResult<()> {
        let (Some(function), Some(progress)) = (&self.0, shared.take()) else { return Ok(()) };
        let step = progress.step.map(|it| (it.number, it.count)).unzip();
        let fraction = shared.fraction(&progress);
        let phase = progress.phase.name();
        let fields = (phase, progress.done, progress.total, step.0, step.1, fraction);
        let given = plain_value(py, "Progress", fields)?;
        function.call1(py, (given,)).map(drop)
    }
}

/// Runs `work` without the interpreter, and returns its result. A signal that raises, such as
/// Ctrl-C, and an error of the progress function stop the work and are raised. A panic becomes an
/// `InternalError`.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    reporter: &Reporter,
    work: impl FnOnce(&Arc<Shared>) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    run_shared(py, reporter, &Arc::new(Shared::default()), work)
}

/// As [`run`], with an observer that outlives this piece of work.
pub(crate) fn run_shared<T: Send>(
    py: Python<'_>,
    reporter: &Reporter,
    shared: &Arc<Shared>,
    work: impl FnOnce(&Arc<Shared>) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let (done, ended) = wait_for(py, reporter, shared, work)?;
    if let Some(error) = ended {
        return Err(error.into());
    }
    let done = done?;
    reporter.look(py, shared)?;
    Ok(done)
}

/// As [`run_shared`], for work that changes files. Its result is always returned, and so is an
/// error after a change that took effect. A signal that raised meanwhile then raises right after
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
        Some(error) if !took_effect => return Err(error.into()),
        // A later signal raises after this call by itself.
        None => reporter.tell(py, shared).err(),
        ended => ended,
    };
    match ended {
        Some(Ended::BySignal(error)) => raise_after(py, error),
        Some(Ended::ByProgress(error)) => {
            let function = reporter.0.as_ref().map(|function| function.bind(py));
            error.write_unraisable(py, function);
        }
        None => {}
    }
    Ok(done?)
}

/// Waits for the work without the interpreter. Returns its result, and the signal or the error of
/// the progress function that stopped it.
fn wait_for<T: Send>(
    py: Python<'_>,
    reporter: &Reporter,
    shared: &Arc<Shared>,
    work: impl FnOnce(&Arc<Shared>) -> Result<T, Failure> + Send,
) -> PyResult<(Result<T, Failure>, Option<Ended>)> {
    shared.stop.store(false, Ordering::Relaxed);
    *shared.fraction.lock().unwrap_or_else(PoisonError::into_inner) = 0.0;
    std::thread::scope(|scope| {
        let (send, receive) = sync_channel(1);
        let of_work = Arc::clone(shared);
        scope.spawn(move || {
            // The receiver waits for this.
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
                    let looked = py.check_signals().map_err(Ended::BySignal);
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

/// The cause of an early end of the work.
enum Ended {
    BySignal(PyErr),
    ByProgress(PyErr),
}

impl From<Ended> for PyErr {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::BySignal(error) | Ended::ByProgress(error) => error,
        }
    }
}
/// Runs `work` on this thread with the interpreter held, for calls of microseconds.
pub(crate) fn held<T>(work: impl FnOnce() -> Result<T, Failure>) -> PyResult<T> {
    Ok(caught(work)?)
}

pub(crate) fn caught<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    // After a panic the objects in the work are not used again, or protect themselves.
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|panic| Err(Failure::Panic(panic_message(&*panic))))
}

/// The number of cores, cached because the system call is slow.
pub(crate) fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}
