//! Exceptions that are raised after a call, so that the call can return its result.
#![expect(unsafe_code, reason = "pyo3 has no pending calls")]

use std::ffi::{c_int, c_void};

use pyo3::ffi;
use pyo3::prelude::*;

/// Lets the interpreter raise `error` on its main thread as soon as the call has returned.
///
/// Simulating the signal again would call its handler a second time. The handler may count signals,
/// or may have restored the default handler, which ends the process.
pub(crate) fn raise_after(py: Python<'_>, error: PyErr) {
    let at = Box::into_raw(Box::new(error));
    // SAFETY: `raise` takes the address of a boxed error, and the interpreter calls it once.
    let code = unsafe { ffi::Py_AddPendingCall(Some(raise), at.cast()) };
    if code != 0 {
        // SAFETY: the interpreter did not take the address, because its queue is full.
        let error = unsafe { Box::from_raw(at) };
        error.write_unraisable(py, None);
    }
}

extern "C" fn raise(at: *mut c_void) -> c_int {
    // SAFETY: `raise_after` made the box, and this is the only call.
    let error = unsafe { Box::from_raw(at.cast::<PyErr>()) };
    Python::attach(|py| error.restore(py));
    -1
}
