//! Converts Python objects and arrays to fingerprints.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use fpstore::{Fingerprint, IdRef, Radix};
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyList, PyString, PyTuple};

use super::{
    Given, arrow_name, check_no_mask, check_no_nulls, check_one_dimension, check_ordered,
    each_column, each_text, integers, is_empty, is_pandas, kind_of, look_at_signals, mask_of,
};
use crate::errors::{input_error, is_input_error};
use crate::work::held;

const WHAT: &str = "fingerprints";
const EXPECTED: &str = "fingerprints must be uint64, int64, or texts of hex digits";

/// One fingerprint: an integer from -2^63 to 2^64 - 1, or 1 to 16 hex digits.
pub(crate) fn one(object: &Bound<'_, PyAny>) -> PyResult<Fingerprint> {
    if let Ok(number) = object.cast::<PyInt>()
        && !object.is_instance_of::<PyBool>()
    {
        return of_int(number);
    }
    if let Ok(text) = object.cast::<PyString>() {
        let hex = text.to_str().map_err(|_| {
            input_error(object.py(), "a text with a lone surrogate is not a fingerprint")
        })?;
        return of_hex(object.py(), hex);
    }
    let is_number = object.hasattr("__index__")? && !is_array(object)?;
    if !is_number || object.is_instance_of::<PyBool>() || is_numpy_bool(object)? {
        let kind = object.get_type().qualname()?;
        let has_many = !object.is_instance_of::<PyBytes>() && object.hasattr("__len__")?;
        let remedy = if has_many { "; query_many takes many" } else { "" };
        let message =
            format!("a fingerprint must be an int or a text of hex digits, not {kind}{remedy}");
        return Err(input_error(object.py(), message));
    }
    of_int(object.call_method0("__index__")?.cast::<PyInt>()?)
}

/// Whether an object is a numpy array with at least one dimension.
fn is_array(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(object.cast::<PyUntypedArray>().is_ok_and(|array| array.ndim() > 0))
}

fn is_numpy_bool(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let name = object.get_type().name()?;
    Ok(name == "bool_" || name == "bool")
}

fn of_int(number: &Bound<'_, PyInt>) -> PyResult<Fingerprint> {
    if let Ok(value) = number.extract::<u64>() {
        return Ok(Fingerprint::new(value));
    }
    match number.extract::<i64>() {
        Ok(value) => Ok(Fingerprint::new(value.cast_unsigned())),
        Err(_) => {
            let message = format!(
                "{} is not a fingerprint of 64 bits, expected -2**63 to 2**64 - 1",
                number.str()?.to_string_lossy()
            );
            Err(input_error(number.py(), message))
        }
    }
}

fn of_hex(py: Python<'_>, text: &str) -> PyResult<Fingerprint> {
    Fingerprint::parse(text, Radix::Hex).map_err(|fault| {
        let digits = text.strip_prefix("0x").unwrap_or(text);
        let is_long = digits.len() > 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_long {
            let bits = digits.len() * 4;
            let message = format!("'{text}' has {bits} bits; a fingerprint has 64");
            return input_error(py, message);
        }
        input_error(py, fault)
    })
}

/// Copies many fingerprints from a sequence or an array.
pub(crate) fn many(object: &Bound<'_, PyAny>) -> PyResult<Vec<Fingerprint>> {
    held(|| Ok(read(object)?))
}

fn read(object: &Bound<'_, PyAny>) -> PyResult<Vec<Fingerprint>> {
    let py = object.py();
    match Given::of(object, WHAT)? {
        Given::Numpy(array) => return of_numpy(&array),
        Given::Arrow(columns) => return of_arrow(py, &columns),
        Given::Items => {}
    }
    if object.is_instance_of::<PyString>() || object.is_instance_of::<PyBytes>() {
        let kind = object.get_type().qualname()?;
        let message = format!("fingerprints must be a sequence or an array, not a single {kind}");
        return Err(input_error(py, message));
    }
    check_ordered(object, WHAT)?;
    // `try_reserve`: a wrong `__len__` can exceed the memory, which must not end the process.
    let (mut values, len) = (Vec::new(), object.len().unwrap_or(0));
    if values.try_reserve_exact(len).is_err() {
        let message = format!("{len} fingerprints take {} bytes: too much memory", 8 * len as u128);
        return Err(PyMemoryError::new_err(message));
    }
    let iterator = object.try_iter().map_err(|_| {
        let kind = object.get_type().qualname();
        let kind = kind.map_or_else(|_| "this".to_owned(), |kind| kind.to_string());
        input_error(py, format!("fingerprints must be a sequence or an array, not {kind}"))
    })?;
    for (at, item) in iterator.enumerate() {
        look_at_signals(py, at)?;
        let item = item?;
        values.push(one_of_many(&item, at)?);
    }
    Ok(values)
}

