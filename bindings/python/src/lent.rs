//! Holds an object of the Rust crate for a `Builder` or `Writer`, which one call at a time can use.

use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

use pyo3::exceptions::PyResourceWarning;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::errors::{Failure, state_error};
use crate::work::{Reporter, Shared, TICK, run_change, run_part};

/// The object, and the reporter of its calls.
///
/// A call takes the object out and gives it back at its end, so that no lock is held while the call
/// works. Calls of other threads wait for the object.
pub(crate) struct Lent<T> {
    words: Words,
    reporter: Reporter,
    shared: Arc<Shared>,
    state: Mutex<State<T>>,
    /// Whether dropping the object now would lose data.
    loses: fn(&mut T) -> bool,
    /// Notified when a call has ended.
    ended: Condvar,
}

/// The words that describe the object in messages.
#[derive(Clone, Copy)]
pub(crate) struct Words {
    pub(crate) noun: &'static str,
    /// The consequence of a failure or an early close, such as `nothing was built`.
    pub(crate) loss: &'static str,
}

enum State<T> {
    Open(Box<T>),
    /// The object is in use by a call of this thread in this process.
    Used(ThreadId, u32),
    /// A change was interrupted, and the object is unusable.
    Failed,
    Ended(&'static str),
}

impl<T: Send> Lent<T> {
    pub(crate) fn new(words: Words, reporter: Reporter, shared: Arc<Shared>, object: T) -> Self {
        let state = Mutex::new(State::Open(Box::new(object)));
        Lent { words, reporter, shared, state, loses: |_| false, ended: Condvar::new() }
    }

    /// Issues a `ResourceWarning` if the object is dropped while `loses` returns true.
    pub(crate) fn noticed(mut self, loses: fn(&mut T) -> bool) -> Self {
        self.loses = loses;
        self
    }

    /// Whether the object was ended with the text `how`, such as `was committed`.
    pub(crate) fn has_ended(&self, how: &str) -> bool {
        matches!(*self.state(), State::Ended(ended) if ended == how)
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The reason why the object cannot be used in this state, as a text: exceptions are made
    /// without the lock, because making them can run other Python code.
    fn refusal(&self, state: &State<T>) -> String {
        let Words { noun, loss } = self.words;
        match state {
            State::Open(_) | State::Used(..) => format!("another thread is using the {noun}"),
            State::Failed => format!("the {noun} failed before; {loss}"),
            State::Ended(how) => format!("the {noun} {how}"),
        }
    }

    pub(crate) fn check_usable(&self) -> PyResult<()> {
        self.look(|_| ())
    }

    /// Calls `look` with the object while the lock is held.
    pub(crate) fn look<R>(&self, look: impl FnOnce(&mut T) -> R) -> PyResult<R> {
        let looked = match &mut *self.state() {
            State::Open(object) => Ok(look(object)),
            state => Err(self.refusal(state)),
        };
        looked.map_err(state_error)
    }

    /// Waits while a call of another thread of this process uses the object. A nested call, such as
    /// from the progress callback, does not wait: the caller refuses it.
    fn wait(&self, py: Python<'_>) -> PyResult<()> {
        let (thread, process) = (std::thread::current().id(), std::process::id());
        let is_others = |state: &mut State<T>| matches!(*state, State::Used(of, in_process) if of != thread && in_process == process);
        while is_others(&mut self.state()) {
            py.detach(|| {
                let waited = self.ended.wait_timeout_while(self.state(), TICK, is_others);
                drop(waited.unwrap_or_else(PoisonError::into_inner));
            });
            py.check_signals()?;
        }
        Ok(())
    }

    /// Waits until the object is available and takes it out. Fails if the object is unusable.
    pub(crate) fn take(&self, py: Python<'_>) -> PyResult<Box<T>> {
        let used = || State::Used(std::thread::current().id(), std::process::id());
        loop {
            self.wait(py)?;
            let mut state = self.state();
            let refusal = match std::mem::replace(&mut *state, used()) {
                State::Open(object) => return Ok(object),
                other => {
                    let refusal = self.refusal(&other);
                    *state = other;
                    refusal
                }
            };
            let is_late = matches!(*state, State::Used(of, _) if of != std::thread::current().id());
            let is_here = matches!(*state, State::Used(_, of) if of == std::process::id());
            drop(state);
            // Tries again if another thread of this process took the object meanwhile.
            if !(is_late && is_here) {
                return Err(state_error(refusal));
            }
        }
    }

    /// Gives the object back. If the Python object was closed meanwhile, this drops the object,
    /// which releases the lock of the store, and fails.
    pub(crate) fn give_back(&self, object: Box<T>) -> PyResult<()> {
        let mut state = self.state();
        if matches!(*state, State::Used(..)) {
            *state = State::Open(object);
            drop(state);
            self.ended.notify_all();
            return Ok(());
        }
        drop(state);
        self.ended.notify_all();
        let Words { noun, loss } = self.words;
        Err(state_error(format!("another thread closed the {noun} during the call; {loss}")))
    }

    /// Marks the object as failed while it is taken out.
    fn fail(&self) {
        let mut state = self.state();
        if matches!(*state, State::Used(..)) {
            *state = State::Failed;
        }
        drop(state);
        self.ended.notify_all();
    }

    /// Drops the object. `how` describes the end in messages, such as `is closed`.
    pub(crate) fn end(&self, how: &'static str) {
        self.set(State::Ended(how));
    }

    fn set(&self, state: State<T>) {
        *self.state() = state;
        self.ended.notify_all();
    }

    /// Ends a `with` block: calls `finish` unless an exception was raised, then closes the object.
    pub(crate) fn leave(
        &self,
        raised: &Bound<'_, PyTuple>,
        finish: impl FnOnce() -> PyResult<()>,
    ) -> PyResult<()> {
        self.wait(raised.py())?;
        let is_raised = !raised.get_item(0)?.is_none();
        let usable = self.check_usable();
        let is_ended = matches!(*self.state(), State::Ended(_));
        if !is_raised && usable.is_ok() {
            finish()?;
        }
        self.end("is closed");
        // The end of a `with` block with an unusable object is an error, so that an unfinished
        // result does not look finished.
        if is_raised || is_ended { Ok(()) } else { usable }
    }

    /// The state in a few words, for `__repr__`; `open` describes an available object.
    pub(crate) fn shown(&self, open: impl FnOnce(&mut T) -> String) -> String {
        match &mut *self.state() {
            State::Open(object) => open(object),
            State::Used(..) => "working".to_owned(),
            State::Failed => "failed".to_owned(),
            State::Ended(how) => (*how).to_owned(),
        }
    }

    /// Takes the object, lets it change files while the interpreter is released, and gives it back,
    /// see [`run_change`].
    pub(crate) fn run<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut T, &Arc<Shared>) -> Result<R, Failure> + Send,
    ) -> PyResult<R> {
        let mut object = self.take(py)?;
        let done = self.change_taken(py, &mut object, work);
        // The error for an object closed meanwhile is ignored: the change took effect.
        let _ = self.give_back(object);
        done
    }

