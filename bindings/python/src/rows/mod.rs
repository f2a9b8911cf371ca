//! Answers in columns: rows in memory, and single columns. They own Arrow arrays and export them
//! through the Arrow interface, to numpy, to data frames and to pickle.

mod column;
mod pickled;
mod slices;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, UInt8Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchIterator};
use arrow_schema::{DataType, SchemaRef};
use numpy::{Element, PyArray1};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyIndexError, PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyList, PyString, PyTuple, PyType};

use crate::capsule::{export_schema, export_stream};
use crate::errors::input_error;
use crate::notebook::{Table, shown};
use crate::tuple_class::{FRAMES, TupleClass};
use pickled::{of_bytes, to_bytes};
use slices::{Part, part_of};

pub(crate) use column::{_column_of, Column};

/// Rows in columns, in memory. `pyarrow.table(rows)`, `polars.DataFrame(rows)`,
/// `pandas.DataFrame(rows)` and DuckDB, by the name of the variable, read them directly.
/// `rows["distance"]` is a numpy array, `rows[0]` a row with named fields, `rows[:5]` the first
/// five rows; `numpy.asarray(rows)` is a structured array.
///
/// >>> rows = store.query_many([0xC0F1789BED2EB9B8], k=1)
/// >>> rows["distance"]
/// array([0, 1], dtype=uint8)
/// >>> for row in rows:
/// ...     print(row.distance, row.id)
/// 0 a.html
/// 1 b.html
/// >>> rows.to_pandas()["id"].tolist()
/// ['a.html', 'b.html']
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

    /// The arrays of a column, one for each batch.
    fn column(&self, name: &str) -> PyResult<Vec<ArrayRef>> {
        let Ok(at) = self.schema.index_of(name) else {
            let names = self.names().join(", ");
            return Err(PyKeyError::new_err(format!("there is no column '{name}', only {names}")));
        };
        Ok(self.batches.iter().map(|batch| batch.column(at).clone()).collect())
    }

    fn names(&self) -> Vec<&str> {
        self.schema.fields().iter().map(|field| field.name().as_str()).collect()
    }

    /// The `len` rows from row `start` on, without copying.
    fn part(&self, mut start: usize, mut len: usize) -> Rows {
        let mut batches = Vec::new();
        for batch in &self.batches {
            let count = batch.num_rows();
            if start >= count {
                start -= count;
                continue;
            }
            let taken = len.min(count - start);
            if taken > 0 {
                batches.push(batch.slice(start, taken));
            }
            (start, len) = (0, len - taken);
        }
        Rows { schema: Arc::clone(&self.schema), batches, cut: self.cut }
    }

    /// The class of a row: a named tuple with the names of the columns.
    fn row_class(&self, py: Python<'_>) -> PyResult<TupleClass> {
        let names = PyTuple::new(py, self.names())?;
        let class = py.import(FRAMES)?.call_method1("row_class", (names,))?;
        TupleClass::new(class.cast_into::<PyType>()?)
    }

    fn row<'py>(
        &self,
        py: Python<'py>,
        class: &TupleClass,
        at: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut at = at;
        let batch = self.batches.iter().find(|batch| {
            let is_here = at < batch.num_rows();
            at -= if is_here { 0 } else { batch.num_rows() };
            is_here
        });
        let batch = batch.ok_or_else(|| PyIndexError::new_err("there is no row of this number"))?;
        let cells = batch.columns().iter().map(|column| value_at(py, column, at));
        class.make(&PyTuple::new(py, cells.collect::<PyResult<Vec<_>>>()?)?)
    }

    /// The values of a column as a numpy array. Values under nulls are arbitrary, or `None` for
    /// objects.
    fn values<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Values<'py>> {
        let arrays = self.column(name)?;
        let kind = self.schema.field_with_name(name).map(|field| field.data_type().clone());
        let kind = kind.unwrap_or(DataType::Null);
        let nulls = arrays.iter().map(|array| array.null_count()).sum();
        let is_object = matches!(kind, DataType::Utf8 | DataType::Binary);
        let array = match kind {
            DataType::Utf8 => object_array(py, PyList::new(py, each_value(&arrays, text_at))?)?,
            DataType::Binary => {
                let bytes = each_value(&arrays, |array, at| array.as_binary::<i32>().value(at));
                object_array(py, PyList::new(py, bytes)?)?
            }
            _ => numpy_of(py, &kind, &arrays)?,
        };
        let is_null = (nulls > 0).then(|| {
            PyArray1::from_vec(py, each_value(&arrays, |array, at| array.is_null(at))).into_any()
        });
        Ok(Values { array, nulls, is_object, is_null })
    }

    /// For each column a tuple: its name, its values, and its null mask, or `None` without nulls.
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for name in self.names() {
            let Values { array, is_null, .. } = self.values(py, name)?;
            list.append((name, array, is_null))?;
        }
        Ok(list)
    }
}