/// The fingerprint at position `at` of a sequence; an error reports this position.
fn one_of_many(item: &Bound<'_, PyAny>, at: usize) -> PyResult<Fingerprint> {
    let py = item.py();
    if item.is_none() {
        return Err(input_error(py, format!("fingerprint number {at} is None")));
    }
    if item.is_instance_of::<PyFloat>() {
        return Err(input_error(py, format!("fingerprint number {at} is a float; {EXPECTED}")));
    }
    one(item).map_err(|error| at_number(py, at, &error))
}

/// The error of one fingerprint, with its position.
fn at_number(py: Python<'_>, at: usize, error: &PyErr) -> PyErr {
    if !is_input_error(py, error) {
        return error.clone_ref(py);
    }
    input_error(py, format!("fingerprint number {at}: {}", error.value(py)))
}

fn of_numpy(array: &Bound<'_, PyUntypedArray>) -> PyResult<Vec<Fingerprint>> {
    let py = array.py();
    check_no_mask(array, WHAT)?;
    let (kind, len, name) = kind_of(array)?;
    if is_empty(array) {
        return Ok(Vec::new());
    }
    match (kind, len) {
        // Rows of eight bytes, the format of binary vectors in FAISS.
        (b'u', 1) if array.ndim() == 2 && array.shape()[1] == 8 => {
            let rows = array.call_method0("tobytes")?;
            let rows = rows.cast::<PyBytes>()?.as_bytes();
            let (rows, _) = rows.as_chunks::<8>();
            Ok(rows.iter().map(|row| Fingerprint::new(u64::from_le_bytes(*row))).collect())
        }
        (b'u', 1) => {
            let shape = array.getattr("shape")?;
            let message = format!(
                "fingerprints in bytes must be uint8 of shape (n, 8), as in FAISS; this array has \
                 shape {shape}"
            );
            Err(input_error(py, message))
        }
        (b'u' | b'i', 8) => {
            check_one_dimension(array, WHAT)?;
            Ok(integers(array, kind == b'i')?.into_iter().map(Fingerprint::new).collect())
        }
        (b'O' | b'U' | b'T', _) => {
            check_one_dimension(array, WHAT)?;
            many(&array.call_method0("tolist")?)
        }
        (b'b', _) => {
            let message = "fingerprints must be numbers, not bool; to convert bits, use from_bits";
            Err(input_error(py, message))
        }
        _ => Err(input_error(py, format!("{EXPECTED}; these are {name}"))),
    }
}

pub(super) fn of_arrow(py: Python<'_>, columns: &[ArrayRef]) -> PyResult<Vec<Fingerprint>> {
    let count = columns.iter().map(|column| column.len()).sum();
    let nulls = columns.iter().map(|column| column.logical_null_count()).sum();
    check_no_nulls(py, nulls, count, WHAT)?;
    let mut values = Vec::with_capacity(count);
    for column in columns {
        extend_by_arrow(py, column, &mut values)?;
    }
    Ok(values)
}

/// Values that the caller only compares for equality: fingerprints, or row numbers in integers of
/// any width.
pub(crate) fn many_of_any_width(object: &Bound<'_, PyAny>) -> PyResult<Vec<Fingerprint>> {
    let is_wide =
        |kind: &DataType| !kind.is_integer() || matches!(kind, DataType::UInt64 | DataType::Int64);
    held(|| {
        let ids = match Given::of(object, WHAT)? {
            Given::Numpy(array)
                if matches!(kind_of(&array)?.0, b'u' | b'i') && array.dtype().itemsize() < 8 =>
            {
                super::ids::of_numpy(&array)?
            }
            Given::Numpy(array) => return Ok(of_numpy(&array)?),
            Given::Arrow(columns) if columns.iter().any(|of| is_wide(of.data_type())) => {
                return Ok(of_arrow(object.py(), &columns)?);
            }
            Given::Arrow(columns) => super::ids::of_arrow(object.py(), &columns)?,
            Given::Items => return Ok(read(object)?),
        };
        let number = |id| if let IdRef::U64(number) = id { Some(number) } else { None };
        Ok(ids.iter().filter_map(number).map(Fingerprint::new).collect())
    })
}

/// Adds the fingerprints of a column without nulls.
pub(crate) fn extend_by_arrow(
    py: Python<'_>,
    column: &ArrayRef,
    values: &mut Vec<Fingerprint>,
) -> PyResult<()> {
    match column.data_type() {
        _ if column.is_empty() => {}
        DataType::UInt64 => {
            let column = column.as_primitive::<UInt64Type>();
            values.extend(column.values().iter().map(|&value| Fingerprint::new(value)));
        }
        DataType::Int64 => {
            let column = column.as_primitive::<Int64Type>();
            let values_of = column.values().iter();
            values.extend(values_of.map(|value| Fingerprint::new(value.cast_unsigned())));
        }
        kind => {
            let is_text = each_text(py, column, |text| {
                let at = values.len();
                let text = text.unwrap_or_default();
                let value = of_hex(py, text).map_err(|error| at_number(py, at, &error))?;
                values.push(value);
                Ok(())
            })?;
            if !is_text {
                return Err(input_error(py, format!("{EXPECTED}; these are {}", arrow_name(kind))));
            }
        }
    }
    Ok(())
}

