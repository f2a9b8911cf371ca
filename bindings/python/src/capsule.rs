//! Import and export of Arrow arrays and streams through the Arrow C interface in Python capsules.
//!
//! A capsule with the right name holds a structure of the interface. The data that the structure
//! describes is checked before use, see [`foreign`](crate::foreign). The interface is specified at
//! <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>.
#![expect(unsafe_code, reason = "the C interface passes pointers")]

use std::collections::HashMap;
use std::ffi::CStr;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, ArrayRef, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use fpstore::Recipe;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use crate::errors::{Failure, input_error};
use crate::foreign::{array_of, kind_of};
use crate::foreign_fault::Fault;
use crate::work::caught;

/// The key of the recipe text in the metadata of an Arrow field.
pub(crate) const RECIPE_KEY: &str = "fpstore.recipe";

const ARRAY: &CStr = c"arrow_array";
const SCHEMA: &CStr = c"arrow_schema";
const STREAM: &CStr = c"arrow_array_stream";

/// Iterator over the Arrow arrays of a Python object; each is checked before it is returned.
pub(crate) struct Arrays {
    source: Source,
    /// The noun for error messages, such as `texts`.
    what: &'static str,
    /// The number of rows in the arrays returned so far.
    rows: usize,
}

enum Source {
    One(Option<(FFI_ArrowArray, DataType)>),
    Stream(Box<Stream>),
}

/// An Arrow stream taken out of a capsule, with the type of its arrays.
struct Stream {
    stream: FFI_ArrowArrayStream,
    kind: DataType,
}

impl Iterator for Arrays {
    type Item = Result<ArrayRef, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        let what = self.what;
        caught(|| self.read().map_err(|fault| Failure::Input(fault.message(what)))).transpose()
    }
}

impl Arrays {
    fn read(&mut self) -> Result<Option<ArrayRef>, Fault> {
        let next = match &mut self.source {
            Source::One(array) => array.take(),
            Source::Stream(stream) => stream.read()?,
        };
        let Some((array, kind)) = next else { return Ok(None) };
        // SAFETY: the array and the schema behind `kind` came from a capsule or a stream, whose
        // producer filled them according to the interface.
        let array = unsafe { array_of(array, &kind, self.rows)? };
        self.rows += array.len();
        Ok(Some(array))
    }
}

impl Stream {
    /// Reads the schema of a stream from a capsule. Fails if the stream was already consumed.
    fn new(mut stream: FFI_ArrowArrayStream) -> Result<Self, Fault> {
        let Some(get_schema) = stream.get_schema().filter(|_| stream.release().is_some()) else {
            return Err(Fault::new("this Arrow stream was already consumed; create a new stream"));
        };
        let mut schema = FFI_ArrowSchema::empty();
        // SAFETY: the stream is not released, as checked above, and this is its callback.
        let code = unsafe { get_schema(&raw mut stream, &raw mut schema) };
        if code != 0 {
            return Err(failed(&mut stream, "schema", code));
        }
        // SAFETY: `get_schema` succeeded, so it filled the schema according to the interface.
        let kind = unsafe { kind_of(&schema)? };
        Ok(Stream { stream, kind })
    }

    fn read(&mut self) -> Result<Option<(FFI_ArrowArray, DataType)>, Fault> {
        let Some(get_next) = self.stream.get_next() else {
            return Err(Fault::new("this Arrow stream has no function get_next"));
        };
        let mut array = FFI_ArrowArray::empty();
        // SAFETY: `new` checked that the stream is not released, and this is its callback.
        let code = unsafe { get_next(&raw mut self.stream, &raw mut array) };
        if code != 0 {
            return Err(failed(&mut self.stream, "next array", code));
        }
        // A released array marks the end.
        Ok(if array.is_released() { None } else { Some((array, self.kind.clone())) })
    }
}

/// The fault for a failed callback of the stream, with the stream's own message.
fn failed(stream: &mut FFI_ArrowArrayStream, what: &str, code: i32) -> Fault {
    let text = stream.get_last_error().map(|last_error| {
        // SAFETY: the stream is not released, this is its callback, and its last call failed.
        unsafe { last_error(std::ptr::from_mut(stream)) }
    });
    let text = match text {
        // SAFETY: by the interface, the text ends with a zero byte and lives until the stream's
        // next call.
        Some(at) if !at.is_null() => unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned(),
        _ => "no reason was given".to_owned(),
    };
    Fault::new(format!("its producer did not return the {what} (error {code}): {text}"))
}

