//! Exceptions that are raised after a call, so that the call can return its result.
#![expect(unsafe_code, reason = "pyo3 has no pending calls")]

use std::ffi::{c_int, c_void};

use pyo3::ffi;
use pyo3::prelude::*;

/// Lets the interpreter raise `error` on its main thread as soon as the call has returned.
///
/// The alternative, to simulate the signal, would call its handler a second time. The handler may
/// count signals, or may have restored the default handler, which ends the process.
pub(crate) fn raise_after(py: Python<'_>, error: PyErr) {
    let at = Box::into_raw(Box::new(error));
    // SAFETY: the interpreter calls `raise` at most once, with the address of the boxed error.
    let code = unsafe { ffi::Py_AddPendingCall(Some(raise), at.cast()) };
    if code != 0 {
        // SAFETY: the queue of the interpreter is full, so it did not take over the box.
        let error = unsafe { Box::from_raw(at) };
        error.write_unraisable(py, None);
    }
}

extern "C" fn raise(at: *mut c_void) -> c_int {
    // SAFETY: `at` is the box that `raise_after` made, and the interpreter passes it only once.
    let error = unsafe { Box::from_raw(at.cast::<PyErr>()) };
    Python::attach(|py| error.restore(py));
    -1
}
