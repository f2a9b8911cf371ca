//! Reads the data in arguments: fingerprints, ids, texts and batches, from Python objects, numpy,
//! Arrow, and libraries that support the interfaces of these.
//!
//! All values are copied while the interpreter is held: once it is released, other Python threads
//! may change a numpy array. Errors name the type of an unsuitable object.

pub(crate) mod arguments;
pub(crate) mod batches;
pub(crate) mod bits;
pub(crate) mod fingerprints;
pub(crate) mod ids;
mod owned;
pub(crate) mod texts;
pub(crate) mod whole;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use numpy::{PyArray1, PyArrayDescrMethods, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyFrozenSet, PyMemoryView, PySet};

use crate::capsule::arrays_of;
use crate::errors::input_error;
use owned::owned_texts;

/// Lets Ctrl-C interrupt the copying of a long sequence; called for each item number `at`.
fn look_at_signals(py: Python<'_>, at: usize) -> PyResult<()> {
    if at % 1024 == 1023 { py.check_signals() } else { Ok(()) }
}

/// Whether an object belongs to pandas. Such objects are read without their Arrow interface, which
/// needs pyarrow.
pub(crate) fn is_pandas(object: &Bound<'_, PyAny>) -> bool {
    let module = object.get_type().getattr("__module__");
    let module: String = module.and_then(|module| module.extract()).unwrap_or_default();
    module == "pandas" || module.starts_with("pandas.")
}

/// Converts a Series, an Index or an array of pandas to a numpy array, and refuses nulls. `None`
/// for other objects.
fn of_pandas<'py>(object: &Bound<'py, PyAny>, what: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = object.py();
    if !is_pandas(object) {
        return Ok(None);
    }
    if object.hasattr("columns")? {
        let message = format!("{what} must be one column, not a DataFrame; choose a column of it");
        return Err(input_error(py, message));
    }
    if !object.hasattr("to_numpy")? || !object.hasattr("isna")? {
        return Ok(None);
    }
    let nulls: u64 = object.call_method0("isna")?.call_method0("sum")?.extract()?;
    if nulls > 0 {
        let count = object.len()?;
        return Err(input_error(py, format!("{nulls} of {count} {what} are null")));
    }
    Ok(Some(object.call_method0("to_numpy")?))
}

/// The type of a numpy array: its kind, such as `u`, the size of an item in bytes, and its name.
fn kind_of(array: &Bound<'_, PyUntypedArray>) -> PyResult<(u8, usize, String)> {
    let dtype = array.dtype();
    let name: String = dtype.getattr("name")?.extract()?;
    Ok((dtype.kind(), dtype.itemsize(), name))
}

/// Whether an array has no items. Then its type is ignored: numpy makes a float array of `[]`.
fn is_empty(array: &Bound<'_, PyUntypedArray>) -> bool {
    array.ndim() > 0 && array.shape()[0] == 0
}

/// Refuses a lazy table of polars.
pub(crate) fn check_not_lazy(object: &Bound<'_, PyAny>, what: &str) -> PyResult<()> {
    if object.get_type().name()? == "LazyFrame" && object.hasattr("collect")? {
        let message =
            format!("{what} must be in a table, not in a LazyFrame; make a table with collect()");
        return Err(input_error(object.py(), message));
    }
    Ok(())
}

/// Refuses arrays that do not have exactly one dimension.
fn check_one_dimension(array: &Bound<'_, PyUntypedArray>, what: &str) -> PyResult<()> {
    match array.ndim() {
        1 => Ok(()),
        count => {
            let message = format!("{what} must have one dimension, but this array has {count}");
            Err(input_error(array.py(), message))
        }
    }
}

/// The integers of a numpy array of any layout, byte order and width, as bit patterns of 64 bits.
fn integers(array: &Bound<'_, PyUntypedArray>, is_signed: bool) -> PyResult<Vec<u64>> {
    let py = array.py();
    let name = if is_signed { "int64" } else { "uint64" };
    // Copies the array only if it is not a contiguous, aligned array of native 64-bit integers.
    let options = PyDict::new(py);
    options.set_item("dtype", name)?;
    options.set_item("requirements", "CA")?;
    let plain = py.import("numpy")?.call_method("require", (array,), Some(&options))?;
    if is_signed {
        let plain = plain.cast_into::<PyArray1<i64>>().map_err(PyErr::from)?;
        let plain = plain.try_readonly()?;
        Ok(plain.as_slice()?.iter().map(|value| value.cast_unsigned()).collect())
    } else {
        let plain = plain.cast_into::<PyArray1<u64>>().map_err(PyErr::from)?;
        let plain = plain.try_readonly()?;
        Ok(plain.as_slice()?.to_vec())
    }
}

/// Refuses objects without an order, and bytes in place of numbers.
fn check_ordered(object: &Bound<'_, PyAny>, what: &str) -> PyResult<()> {
    let is_ordered = !object.is_instance_of::<PySet>()
        && !object.is_instance_of::<PyFrozenSet>()
        && !object.is_instance_of::<PyDict>();
    let is_bytes = object.is_instance_of::<PyBytes>()
        || object.is_instance_of::<PyByteArray>()
        || object.is_instance_of::<PyMemoryView>();
    if is_ordered && !is_bytes {
        return Ok(());
    }
    let kind = object.get_type().qualname()?;
    let remedy = if is_bytes { "make an array with numpy.frombuffer" } else { "make a list of it" };
    let message = format!("{what} must be a sequence or an array, not {kind}; {remedy}");
    Err(input_error(object.py(), message))
}