    /// Like [`Lent::run`], but for an object that the caller has taken.
    pub(crate) fn change_taken<R: Send>(
        &self,
        py: Python<'_>,
        object: &mut T,
        work: impl FnOnce(&mut T, &Arc<Shared>) -> Result<R, Failure> + Send,
    ) -> PyResult<R> {
        run_change(py, &self.reporter, &self.shared, move |shared| work(object, shared))
    }

    /// Runs `work` with a taken object while the interpreter is released. If `work` fails, it must
    /// leave files unchanged.
    pub(crate) fn run_taken<R: Send>(
        &self,
        py: Python<'_>,
        object: &mut T,
        work: impl FnOnce(&mut T, &Arc<Shared>) -> Result<R, Failure> + Send,
    ) -> PyResult<R> {
        run_part(py, &self.reporter, &self.shared, move |shared| work(object, shared))
    }

    /// Calls `prepare`, which can refuse the change, and then `change` while the interpreter is
    /// released. If `change` fails, the object becomes unusable.
    pub(crate) fn change<P: Send, R: Send>(
        &self,
        py: Python<'_>,
        prepare: impl FnOnce(&mut T) -> Result<P, Failure>,
        change: impl FnOnce(&mut T, P, &Arc<Shared>) -> Result<R, Failure> + Send,
    ) -> PyResult<R> {
        let mut object = self.take(py)?;
        let prepared = match prepare(&mut object) {
            Ok(prepared) => prepared,
            Err(failure) => {
                let _ = self.give_back(object);
                return Err(failure.into());
            }
        };
        let done =
            self.run_taken(py, &mut object, move |object, shared| change(object, prepared, shared));
        match done {
            Ok(done) => self.give_back(object).map(|()| done),
            Err(error) => {
                self.fail();
                Err(error)
            }
        }
    }

    /// Consumes the object with `finish`. Its state is then ended (`how`) or failed.
    pub(crate) fn finish<R: Send>(
        &self,
        py: Python<'_>,
        how: &'static str,
        finish: impl FnOnce(T, &Arc<Shared>) -> Result<R, Failure> + Send,
    ) -> PyResult<R> {
        let object = *self.take(py)?;
        let took_effect = AtomicBool::new(false);
        let done = run_change(py, &self.reporter, &self.shared, |shared| {
            let done = finish(object, shared);
            let has = done.as_ref().map_or_else(Failure::took_effect, |_| true);
            took_effect.store(has, Ordering::Relaxed);
            done
        });
        let took_effect = took_effect.into_inner();
        self.set(if took_effect { State::Ended(how) } else { State::Failed });
        done
    }
}

impl<T> Drop for Lent<T> {
    fn drop(&mut self) {
        let loses = self.loses;
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let State::Open(object) = state else { return };
        if !loses(object) {
            return;
        }
        let Words { noun, loss } = self.words;
        let message = format!(
            "a {noun} was garbage-collected before it was finished or closed; {loss}. Use it in a \
             'with' block"
        );
        let message = CString::new(message).unwrap_or_default();
        // Does nothing if the interpreter is shutting down. A pending exception is kept.
        let _ = Python::try_attach(|py| {
            let raised = PyErr::take(py);
            let class = py.get_type::<PyResourceWarning>();
            if let Err(error) = PyErr::warn(py, &class, &message, 1) {
                error.write_unraisable(py, None);
            }
            if let Some(raised) = raised {
                raised.restore(py);
            }
        });
    }
}
