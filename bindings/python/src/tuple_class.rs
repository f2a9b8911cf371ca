//! Makes answers, which are named tuples and data classes, without calling their constructors.
//!
//! The constructors are written in Python and take longer than a search with one match. Also, no
//! Python code may run before the result of a change is returned: a signal could raise an exception
//! in that code, and the result would be lost.

#![expect(unsafe_code, reason = "constructors and setters of types are pointers to functions")]

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple, PyType};

/// The Python module that reads and makes objects of other libraries.
pub(crate) const FRAMES: &str = "fpstore._frames";
/// The Python module with the classes of answers.
pub(crate) const TYPES: &str = "fpstore._types";

/// Makes an answer of a class in `fpstore/_types.py` from the values of all its fields, in order.
macro_rules! answer {
    ($py:expr, $class:expr, $($field:expr),+ $(,)?) => {{
        use pyo3::IntoPyObjectExt as _;
        let values = [$($field.into_bound_py_any($py)?),+];
        crate::tuple_class::AnswerClass::new($py, $class)?.make($py, &values)
    }};
}
pub(crate) use answer;

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

    /// Makes an object of the class with the field values `values`.
    pub(crate) fn make<'py>(
        &self,
        py: Python<'py>,
        values: &[Bound<'py, PyAny>],
    ) -> PyResult<Bound<'py, PyAny>> {
        if values.len() != self.names.len() {
            return Err(PyTypeError::new_err("a class of answers has another number of fields"));
        }
        let class = self.class.bind(py);
        // `__new__` is the constructor of `object`, because the class defines none.
        let made = class.call_method1(pyo3::intern!(py, "__new__"), (class,))?;
        for (name, value) in self.names.iter().zip(values) {
            // The class refuses assignments, so this calls the setter of `object`.
            // SAFETY: the pointers are borrowed from live objects while the interpreter is held.
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
    /// Wraps a class, which must be a subclass of `tuple` without further fields in its instances.
    pub(crate) fn new(class: Bound<'_, PyType>) -> PyResult<Self> {
        let py = class.py();
        let tuple = PyType::new::<PyTuple>(py);
        if !class.is_subclass(&tuple)? {
            return Err(PyTypeError::new_err("not a class of tuples"));
        }
        // SAFETY: `tuple` is a type, and its slot `tp_new` is null or a pointer to a `newfunc`.
        let new: Option<ffi::newfunc> = unsafe {
            let slot = ffi::PyType_GetSlot(tuple.as_type_ptr(), ffi::Py_tp_new);
            std::mem::transmute::<*mut std::ffi::c_void, Option<ffi::newfunc>>(slot)
        };
        let new = new.ok_or_else(|| PyTypeError::new_err("tuple has no constructor"))?;
        Ok(TupleClass { class: class.unbind(), new })
    }

    /// Makes an object of the class with the fields `fields`.
    pub(crate) fn make<'py>(&self, fields: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let py = fields.py();
        let arguments = (fields,).into_pyobject(py)?;
        // SAFETY: `tuple.__new__` accepts `tuple` and its subclasses, such as `class`. It takes a
        // tuple of arguments and null for no keywords, and returns a new reference, or null with an
        // exception.
        unsafe {
            let class = self.class.bind(py).as_type_ptr();
            let made = (self.new)(class, arguments.as_ptr(), std::ptr::null_mut());
            Bound::from_owned_ptr_or_err(py, made)
        }
    }
}