/// For each item of a numpy masked array, whether it is masked; `None` for other arrays.
fn mask_of(array: &Bound<'_, PyUntypedArray>) -> PyResult<Option<Vec<bool>>> {
    if array.is_exact_instance_of::<PyUntypedArray>() {
        return Ok(None);
    }
    let masked = array.py().import("numpy.ma")?;
    if !array.is_instance(&masked.getattr("MaskedArray")?)? {
        return Ok(None);
    }
    let mask = masked.call_method1("getmaskarray", (array,))?;
    Ok(Some(mask.call_method0("ravel")?.call_method0("tolist")?.extract()?))
}

/// Refuses numpy arrays with masked items.
fn check_no_mask(array: &Bound<'_, PyUntypedArray>, what: &str) -> PyResult<()> {
    let mask = mask_of(array)?.unwrap_or_default();
    let nulls = mask.iter().filter(|is| **is).count();
    check_no_nulls(array.py(), nulls, mask.len(), what)
}

/// The single column of a struct array; other arrays are returned unchanged.
fn only_column(py: Python<'_>, array: ArrayRef, what: &str) -> PyResult<ArrayRef> {
    check_no_null_rows(py, &array, what)?;
    let DataType::Struct(fields) = array.data_type() else { return Ok(array) };
    if fields.len() != 1 {
        let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
        let names = names.join(", ");
        let message =
            format!("{what} must be one column, but this table has {}: {names}", fields.len());
        return Err(input_error(py, message));
    }
    Ok(array.as_struct().column(0).clone())
}

/// Calls `each` with each column of an object with an Arrow interface. Returns `false` for other
/// objects.
pub(crate) fn each_column(
    object: &Bound<'_, PyAny>,
    what: &'static str,
    mut each: impl FnMut(ArrayRef) -> PyResult<()>,
) -> PyResult<bool> {
    let Some(arrays) = arrays_of(object, what)? else { return Ok(false) };
    let py = object.py();
    for array in arrays {
        each(only_column(py, array?, what)?)?;
    }
    Ok(true)
}

/// The way to read the values of an argument.
enum Given<'py> {
    Numpy(Bound<'py, PyUntypedArray>),
    /// The chunks of an Arrow column.
    Arrow(Vec<ArrayRef>),
    /// Another object, whose values are read one by one.
    Items,
}

impl<'py> Given<'py> {
    fn of(object: &Bound<'py, PyAny>, what: &'static str) -> PyResult<Self> {
        if let Ok(array) = object.cast::<PyUntypedArray>() {
            return Ok(Given::Numpy(array.clone()));
        }
        check_not_lazy(object, what)?;
        if let Some(array) = of_pandas(object, what)? {
            return Given::of(&array, what);
        }
        let mut columns = Vec::new();
        let is_arrow = each_column(object, what, |column| {
            columns.push(column);
            Ok(())
        })?;
        Ok(if is_arrow { Given::Arrow(columns) } else { Given::Items })
    }
}

/// Refuses null rows of a struct array, because its columns do not contain these nulls.
fn check_no_null_rows(py: Python<'_>, array: &ArrayRef, what: &str) -> PyResult<()> {
    match array.data_type() {
        DataType::Struct(_) => check_no_nulls(py, array.null_count(), array.len(), what),
        _ => Ok(()),
    }
}

/// Refuses nulls; the error reports their number.
fn check_no_nulls(py: Python<'_>, nulls: usize, count: usize, what: &str) -> PyResult<()> {
    if nulls == 0 {
        return Ok(());
    }
    Err(input_error(py, format!("{nulls} of {count} {what} are null")))
}

/// The name of an Arrow type for messages.
fn arrow_name(kind: &DataType) -> String {
    match kind {
        DataType::Float32 => "float".into(),
        DataType::Float64 => "double".into(),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "string".into(),
        DataType::Boolean => "bool".into(),
        other => format!("{other}").to_lowercase(),
    }
}

/// Calls `each` with every text of a text column, `None` for a null. Returns `false` for columns of
/// other types.
fn each_text(
    py: Python<'_>,
    array: &ArrayRef,
    mut each: impl FnMut(Option<&str>) -> PyResult<()>,
) -> PyResult<bool> {
    if let DataType::Dictionary(..) = array.data_type() {
        let dictionary = array.as_any_dictionary();
        let Some(values) = owned_texts(py, dictionary.values())? else { return Ok(false) };
        // If the dictionary has no values, all keys are null and `normalized_keys` would fail.
        let keys = match values.len() {
            0 => vec![0; dictionary.len()],
            _ => dictionary.normalized_keys(),
        };
        for (at, key) in keys.into_iter().enumerate() {
            let is_there = !dictionary.is_null(at) && key < values.len() && values.is_valid(key);
            each(is_there.then(|| values.value(key)))?;
        }
        return Ok(true);
    }
    let Some(texts) = owned_texts(py, array)? else { return Ok(false) };
    texts.iter().try_for_each(each)?;
    Ok(true)
}

/// The column of the table that has this name, or `None`. Two such columns are an error.
pub(crate) fn column_named<'a>(
    py: Python<'_>,
    table: &'a ArrayRef,
    name: &str,
) -> PyResult<Option<&'a ArrayRef>> {
    let Some(table) = table.as_struct_opt() else { return Ok(None) };
    let mut named = (0..table.num_columns()).filter(|at| table.fields()[*at].name() == name);
    match (named.next(), named.next()) {
        (_, Some(_)) => Err(two_columns(py, name)),
        (first, None) => Ok(first.map(|at| table.column(at))),
    }
}

/// The error of a column name that two columns have.
pub(crate) fn two_columns(py: Python<'_>, name: &str) -> PyErr {
    input_error(py, format!("two columns have the name '{name}'"))
}
