//! Converts texts and paths in arguments, for `from_py_with`. A text with a lone surrogate raises
//! an `InputError` with the name of the argument, not a `UnicodeEncodeError`.
//!
//! The name of the argument is added by PyO3 in a note, which `InputError` puts at the beginning of
//! its message.

use std::path::PathBuf;

use pyo3::exceptions::PyUnicodeEncodeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator, PySequence, PyString};

use crate::errors::surrogate_error;

/// Converts a Python `str`.
pub(crate) fn text<'a, T: From<&'a str>>(given: &'a Bound<'_, PyAny>) -> PyResult<T> {
    Ok(T::from(str_of(given)?))
}

/// Converts a Python `str`, or `None`.
pub(crate) fn text_or_none<'a, T: From<&'a str>>(
    given: &'a Bound<'_, PyAny>,
) -> PyResult<Option<T>> {
    if given.is_none() { Ok(None) } else { text(given).map(Some) }
}

/// Converts several texts. A single text becomes one item; it is not split into its characters.
pub(crate) fn texts(given: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if given.is_instance_of::<PyString>() {
        return text(given).map(|text| vec![text]);
    }
    given.try_iter()?.map(|item| text(&item?)).collect()
}

/// Converts a pair of texts, or `None`.
pub(crate) fn pair_or_none(given: &Bound<'_, PyAny>) -> PyResult<Option<(String, String)>> {
    if given.is_none() {
        return Ok(None);
    }
    let (one, other): (Bound<'_, PyAny>, Bound<'_, PyAny>) = given.extract()?;
    Ok(Some((text(&one)?, text(&other)?)))
}

/// The path of a file or folder. Python represents bytes that are not UTF-8 as surrogates, which
/// are allowed in paths.
pub(crate) fn path(given: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
    given.extract::<PathBuf>().map_err(|error| {
        match error.is_instance_of::<PyUnicodeEncodeError>(given.py()) {
            true => surrogate_error(given),
            false => error,
        }
    })
}

/// The path of a file or folder, if one is given.
pub(crate) fn path_or_none(given: &Bound<'_, PyAny>) -> PyResult<Option<PathBuf>> {
    if given.is_none() { Ok(None) } else { path(given).map(Some) }
}

/// Whether an object is one path, and not several.
pub(crate) fn is_one_path(given: &Bound<'_, PyAny>) -> PyResult<bool> {
    let is_text = given.is_instance_of::<PyString>() || given.is_instance_of::<PyBytes>();
    Ok(is_text || given.hasattr("__fspath__")?)
}

/// One path, or several.
pub(crate) enum Paths {
    One(PathBuf),
    Several(Vec<PathBuf>),
}

impl<'py> FromPyObject<'_, 'py> for Paths {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let is_many = given.cast::<PySequence>().is_ok() || given.cast::<PyIterator>().is_ok();
        match is_many && !is_one_path(&given)? {
            true => Ok(Paths::Several(paths(&given)?)),
            false => Ok(Paths::One(path(&given)?)),
        }
    }
}

/// Several paths. The caller excludes a [single path](is_one_path), whose characters would be taken
/// for paths.
pub(crate) fn paths(given: &Bound<'_, PyAny>) -> PyResult<Vec<PathBuf>> {
    given.try_iter()?.map(|item| path(&item?)).collect()
}

/// The characters of a text of Python.
pub(crate) fn str_of<'a>(given: &'a Bound<'_, PyAny>) -> PyResult<&'a str> {
    given.cast::<PyString>()?.to_str().map_err(|_| surrogate_error(given))
}
