//! The class `Column`: fingerprints with their recipe.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use fpstore::Recipe;
use numpy::PyArray1;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList, PyTuple};

use super::pickled::{of_bytes, to_bytes};
use super::slices::{Part, part_of};
use crate::capsule::{RECIPE_KEY, export_array};
use crate::errors::input_error;
use crate::input::arguments::text_or_none;
use crate::notebook::{Table, shown};
use crate::tuple_class::FRAMES;

/// A column of `uint64` with nulls: a sequence that data frames, numpy and Arrow libraries read
/// directly. It contains the recipe that made the fingerprints.
///
/// A null is `None`, in numpy too: `numpy.asarray(column)` is an array of objects if there are
/// nulls, else of `uint64`. `to_pandas()` and `pyarrow.array(column)` have nullable types.
///
/// >>> column = fpstore.Recipe().fingerprints(["some words", None, "some words"])
/// >>> column[0] == column[2], column[1], len(column[1:])
/// (True, None, 2)
/// >>> import pandas
/// >>> frame = pandas.DataFrame({"text": ["some words", "other words"]})
/// >>> frame["fp"] = fpstore.Recipe().fingerprints(frame["text"])
/// >>> frame["fp"].dtype
/// dtype('uint64')
#[pyclass(frozen, module = "fpstore")]
#[derive(Debug)]
pub(crate) struct Column {
    values: UInt64Array,
    recipe: Option<Recipe>,
}

impl Column {
    pub(crate) fn new(values: UInt64Array, recipe: Option<Recipe>) -> Self {
        Column { values, recipe }
    }

    /// The recipe of the fingerprints, if it is known.
    pub(crate) fn made_by(&self) -> Option<&Recipe> {
        self.recipe.as_ref()
    }

    fn get(&self, at: usize) -> Option<u64> {
        (!self.values.is_null(at)).then(|| self.values.value(at))
    }
}

#[pymethods]
impl Column {
    fn __len__(&self) -> usize {
        self.values.len()
    }

