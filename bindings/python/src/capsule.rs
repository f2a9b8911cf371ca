//! Arrow arrays and streams in and out, by the C interface in capsules of Python.
//!
//! What a capsule with the right name holds is trusted, as the interface asks. See
//! <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>.
#![expect(unsafe_code, reason = "the C interface passes pointers")]

use std::ffi::CStr;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{Array, ArrayRef, RecordBatchReader, make_array};
use arrow_schema::{ArrowError, Schema};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use crate::errors::input_error;

const ARRAY: &CStr = c"arrow_array";
const SCHEMA: &CStr = c"arrow_schema";
const STREAM: &CStr = c"arrow_array_stream";

/// Arrays that an object gives one after the other.
pub(crate) enum Arrays {
    One(Option<ArrayRef>),
    Stream(Box<ArrayStreamReader>),
}

impl Iterator for Arrays {
    type Item = Result<ArrayRef, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Arrays::One(array) => array.take().map(Ok),
            Arrays::Stream(reader) => reader.next(),
        }
    }
}

/// The arrays of an object with an Arrow interface, or `None` for another object.
pub(crate) fn arrays_of(object: &Bound<'_, PyAny>) -> PyResult<Option<Arrays>> {
    if object.hasattr("__arrow_c_array__")? {
        let capsules = object.call_method0("__arrow_c_array__")?;
        let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) = capsules.extract()?;
        return Ok(Some(Arrays::One(Some(array_of(&schema, &array)?))));
    }
    if object.hasattr("__arrow_c_stream__")? {
        let capsule = object.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
        return Ok(Some(Arrays::Stream(Box::new(stream_of(&capsule)?))));
    }
    Ok(None)
}

pub(crate) fn arrow_error(py: Python<'_>, error: &ArrowError) -> PyErr {
    let error = error.to_string();
    if error.contains("datatype \"Null\"") {
        // Columns of this type come with buffers that their interface does not have.
        let message = "a column of type Null has no values; give it a type, such as UInt64";
        return input_error(py, message);
    }
    input_error(py, format!("Arrow data that cannot be read: {error}"))
}

fn array_of(schema: &Bound<'_, PyCapsule>, array: &Bound<'_, PyCapsule>) -> PyResult<ArrayRef> {
    let (schema_at, array_at) =
        (schema.pointer_checked(Some(SCHEMA))?, array.pointer_checked(Some(ARRAY))?);
    // SAFETY: the names of the capsules were checked, so they hold these structures, and both live
    // until the end of this function. The array is moved out and marked as released.
    let data = unsafe {
        let moved = FFI_ArrowArray::from_raw(array_at.as_ptr().cast());
        from_ffi(moved, schema_at.cast::<FFI_ArrowSchema>().as_ref())
    };
    data.map(make_array).map_err(|error| arrow_error(array.py(), &error))
}

fn stream_of(capsule: &Bound<'_, PyCapsule>) -> PyResult<ArrayStreamReader> {
    let at = capsule.pointer_checked(Some(STREAM))?;
    // SAFETY: the name of the capsule was checked, so it holds this structure. It is moved out and
    // marked as released.
    let reader = unsafe { ArrayStreamReader::from_raw(at.as_ptr().cast()) };
    reader.map_err(|error| arrow_error(capsule.py(), &error))
}

/// Two capsules with the schema and the array.
pub(crate) fn export_array<'py>(
    py: Python<'py>,
    array: &dyn Array,
) -> PyResult<Bound<'py, PyTuple>> {
    let (array, schema) = to_ffi(&array.to_data()).map_err(|error| arrow_error(py, &error))?;
    let schema = PyCapsule::new_with_value(py, schema, SCHEMA)?;
    let array = PyCapsule::new_with_value(py, array, ARRAY)?;
    (schema, array).into_pyobject(py)
}

/// A capsule with a stream.
pub(crate) fn export_stream<'py>(
    py: Python<'py>,
    reader: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), STREAM)
}

/// A capsule with a schema.
pub(crate) fn export_schema<'py>(
    py: Python<'py>,
    schema: &Schema,
) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema).map_err(|error| arrow_error(py, &error))?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}
