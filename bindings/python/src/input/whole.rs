//! Whole numbers of any size, so that a number beyond 128 bits is refused like any other number out
//! of range.

use std::fmt;

use pyo3::prelude::*;

/// A whole number. A number out of range becomes the nearest representable one.
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

impl TryFrom<Whole> for u32 {
    type Error = std::num::TryFromIntError;

    fn try_from(whole: Whole) -> Result<u32, Self::Error> {
        whole.0.try_into()
    }
}

impl From<i128> for Whole {
    fn from(number: i128) -> Self {
        Whole(number)
    }
}

impl From<u32> for Whole {
    fn from(number: u32) -> Self {
        Whole(number.into())
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

/// A whole number, for arguments whose default is shown.
pub(crate) fn wide(object: &Bound<'_, PyAny>) -> PyResult<i128> {
    object.extract::<Whole>().map(|whole| whole.0)
}