/// The fingerprints of a column, in which rows can be null.
#[derive(Default)]
pub(crate) struct Nullable {
    /// One value for each row, arbitrary for null rows.
    values: Vec<Fingerprint>,
    /// Whether each row is null; rows beyond the end of this list are not.
    is_missing: Vec<bool>,
}

impl Nullable {
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    pub(crate) fn get(&self, row: usize) -> Option<Fingerprint> {
        self.values.get(row).filter(|_| !is_set(&self.is_missing, row)).copied()
    }

    /// The fingerprints of all rows that are not null, in order.
    pub(crate) fn known(&self) -> impl Iterator<Item = Fingerprint> + Clone {
        (0..self.len()).filter_map(|row| self.get(row))
    }

    /// Maps every row with `each`. The results reuse the memory of the fingerprints.
    pub(crate) fn into_each<E>(
        self,
        mut each: impl FnMut(usize, Option<Fingerprint>) -> Result<i64, E>,
    ) -> Result<Vec<i64>, E> {
        let Nullable { values, is_missing } = self;
        let rows = values.into_iter().enumerate();
        rows.map(|(row, value)| each(row, (!is_set(&is_missing, row)).then_some(value))).collect()
    }

    fn push(&mut self, value: Option<Fingerprint>) {
        if value.is_none() {
            self.is_missing.resize(self.len(), false);
            self.is_missing.push(true);
        }
        self.values.push(value.unwrap_or_default());
    }

    fn extend_by_arrow(&mut self, py: Python<'_>, column: &ArrayRef) -> PyResult<()> {
        if let Some(nulls) = column.logical_nulls().filter(|nulls| nulls.null_count() > 0) {
            let kind = column.data_type();
            if *kind == DataType::Null {
                nulls.iter().for_each(|_| self.push(None));
                return Ok(());
            }
            if !matches!(kind, DataType::UInt64 | DataType::Int64) {
                let is_text = each_text(py, column, |text| {
                    let value = text.map(|text| of_hex(py, text)).transpose();
                    self.push(value.map_err(|error| at_number(py, self.len(), &error))?);
                    Ok(())
                })?;
                if is_text {
                    return Ok(());
                }
                return Err(input_error(py, format!("{EXPECTED}; these are {}", arrow_name(kind))));
            }
            self.is_missing.resize(self.len(), false);
            self.is_missing.extend(nulls.iter().map(|is_known| !is_known));
        }
        extend_by_arrow(py, column, &mut self.values)
    }
}

/// Whether the flag of a row is set; rows beyond the end have no flag.
fn is_set(marks: &[bool], row: usize) -> bool {
    marks.get(row).is_some_and(|is| *is)
}

/// Copies many fingerprints with nulls: nulls of Arrow and pandas, or `None` in sequences.
pub(crate) fn many_or_null(object: &Bound<'_, PyAny>) -> PyResult<Nullable> {
    held(|| Ok(read_or_null(object)?))
}

fn read_or_null(object: &Bound<'_, PyAny>) -> PyResult<Nullable> {
    let py = object.py();
    let mut rows = Nullable::default();
    if is_pandas(object) && object.hasattr("dropna")? {
        let mut known = read(&object.call_method0("dropna")?)?.into_iter();
        let missing: Vec<bool> = object.call_method0("isna")?.call_method0("tolist")?.extract()?;
        missing.into_iter().for_each(|is| rows.push(if is { None } else { known.next() }));
        return Ok(rows);
    }
    let is_arrow = !object.is_instance_of::<PyUntypedArray>()
        && each_column(object, WHAT, |column| rows.extend_by_arrow(py, &column))?;
    if is_arrow {
        return Ok(rows);
    }
    if let Ok(array) = object.cast::<PyUntypedArray>() {
        if let Some(mask) = mask_of(array)? {
            rows.values = read(&array.getattr("data")?)?;
            rows.is_missing = mask;
            return Ok(rows);
        }
        if array.dtype().kind() == b'O' && array.ndim() == 1 {
            return read_or_null(&array.call_method0("tolist")?);
        }
    }
    if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        for (at, item) in object.try_iter()?.enumerate() {
            look_at_signals(py, at)?;
            let item = item?;
            rows.push(if item.is_none() { None } else { Some(one_of_many(&item, at)?) });
        }
        return Ok(rows);
    }
    rows.values = many(object)?;
    Ok(rows)
}
