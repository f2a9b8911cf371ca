//! Answers: named tuples and data classes, made without their own constructors.
//!
//! Their constructors are written in Python and take longer than a search with one match. Also, no
//! Python code may run before the result of a change is returned: a signal could raise an exception
//! in that code, and the result would be lost.

#![expect(unsafe_code, reason = "constructors and setters of types are pointers to functions")]

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple, PyType};

/// The module that makes objects of other libraries.
pub(crate) const FRAMES: &str = "fpstore._frames";
/// The module of the classes of answers.
pub(crate) const TYPES: &str = "fpstore._types";

/// An answer of a class in `fpstore/_types.py` with the values of all its fields, in order.
macro_rules! answer {
    ($py:expr, $class:expr, $($field:expr),+ $(,)?) => {{
        use pyo3::IntoPyObjectExt as _;
        let values = [$($field.into_bound_py_any($py)?),+];
        crate::tuple_class::answer_of($py, $class, &values)
    }};
}
pub(crate) use answer;

/// See [`answer!`].
pub(crate) fn answer_of<'py>(
    py: Python<'py>,
    class: &str,
    values: &[Bound<'py, PyAny>],
) -> PyResult<Bound<'py, PyAny>> {
    AnswerClass::new(py, class)?.make(py, values)
}

/// A data class in `fpstore/_types.py` with slots and without bases.
pub(crate) struct AnswerClass {
    class: Py<PyType>,
    names: Vec<Py<PyString>>,
}

impl AnswerClass {
    pub(crate) fn new(py: Python<'_>, class: &str) -> PyResult<Self> {
        let class = py.import(TYPES)?.getattr(class)?.cast_into::<PyType>()?;
        let names = class.getattr("__slots__")?.extract()?;
        Ok(AnswerClass { class: class.unbind(), names })
    }

    /// An object with these values of its fields.
    pub(crate) fn make<'py>(
        &self,
        py: Python<'py>,
        values: &[Bound<'py, PyAny>],
    ) -> PyResult<Bound<'py, PyAny>> {
        if values.len() != self.names.len() {
            return Err(PyTypeError::new_err("a class of answers has another number of fields"));
        }
        // The constructor of `object`.
        let class = self.class.bind(py);
        let made = class.call_method1(pyo3::intern!(py, "__new__"), (class,))?;
        for (name, value) in self.names.iter().zip(values) {
            // The class refuses assignments, so this calls the setter of `object`.
            // SAFETY: the pointers are to live objects, and the function returns -1 with an
            // exception.
            let status = unsafe {
                ffi::PyObject_GenericSetAttr(made.as_ptr(), name.as_ptr(), value.as_ptr())
            };
            if status != 0 {
                return Err(PyErr::fetch(py));
            }
        }
        Ok(made)
    }
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
