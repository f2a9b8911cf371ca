//! Exceptions that are raised after a call, which returns what it made.
#![expect(unsafe_code, reason = "pyo3 has no pending calls")]

use std::ffi::{c_int, c_void};

use pyo3::ffi;
use pyo3::prelude::*;

/// Lets the interpreter raise `error` on its main thread as soon as the call has returned.
///
/// To simulate the signal again would call its handler a second time, which may count, or may have
/// restored what ends the process.
pub(crate) fn raise_after(py: Python<'_>, error: PyErr) {
    let at = Box::into_raw(Box::new(error));
    // SAFETY: `raise` takes the address of a boxed error, and the interpreter calls it once.
    let code = unsafe { ffi::Py_AddPendingCall(Some(raise), at.cast()) };
    if code != 0 {
        // SAFETY: the interpreter has no room, and has not taken it.
        let error = unsafe { Box::from_raw(at) };
        error.write_unraisable(py, None);
    }
}

extern "C" fn raise(at: *mut c_void) -> c_int {
    // SAFETY: `raise_after` has made it, and this is the only call.
    let error = unsafe { Box::from_raw(at.cast::<PyErr>()) };
    Python::attach(|py| error.restore(py));
    -1
}
