//! Named tuples, made without their own constructor.
//!
//! The constructor of a named tuple is written in Python and takes longer than a search with one
//! match. It only calls the constructor of `tuple`, which is called here directly.

#![expect(unsafe_code, reason = "the constructor of a type is a pointer to a function")]

use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};

/// The module that makes objects of other libraries.
pub(crate) const FRAMES: &str = "fpstore._frames";
/// The module of the plain values.
pub(crate) const TYPES: &str = "fpstore._types";

/// An object of a class in `fpstore/_types.py` with these fields, for rare answers.
pub(crate) fn plain_value<'py>(
    py: Python<'py>,
    class: &str,
    fields: impl PyCallArgs<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    py.import(TYPES)?.getattr(class)?.call1(fields)
}

/// A named tuple of a module of the package, for the result of a change. It is made without running
/// Python code, in which a signal could raise an exception and lose the result.
pub(crate) fn told<'py, F>(
    py: Python<'py>,
    module: &str,
    class: &str,
    fields: F,
) -> PyResult<Bound<'py, PyAny>>
where
    F: IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error: Into<PyErr>>,
{
    let class = py.import(module)?.getattr(class)?.cast_into::<PyType>()?;
    TupleClass::new(class)?.make(&fields.into_pyobject(py).map_err(Into::into)?)
}

/// A class made by `typing.NamedTuple`.
pub(crate) struct TupleClass {
    class: Py<PyType>,
    new: ffi::newfunc,
}

impl TupleClass {
    /// The class, which must be a subclass of `tuple` without fields of its own.
    pub(crate) fn new(class: Bound<'_, PyType>) -> PyResult<Self> {
        let py = class.py();
        let tuple = PyType::new::<PyTuple>(py);
        if !class.is_subclass(&tuple)? {
            return Err(PyTypeError::new_err("not a class of tuples"));
        }
        // SAFETY: `tuple` is a type, and this slot of a type is empty or such a function.
        let new: Option<ffi::newfunc> = unsafe {
            let slot = ffi::PyType_GetSlot(tuple.as_type_ptr(), ffi::Py_tp_new);
            std::mem::transmute::<*mut std::ffi::c_void, Option<ffi::newfunc>>(slot)
        };
        let new = new.ok_or_else(|| PyTypeError::new_err("tuple has no constructor"))?;
        Ok(TupleClass { class: class.unbind(), new })
    }

    /// An object with these fields.
    pub(crate) fn make<'py>(&self, fields: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let py = fields.py();
        let arguments = (fields,).into_pyobject(py)?;
        // SAFETY: the function makes objects of `tuple` and of its subclasses, such as this one. It
        // takes a tuple and optional keywords, and returns a new reference, or null with an
        // exception.
        unsafe {
            let class = self.class.bind(py).as_type_ptr();
            let made = (self.new)(class, arguments.as_ptr(), std::ptr::null_mut());
            Bound::from_owned_ptr_or_err(py, made)
        }
    }
}