    fn __getitem__<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = key.py();
        let values = match part_of(key, self.values.len())? {
            Some(Part::One(at)) => return self.get(at).into_bound_py_any(py),
            Some(Part::Range { start, len }) => self.values.slice(start, len),
            Some(Part::Each(places)) => places.into_iter().map(|at| self.get(at)).collect(),
            None => {
                let kind = key.get_type().qualname()?;
                let message = format!(
                    "a column is indexed by a number or a slice, not {kind}; \
                     numpy.asarray(column) takes masks and lists"
                );
                return Err(PyTypeError::new_err(message));
            }
        };
        Column { values, recipe: self.recipe.clone() }.into_bound_py_any(py)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyList::new(py, self.values.iter())?.try_iter()
    }

    fn __contains__(&self, value: &Bound<'_, PyAny>) -> bool {
        let found = if value.is_none() { Some(None) } else { value.extract().ok().map(Some) };
        found.is_some_and(|found: Option<u64>| self.values.iter().any(|value| value == found))
    }

    /// The number of nulls.
    #[getter]
    fn null_count(&self) -> usize {
        self.values.null_count()
    }

    /// The text of the recipe of the fingerprints; `None` if the recipe is unknown.
    #[getter]
    fn recipe(&self) -> Option<&str> {
        self.recipe.as_ref().map(Recipe::text)
    }

    /// The values as a numpy array.
    ///
    /// Parameters
    /// ----------
    /// null : int, optional
    ///     The number that replaces each null. Without it, a column with nulls is an error.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray of uint64
    #[pyo3(signature = (*, null=None))]
    fn to_numpy<'py>(
        &self,
        py: Python<'py>,
        null: Option<u64>,
    ) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let nulls = self.values.null_count();
        let values = match null {
            None if nulls > 0 => {
                let message = format!(
                    "{nulls} of {} are null, and numpy has no null: to_numpy(null=0) puts 0 there, \
                     is_null() marks them",
                    self.values.len()
                );
                return Err(input_error(py, message));
            }
            Some(null) if nulls > 0 => self.values.iter().map(|of| of.unwrap_or(null)).collect(),
            _ => self.values.values().to_vec(),
        };
        Ok(PyArray1::from_vec(py, values))
    }

    /// For each value, whether it is null.
    fn is_null<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        let count = self.values.len();
        PyArray1::from_vec(py, (0..count).map(|at| self.values.is_null(at)).collect())
    }

    /// The values as a list, with `None` for a null.
    fn to_pylist(&self) -> Vec<Option<u64>> {
        self.values.iter().collect()
    }

    /// The values as a pandas `Series`, of the type `UInt64` if there are nulls. Its `attrs`
    /// contain the recipe, which is lost if the series becomes a column of a frame: a frame has its
    /// own `attrs`.
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let nulls = (self.values.null_count() > 0).then(|| self.is_null(py));
        let values = self.to_numpy(py, Some(0))?;
        let series = py.import(FRAMES)?.call_method1("pandas_series", (values, nulls))?;
        if let Some(recipe) = self.recipe() {
            series.getattr("attrs")?.set_item(RECIPE_KEY, recipe)?;
        }
        Ok(series)
    }

    /// The values as a polars `Series`.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("polars")?.call_method1("Series", (slf,))
    }

    /// The values as a pyarrow array.
    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("pyarrow")?.call_method1("array", (slf,))
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if copy == Some(false) {
            let message = "a column is always copied into an array of numpy";
            return Err(input_error(py, message));
        }
        let numpy = py.import("numpy")?;
        if self.values.null_count() == 0 {
            let values = self.to_numpy(py, None)?.into_any();
            return match dtype {
                Some(dtype) => values.call_method1("astype", (dtype,)),
                None => Ok(values),
            };
        }
        let is_object = match dtype {
            Some(dtype) => {
                numpy.call_method1("dtype", (dtype,))?.getattr("kind")?.extract::<char>()? == 'O'
            }
            None => true,
        };
        if !is_object {
            // Fails if there are nulls; the error reports their number.
            self.to_numpy(py, None)?;
        }
        let options = PyDict::new(py);
        options.set_item("dtype", "object")?;
        numpy.call_method("array", (self.to_pylist(),), Some(&options))
    }

    #[pyo3(signature = (requested_schema=None, /))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let _ = requested_schema;
        export_array(py, &self.values, self.recipe.as_ref())
    }

    /// A column is pickled as an Arrow IPC stream and the text of its recipe.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let make = py.import("fpstore._fpstore")?.getattr("_column_of")?;
        let fields = vec![Field::new("fingerprint", DataType::UInt64, true)];
        let column = Arc::new(self.values.clone());
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new(Arc::clone(&schema), vec![column]);
        let batch = batch.map_err(|error| input_error(py, error))?;
        let bytes = to_bytes(py, &schema, &[batch])?;
        (make, (bytes, self.recipe())).into_pyobject(py)
    }

    /// An HTML table of the first values.
    fn _repr_html_(&self) -> String {
        let count = self.values.len();
        let mut table = Table::new(&self.__repr__(), ["", "fingerprint"]);
        for at in shown(count) {
            let value = self.get(at).map(|value| value.to_string());
            table.row([at.to_string(), value.unwrap_or_default()]);
        }
        table.finish(count)
    }

    fn __repr__(&self) -> String {
        let (count, nulls) = (self.values.len(), self.values.null_count());
        format!("<fpstore.Column: {count} of uint64, {nulls} null>")
    }
}

/// Restores a pickled column.
#[pyfunction]
pub(crate) fn _column_of(
    py: Python<'_>,
    values: &[u8],
    #[pyo3(from_py_with = text_or_none)] recipe: Option<&str>,
) -> PyResult<Column> {
    let (_, batches) = of_bytes(py, values)?;
    let of_batch = |batch: &RecordBatch| batch.column(0).as_primitive_opt::<UInt64Type>().cloned();
    let column = batches.first().and_then(of_batch);
    let values =
        column.ok_or_else(|| input_error(py, "these are not the bytes of a pickled column"))?;
    Ok(Column { values, recipe: recipe.and_then(Recipe::from_text) })
}