/// The arrays of an object with an Arrow interface, or `None` for another object. `what` is the
/// noun for messages, such as `texts`.
pub(crate) fn arrays_of(object: &Bound<'_, PyAny>, what: &'static str) -> PyResult<Option<Arrays>> {
    let source = if object.hasattr("__arrow_c_array__")? {
        let capsules = object.call_method0("__arrow_c_array__")?;
        let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) = capsules.extract()?;
        array_in(&schema, &array)?
    } else if object.hasattr("__arrow_c_stream__")? {
        let capsule = object.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
        stream_in(&capsule)?
    } else {
        return Ok(None);
    };
    match source {
        Ok(source) => Ok(Some(Arrays { source, what, rows: 0 })),
        Err(fault) => Err(input_error(object.py(), fault.message(what))),
    }
}

/// The type and metadata of an object that exports its schema without data, else `None`.
pub(crate) fn schema_of(object: &Bound<'_, PyAny>) -> PyResult<Option<Field>> {
    const METHOD: &str = "__arrow_c_schema__";
    let py = object.py();
    let teller = if object.hasattr(METHOD)? {
        object.clone()
    } else if object.hasattr("__arrow_c_stream__")? && object.hasattr("schema")? {
        // A pyarrow table exports its schema through its attribute `schema`.
        let schema = object.getattr("schema")?;
        if !schema.hasattr(METHOD)? {
            return Ok(None);
        }
        schema
    } else {
        return Ok(None);
    };
    let capsule = teller.call_method0(METHOD)?.cast_into::<PyCapsule>()?;
    let at = capsule.pointer_checked(Some(SCHEMA))?;
    // SAFETY: the name of the capsule was checked, so it holds this structure, which lives until the
    // end of this function.
    let schema = unsafe { at.cast::<FFI_ArrowSchema>().as_ref() };
    // SAFETY: the producer of the capsule filled the schema according to the interface.
    let kind = caught(|| Ok(unsafe { kind_of(schema) }))?;
    if let Err(fault) = kind {
        return Err(input_error(py, fault.message("fingerprints")));
    }
    let field = caught(|| Ok(Field::try_from(schema)))?;
    field.map(Some).map_err(|error| arrow_error(py, &error))
}

fn array_in(
    schema: &Bound<'_, PyCapsule>,
    array: &Bound<'_, PyCapsule>,
) -> PyResult<Result<Source, Fault>> {
    let (schema, array) =
        (schema.pointer_checked(Some(SCHEMA))?, array.pointer_checked(Some(ARRAY))?);
    // SAFETY: the names of the capsules were checked, so they hold these structures, and both live
    // until the end of this function. The array is moved out and marked as released.
    let (kind, array) = unsafe {
        let kind = caught(|| Ok(kind_of(schema.cast::<FFI_ArrowSchema>().as_ref())))?;
        (kind, FFI_ArrowArray::from_raw(array.as_ptr().cast()))
    };
    Ok(kind.map(|kind| Source::One(Some((array, kind)))))
}

fn stream_in(capsule: &Bound<'_, PyCapsule>) -> PyResult<Result<Source, Fault>> {
    let at = capsule.pointer_checked(Some(STREAM))?;
    // SAFETY: the name of the capsule was checked, so it holds this structure. It is moved out and
    // marked as released.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(at.as_ptr().cast()) };
    let stream = caught(|| Ok(Stream::new(stream)))?;
    Ok(stream.map(|stream| Source::Stream(Box::new(stream))))
}

fn arrow_error(py: Python<'_>, error: &ArrowError) -> PyErr {
    input_error(py, format!("cannot export Arrow data: {error}"))
}

/// Two capsules: the schema, with the recipe in its metadata, and the array.
pub(crate) fn export_array<'py>(
    py: Python<'py>,
    array: &dyn Array,
    recipe: Option<&Recipe>,
) -> PyResult<Bound<'py, PyTuple>> {
    let metadata = recipe.map(|recipe| (RECIPE_KEY.to_owned(), recipe.text().to_owned()));
    let field = Field::new("", array.data_type().clone(), true);
    let field = field.with_metadata(metadata.into_iter().collect::<HashMap<_, _>>());
    let schema = FFI_ArrowSchema::try_from(&field).map_err(|error| arrow_error(py, &error))?;
    let array = FFI_ArrowArray::new(&array.to_data());
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
