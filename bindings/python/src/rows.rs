//! Answers in columns: rows in memory, and single columns. They own Arrow arrays and give them away
//! by the Arrow interface.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, UInt8Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchIterator, UInt64Array};
use arrow_schema::{DataType, SchemaRef};
use numpy::{Element, PyArray1};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyList, PyTuple};

use crate::capsule::{export_array, export_schema, export_stream};
use crate::errors::input_error;

/// Rows in columns, in memory. `pyarrow.table(rows)`, `polars.DataFrame(rows)` and DuckDB, by the
/// name of the variable, take them as they are; `rows["distance"]` is an array of numpy.
///
/// >>> rows = store.query_many([0xC0F1789BED2EB9B8], k=1)
/// >>> rows["distance"]
/// array([0, 1], dtype=uint8)
/// >>> for query, fingerprint, distance, id in rows:
/// ...     print(distance, id)
/// 0 a.html
/// 1 b.html
#[pyclass(frozen, module = "fpstore")]
#[derive(Debug)]
pub(crate) struct Rows {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    cut: bool,
}

impl Rows {
    pub(crate) fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        Rows { schema, batches, cut: false }
    }

    pub(crate) fn with_cut(self, cut: bool) -> Self {
        Rows { cut, ..self }
    }

    pub(crate) fn into_batches(self) -> Vec<RecordBatch> {
        self.batches
    }

    fn count(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// The arrays of a column.
    fn column(&self, py: Python<'_>, name: &str) -> PyResult<Vec<ArrayRef>> {
        let Ok(at) = self.schema.index_of(name) else {
            let names = self.names().join(", ");
            let _ = py;
            return Err(PyKeyError::new_err(format!("no column '{name}', there are {names}")));
        };
        Ok(self.batches.iter().map(|batch| batch.column(at).clone()).collect())
    }

    fn names(&self) -> Vec<&str> {
        self.schema.fields().iter().map(|field| field.name().as_str()).collect()
    }
}

#[pymethods]
impl Rows {
    fn __len__(&self) -> usize {
        self.count()
    }

    /// The names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.names().into_iter().map(str::to_owned).collect()
    }

    /// Whether `limit` cut any answer.
    #[getter]
    fn cut(&self) -> bool {
        self.cut
    }

    fn __getitem__<'py>(&self, py: Python<'py>, column: &str) -> PyResult<Bound<'py, PyAny>> {
        let arrays = self.column(py, column)?;
        let kind = self.schema.field_with_name(column).map(|field| field.data_type().clone());
        let kind = kind.unwrap_or(DataType::Null);
        if kind == DataType::Utf8 {
            let texts = PyList::new(py, each_value(&arrays, text_at))?;
            return object_array(py, texts);
        }
        if kind == DataType::Binary {
            let bytes = each_value(&arrays, |array, at| array.as_binary::<i32>().value(at));
            return object_array(py, PyList::new(py, bytes)?);
        }
        let nulls: usize = arrays.iter().map(|array| array.null_count()).sum();
        if nulls > 0 {
            let message = format!(
                "{nulls} values of column '{column}' are null, which numpy has no value for; use \
                 to_pylist(), or hand the rows to an Arrow library"
            );
            return Err(input_error(py, message));
        }
        numpy_of(py, &kind, &arrays)
    }

    /// The rows as tuples; a null is `None`.
    fn to_pylist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for batch in &self.batches {
            for at in 0..batch.num_rows() {
                if at % 1024 == 1023 {
                    py.check_signals()?;
                }
                let row: PyResult<Vec<_>> =
                    batch.columns().iter().map(|column| value_at(py, column, at)).collect();
                list.append(PyTuple::new(py, row?)?)?;
            }
        }
        Ok(list)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.to_pylist(py)?.try_iter()?.into_any())
    }

    #[pyo3(signature = (requested_schema=None, /))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches: Vec<_> = self.batches.iter().cloned().map(Ok).collect();
        export_stream(py, Box::new(RecordBatchIterator::new(batches, self.schema.clone())))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        export_schema(py, &self.schema)
    }

    fn __repr__(&self) -> String {
        let count = self.count();
        let noun = if count == 1 { "row" } else { "rows" };
        format!("<fpstore.Rows: {count} {noun} of {}>", self.names().join(", "))
    }
}

/// One column of `uint64` with nulls. `pyarrow.array(column)` and `polars.Series(column)` take it
/// as it is.
#[pyclass(frozen, module = "fpstore")]
#[derive(Debug)]
pub(crate) struct Column(pub(crate) UInt64Array);

#[pymethods]
impl Column {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// The number of nulls.
    #[getter]
    fn null_count(&self) -> usize {
        self.0.null_count()
    }

