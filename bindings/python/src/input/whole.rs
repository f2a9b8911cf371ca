//! Whole numbers of any size, so that a number beyond 128 bits is refused like any other number out
//! of range.

use std::fmt;

use fpstore::plan::Budget;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyString};

use super::arguments::text_or_none;
use crate::errors::input_error;

/// A whole number. A number beyond the range of `i128` becomes the smallest or largest `i128`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Whole(pub(crate) i128);

impl fmt::Display for Whole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            i128::MAX => f.write_str("2**127 or more"),
            i128::MIN => f.write_str("-2**127 or less"),
            number => number.fmt(f),
        }
    }
}

impl TryFrom<Whole> for u64 {
    type Error = std::num::TryFromIntError;

    fn try_from(whole: Whole) -> Result<u64, Self::Error> {
        whole.0.try_into()
    }
}

impl From<i128> for Whole {
    fn from(number: i128) -> Self {
        Whole(number)
    }
}

impl<'py> FromPyObject<'_, 'py> for Whole {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let error = match object.extract::<i64>() {
            Ok(number) => return Ok(Whole(number.into())),
            Err(error) => error,
        };
        if !error.is_instance_of::<pyo3::exceptions::PyOverflowError>(object.py()) {
            return Err(error);
        }
        match object.extract::<i128>() {
            Ok(number) => Ok(Whole(number)),
            Err(_) if object.lt(0)? => Ok(Whole(i128::MIN)),
            Err(_) => Ok(Whole(i128::MAX)),
        }
    }
}

/// A number of bytes: an integer, a whole float such as `1e9`, or a text such as `1.5GB`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes(pub(crate) Whole);

impl From<i128> for Bytes {
    fn from(number: i128) -> Self {
        Bytes(Whole(number))
    }
}

impl From<Bytes> for Whole {
    fn from(bytes: Bytes) -> Self {
        bytes.0
    }
}

impl<'py> FromPyObject<'_, 'py> for Bytes {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(text) = object.cast::<PyString>() {
            let text = text.to_cow()?;
            return match text.parse() {
                Ok(Budget::Bytes(count)) => Ok(Bytes(Whole(count.into()))),
                _ => Err(input_error(
                    object.py(),
                    format!("'{text}' is not an amount of bytes such as '1.5GB'"),
                )),
            };
        }
        if let Ok(number) = object.cast::<PyFloat>()
            && number.value().fract() == 0.0
        {
            return Ok(Bytes(Whole(number.value() as i128)));
        }
        object.extract().map(Bytes)
    }
}

/// Converts a number of bytes to `i128`, the type of arguments with a default in the signature.
pub(crate) fn wide_bytes(object: &Bound<'_, PyAny>) -> PyResult<i128> {
    object.extract::<Bytes>().map(|bytes| bytes.0.0)
}

/// Converts a table budget to a text: a number of bytes, or a text such as `12GB` or `16B/fp`.
pub(crate) fn budget_or_none(object: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    match object.is_none() || object.is_instance_of::<PyString>() {
        true => text_or_none(object),
        false => object.extract::<Bytes>().map(|bytes| Some(bytes.0.to_string())),
    }
}

/// Converts a whole number to `i128`, the type of arguments with a default in the signature.
pub(crate) fn wide(object: &Bound<'_, PyAny>) -> PyResult<i128> {
    object.extract::<Whole>().map(|whole| whole.0)
}