/// The values of a column as a numpy array.
struct Values<'py> {
    array: Bound<'py, PyAny>,
    nulls: usize,
    /// Whether the array contains objects, with `None` for a null.
    is_object: bool,
    is_null: Option<Bound<'py, PyAny>>,
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

    /// Whether any answer is incomplete because of `limit`.
    #[getter]
    fn cut(&self) -> bool {
        self.cut
    }

    fn __getitem__<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = key.py();
        if let Ok(name) = key.cast::<PyString>() {
            let name = name.to_cow()?;
            let values = self.values(py, &name)?;
            return match values.nulls {
                0 => Ok(values.array),
                // Object arrays represent nulls as `None`.
                _ if values.is_object => Ok(values.array),
                nulls => {
                    let message = format!(
                        "{nulls} values of column '{name}' are null, and numpy has no null; use \
                         to_pandas() or to_pylist(), or pass the rows to an Arrow library"
                    );
                    Err(input_error(py, message))
                }
            };
        }
        let part = match part_of(key, self.count())? {
            Some(Part::One(at)) => return self.row(py, &self.row_class(py)?, at),
            Some(Part::Range { start, len }) => self.part(start, len),
            Some(Part::Each(places)) => {
                let batches = places.into_iter().flat_map(|at| self.part(at, 1).batches);
                Rows { batches: batches.collect(), ..self.part(0, 0) }
            }
            None => {
                let kind = key.get_type().qualname()?;
                let message = format!(
                    "rows are indexed by the name of a column, a number or a slice, not {kind}"
                );
                return Err(PyTypeError::new_err(message));
            }
        };
        part.into_bound_py_any(py)
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

    fn __iter__(slf: &Bound<'_, Self>) -> PyResult<RowIterator> {
        let rows = slf.get();
        let class = rows.row_class(slf.py())?;
        Ok(RowIterator { rows: slf.clone().unbind(), class, next: AtomicUsize::new(0) })
    }

    /// The rows as a pandas `DataFrame`. Columns with nulls have nullable types.
    pub(crate) fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import(FRAMES)?.call_method1("pandas_frame", (self.parts(py)?,))
    }

    /// The rows as a polars `DataFrame`.
    pub(crate) fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("polars")?.call_method1("DataFrame", (slf,))
    }

    /// The rows as a pyarrow `Table`.
    pub(crate) fn to_arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("pyarrow")?.call_method1("table", (slf,))
    }

    /// A structured array, for `numpy.asarray`. There is no `__array__`, because pandas would read
    /// the structured array as one column.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import(FRAMES)?.call_method1("records_interface", (self.parts(py)?, self.count()))
    }

    /// Rows are pickled as an Arrow IPC stream.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let make = py.import("fpstore._fpstore")?.getattr("_rows_of")?;
        (make, (to_bytes(py, &self.schema, &self.batches)?, self.cut)).into_pyobject(py)
    }

    /// An HTML table of the first rows.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let mut table = Table::new(&self.__repr__(), self.names());
        let first = self.part(0, shown(self.count()).end);
        for batch in &first.batches {
            for at in 0..batch.num_rows() {
                let cell = |column: &ArrayRef| match column.is_null(at) {
                    true => Ok(String::new()),
                    false => Ok(value_at(py, column, at)?.str()?.to_string_lossy().into_owned()),
                };
                table.row(batch.columns().iter().map(cell).collect::<PyResult<Vec<_>>>()?);
            }
        }
        Ok(table.finish(self.count()))
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

/// An iterator over the rows of an answer, as named tuples.
#[pyclass(frozen, module = "fpstore")]
pub(crate) struct RowIterator {
    rows: Py<Rows>,
    class: TupleClass,
    next: AtomicUsize,
}

#[pymethods]
impl RowIterator {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (rows, at) = (self.rows.get(), self.next.fetch_add(1, Ordering::Relaxed));
        if at >= rows.count() {
            // Further calls after the end must not make the row number wrap around.
            self.next.store(rows.count(), Ordering::Relaxed);
            return Ok(None);
        }
        rows.row(py, &self.class, at).map(Some)
    }

    fn __length_hint__(&self) -> usize {
        self.rows.get().count().saturating_sub(self.next.load(Ordering::Relaxed))
    }
}

/// Restores pickled rows.
#[pyfunction]
pub(crate) fn _rows_of(py: Python<'_>, bytes: &[u8], cut: bool) -> PyResult<Rows> {
    let (schema, batches) = of_bytes(py, bytes)?;
    Ok(Rows { schema, batches, cut })
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

/// The value at index `at` as a Python object; `None` for a null.
fn value_at<'py>(py: Python<'py>, array: &ArrayRef, at: usize) -> PyResult<Bound<'py, PyAny>> {
    if array.is_null(at) {
        return Ok(py.None().into_bound(py));
    }
    Ok(match array.data_type() {
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(at).into_bound_py_any(py)?,
        DataType::UInt32 => array.as_primitive::<UInt32Type>().value(at).into_bound_py_any(py)?,
        DataType::UInt8 => array.as_primitive::<UInt8Type>().value(at).into_bound_py_any(py)?,
        DataType::Float64 => array.as_primitive::<Float64Type>().value(at).into_bound_py_any(py)?,
        DataType::Utf8 => array.as_string::<i32>().value(at).into_bound_py_any(py)?,
        DataType::Binary => PyBytes::new(py, array.as_binary::<i32>().value(at)).into_any(),
        _ => array.as_boolean().value(at).into_bound_py_any(py)?,
    })
}

/// Wraps an array of any type, after freeing its unused capacity.
pub(crate) fn array(mut array: impl Array + 'static) -> ArrayRef {
    array.shrink_to_fit();
    Arc::new(array)
}