    /// The values as an array of numpy, with the number `null` where there is none. Without it
    /// nulls are refused.
    #[pyo3(signature = (*, null=None))]
    fn to_numpy<'py>(
        &self,
        py: Python<'py>,
        null: Option<u64>,
    ) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let nulls = self.0.null_count();
        let values = match null {
            None if nulls > 0 => {
                let message = format!(
                    "{nulls} of {} are null, which numpy has no value for: \
                     to_numpy(null=0) puts 0 there, is_null() says where",
                    self.0.len()
                );
                return Err(input_error(py, message));
            }
            Some(null) if nulls > 0 => self.0.iter().map(|value| value.unwrap_or(null)).collect(),
            _ => self.0.values().to_vec(),
        };
        Ok(PyArray1::from_vec(py, values))
    }

    /// For each value whether it is null.
    fn is_null<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        PyArray1::from_vec(py, (0..self.0.len()).map(|at| self.0.is_null(at)).collect())
    }

    /// The values as a list, with `None` for a null.
    fn to_pylist(&self) -> Vec<Option<u64>> {
        self.0.iter().collect()
    }

    #[pyo3(signature = (requested_schema=None, /))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let _ = requested_schema;
        export_array(py, &self.0)
    }

    fn __repr__(&self) -> String {
        format!("<fpstore.Column: {} of uint64, {} null>", self.0.len(), self.0.null_count())
    }
}

fn object_array<'py>(py: Python<'py>, items: Bound<'py, PyList>) -> PyResult<Bound<'py, PyAny>> {
    let numpy = py.import("numpy")?;
    let array = numpy.call_method1("empty", (items.len(), "object"))?;
    array.set_item(pyo3::types::PySlice::full(py), items)?;
    Ok(array)
}

fn each_value<'a, T>(arrays: &'a [ArrayRef], of: impl Fn(&'a ArrayRef, usize) -> T + 'a) -> Vec<T> {
    arrays
        .iter()
        .flat_map(|array| (0..array.len()).map(|at| of(array, at)).collect::<Vec<_>>())
        .collect()
}

fn text_at(array: &ArrayRef, at: usize) -> Option<&str> {
    if array.is_null(at) { None } else { Some(array.as_string::<i32>().value(at)) }
}

fn numpy_of<'py>(
    py: Python<'py>,
    kind: &DataType,
    arrays: &[ArrayRef],
) -> PyResult<Bound<'py, PyAny>> {
    match kind {
        DataType::UInt64 => Ok(primitive::<UInt64Type>(py, arrays).into_any()),
        DataType::UInt32 => Ok(primitive::<UInt32Type>(py, arrays).into_any()),
        DataType::UInt8 => Ok(primitive::<UInt8Type>(py, arrays).into_any()),
        DataType::Float64 => Ok(primitive::<Float64Type>(py, arrays).into_any()),
        _ => {
            let bits = each_value(arrays, |array, at| array.as_boolean().value(at));
            Ok(PyArray1::from_vec(py, bits).into_any())
        }
    }
}

fn primitive<'py, T: ArrowPrimitiveType<Native: Element>>(
    py: Python<'py>,
    arrays: &[ArrayRef],
) -> Bound<'py, PyArray1<T::Native>> {
    let mut values = Vec::with_capacity(arrays.iter().map(|array| array.len()).sum());
    for array in arrays {
        values.extend_from_slice(array.as_primitive::<T>().values());
    }
    PyArray1::from_vec(py, values)
}

/// A value as Python has it; `None` for a null.
fn value_at<'py>(py: Python<'py>, array: &ArrayRef, at: usize) -> PyResult<Bound<'py, PyAny>> {
    if array.is_null(at) {
        return Ok(py.None().into_bound(py));
    }
    Ok(match array.data_type() {
        DataType::UInt64 => {
            array.as_primitive::<UInt64Type>().value(at).into_pyobject(py)?.into_any()
        }
        DataType::UInt32 => {
            array.as_primitive::<UInt32Type>().value(at).into_pyobject(py)?.into_any()
        }
        DataType::UInt8 => {
            array.as_primitive::<UInt8Type>().value(at).into_pyobject(py)?.into_any()
        }
        DataType::Float64 => {
            array.as_primitive::<Float64Type>().value(at).into_pyobject(py)?.into_any()
        }
        DataType::Utf8 => array.as_string::<i32>().value(at).into_pyobject(py)?.into_any(),
        DataType::Binary => PyBytes::new(py, array.as_binary::<i32>().value(at)).into_any(),
        _ => array.as_boolean().value(at).into_pyobject(py)?.to_owned().into_any(),
    })
}

/// An array of any kind, without the memory that it has in reserve.
pub(crate) fn array(mut array: impl Array + 'static) -> ArrayRef {
    array.shrink_to_fit();
    Arc::new(array)
}
