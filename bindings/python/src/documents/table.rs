//! Documents of a table: a data frame, an Arrow table or stream, or a column of texts.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Float32Type, Float64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, downcast_integer_array};
use arrow_schema::{DataType, TimeUnit};
use fpstore::IdRef;
use fpstore_base::fields;
use fpstore_corpus::DocumentTable;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList, PyString};

use crate::capsule::arrays_of;
use crate::errors::{Failure, input_error};
use crate::input::arguments::str_of;
use crate::input::ids::{self, Ids};
use crate::input::texts::TextInput;
use crate::input::{check_not_lazy, column_named, is_pandas, two_columns};
use crate::tuple_class::FRAMES;

/// The names of the columns to read.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    pub(super) text: String,
    /// `None`: the ids are row numbers.
    pub(super) id: Option<String>,
    pub(super) fields: Vec<String>,
}

/// Whether an object is a table, or a column of texts, and not paths.
pub(super) fn is_table(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    if object.is_instance_of::<PyString>() || object.hasattr("__fspath__")? {
        return Ok(false);
    }
    let is_numpy = object.cast::<numpy::PyUntypedArray>().is_ok();
    let is_records = object
        .cast::<PyList>()
        .is_ok_and(|list| list.get_item(0).is_ok_and(|first| first.is_instance_of::<PyDict>()));
    Ok(is_numpy
        || is_records
        || object.is_instance_of::<PyDict>()
        || is_pandas(object)
        || is_dataset(object)
        || object.is_instance_of::<PyIterator>()
        || object.hasattr("__arrow_c_stream__")?
        || object.hasattr("__arrow_c_array__")?
        || object.hasattr("collect")?)
}

/// Whether an object is a `Dataset` of the package `datasets`.
fn is_dataset(object: &Bound<'_, PyAny>) -> bool {
    let kind = object.get_type();
    let module = kind.getattr("__module__").and_then(|module| module.extract::<String>());
    module.is_ok_and(|module| module.starts_with("datasets."))
        && object.hasattr("with_format").unwrap_or(false)
}

/// The ids and fields of rows, whose texts are passed separately.
struct Others {
    ids: Option<Ids>,
    fields: Vec<Vec<Option<String>>>,
}

/// Writes the rows of objects to a table of documents.
pub(super) struct RowWriter<'a> {
    pub(super) columns: &'a Columns,
    pub(super) table: &'a mut DocumentTable,
}

impl RowWriter<'_> {
    /// Writes the rows of an object.
    pub(super) fn write(&mut self, object: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = object.py();
        check_not_lazy(object, "documents")?;
        if is_dataset(object) && object.is_instance_of::<PyDict>() {
            let message =
                "a DatasetDict has several datasets; choose one, such as dataset['train']";
            return Err(input_error(py, message));
        }
        if is_pandas(object) || object.is_instance_of::<PyDict>() {
            return self.write_columns(object);
        }
        if object.is_instance_of::<PyList>() {
            let made = py.import(FRAMES)?.call_method1("columns_of", (object,))?;
            return self.write_columns(&made);
        }
        if is_dataset(object) {
            let tables = object.call_method1("with_format", ("arrow",))?;
            let tables = tables.call_method1("iter", (1000,))?;
            return self.write_each(&tables.try_iter()?);
        }
        if object.cast::<numpy::PyUntypedArray>().is_ok() {
            return self.write_texts(py, &TextInput::of(object)?);
        }
        if let Ok(parts) = object.cast::<PyIterator>() {
            return self.write_each(parts);
        }
        let Some(arrays) = arrays_of(object, "documents")? else {
            let kind = object.get_type().qualname()?;
            return Err(input_error(py, format!("documents must be paths or a table, not {kind}")));
        };
        for array in arrays {
            self.write_array(py, &array?)?;
            py.check_signals()?;
        }
        Ok(())
    }

    fn write_each(&mut self, parts: &Bound<'_, PyIterator>) -> PyResult<()> {
        let parts = parts.py().import(FRAMES)?.call_method1("grouped_records", (parts,))?;
        for part in parts.try_iter()? {
            let part = part?;
            let is_path = part.is_instance_of::<PyString>() || part.hasattr("__fspath__")?;
            if is_path || part.is_instance_of::<PyIterator>() {
                let message = "an iterator of documents must yield tables, dictionaries or arrays \
                               of texts; give paths in a list";
                return Err(input_error(part.py(), message));
            }
            self.write(&part)?;
        }
        Ok(())
    }

    fn write_rows(&mut self, py: Python<'_>, texts: &TextInput, others: &Others) -> PyResult<()> {
        let table = &mut *self.table;
        let before = table.row_count();
        if let Some(ids) = &others.ids {
            if ids.len() != texts.len() {
                let (texts, ids) = (texts.len(), ids.len());
                let message = format!("{texts} texts and {ids} ids, expected one id for each text");
                return Err(input_error(py, message));
            }
            for (at, id) in ids.iter().enumerate() {
                let IdRef::Text(text) = id else { break };
                if let Some(fault) = IdRef::fault_of_text(text) {
                    let row = before + at as u64;
                    return Err(input_error(py, format!("the id of row {row} is bad: {fault}")));
                }
            }
        }
        let write = || -> Result<(), Failure> {
            for at in 0..texts.len() {
                let id =
                    others.ids.as_ref().map_or(IdRef::U64(table.row_count()), |ids| ids.get(at));
                let values: Vec<Option<&str>> =
                    others.fields.iter().map(|values| values[at].as_deref()).collect();
                table.push(id, texts.get(at).unwrap_or_default(), &values)?;
            }
            Ok(())
        };
        py.detach(write).map_err(PyErr::from)
    }

    fn write_texts(&mut self, py: Python<'_>, texts: &TextInput) -> PyResult<()> {
        if let Some(name) = self.columns.fields.first() {
            let message = format!("there is no column '{name}' in a list of texts; give a table");
            return Err(input_error(py, message));
        }
        self.write_rows(py, texts, &Others { ids: None, fields: Vec::new() })
    }

    fn write_array(&mut self, py: Python<'_>, array: &ArrayRef) -> PyResult<()> {
        let DataType::Struct(fields) = array.data_type() else {
            return self.write_texts(py, &TextInput::of_arrow(py, vec![array.clone()])?);
        };
        let (texts, values) = parts_of(py, array, self.columns)?;
        let names = fields.iter().map(|field| field.name().as_str());
        let has_id = |id: &&String| *id != "id" || names.clone().any(|name| name == "id");
        let id = self.columns.id.as_ref().filter(has_id);
        let ids = id.map(|id| ids::of_arrow(py, &[column_of(py, array, id)?])).transpose()?;
        self.write_rows(py, &texts, &Others { ids, fields: values })
    }

    /// Writes a data frame or a column of pandas, or a dictionary of columns.
    fn write_columns(&mut self, object: &Bound<'_, PyAny>) -> PyResult<()> {
        let (py, columns) = (object.py(), self.columns);
        let is_pandas = is_pandas(object);
        if is_pandas && !object.hasattr("columns")? {
            return self.write_texts(py, &TextInput::of(object)?);
        }
        // A dictionary iterates over its keys, the column names.
        let all = if is_pandas { object.getattr("columns")? } else { object.clone() };
        let names: Vec<String> = all
            .try_iter()?
            .map(|name| Ok(name?.str()?.to_string_lossy().into_owned()))
            .collect::<PyResult<_>>()?;
        let column = |name: &str| match names.iter().filter(|other| *other == name).count() {
            0 => Err(no_column(py, name, names.iter().map(String::as_str))),
            1 => object.get_item(name),
            _ => Err(two_columns(py, name)),
        };
        let texts = TextInput::of(&column(&columns.text)?)?;
        let has_id = |name: &&String| *name != "id" || names.contains(name);
        let has_ids = columns.id.as_ref().filter(has_id);
        let ids = has_ids.map(|name| ids::many(&column(name)?)).transpose()?;
        let values = |name: &String| -> PyResult<Vec<Option<String>>> {
            let mut values = column(name)?;
            let missing: Vec<bool> = if is_pandas {
                let missing = values.call_method0("isna")?.call_method0("tolist")?.extract()?;
                values = values.call_method0("tolist")?;
                missing
            } else {
                values.try_iter()?.map(|value| Ok(value?.is_none())).collect::<PyResult<_>>()?
            };
            if missing.len() != texts.len() {
                let message = format!(
                    "column '{name}' has {} values, expected {} (one for each text)",
                    missing.len(),
                    texts.len()
                );
                return Err(input_error(py, message));
            }
            let text = |(value, is_missing): (PyResult<Bound<'_, PyAny>>, bool)| {
                if is_missing {
                    return Ok(None);
                }
                // Dates and times become texts in ISO 8601.
                let value = value?;
                let text = if value.hasattr("isoformat")? {
                    value.call_method0("isoformat")?.str()?
                } else {
                    value.str()?
                };
                Ok(Some(str_of(&text)?.to_owned()))
            };
            values.try_iter()?.zip(missing).map(text).collect()
        };
        let fields = columns.fields.iter().map(values).collect::<PyResult<Vec<_>>>()?;
        self.write_rows(py, &texts, &Others { ids, fields })
    }
}

fn no_column<'a>(py: Python<'_>, name: &str, names: impl IntoIterator<Item = &'a str>) -> PyErr {
    let names: Vec<&str> = names.into_iter().collect();
    let option =
        if name == fields::TEXT[0] { "; text_field names the column of texts" } else { "" };
    let names = names.join(", ");
    input_error(py, format!("the table has no column '{name}', only {names}{option}"))
}

/// The column of a table, by its name.
fn column_of(py: Python<'_>, table: &ArrayRef, name: &str) -> PyResult<ArrayRef> {
    let column = column_named(py, table, name)?.cloned();
    let names = || table.as_struct().fields().iter().map(|field| field.name().as_str());
    column.ok_or_else(|| no_column(py, name, names()))
}

/// The texts of an Arrow table, and the values of each column in `columns.fields`.
fn parts_of(
    py: Python<'_>,
    table: &ArrayRef,
    columns: &Columns,
) -> PyResult<(TextInput, Vec<Vec<Option<String>>>)> {
    if table.null_count() > 0 {
        return Err(input_error(py, format!("{} rows are null as a whole", table.null_count())));
    }
    let texts = TextInput::of_arrow(py, vec![column_of(py, table, &columns.text)?])?;
    let values = |name: &String| texts_of_values(py, name, &column_of(py, table, name)?);
    Ok((texts, columns.fields.iter().map(values).collect::<PyResult<_>>()?))
}

/// Calls `each` for each part of an Arrow table, with its texts and its values of `columns.fields`.
pub(super) fn each_arrow_part(
    object: &Bound<'_, PyAny>,
    columns: &Columns,
    mut each: impl FnMut(&TextInput, &[Vec<Option<String>>]) -> PyResult<()>,
) -> PyResult<()> {
    let py = object.py();
    let Some(arrays) = arrays_of(object, "documents")? else {
        let kind = object.get_type().qualname()?;
        return Err(input_error(py, format!("documents must be an Arrow table, not {kind}")));
    };
    for array in arrays {
        let array = array?;
        if !matches!(array.data_type(), DataType::Struct(_)) {
            return Err(input_error(py, "documents must be an Arrow table, not a single column"));
        }
        let (texts, values) = parts_of(py, &array, columns)?;
        each(&texts, &values)?;
    }
    Ok(())
}

/// The values of a column as texts, for the rules of a cleaning; times are seconds since 1970.
fn texts_of_values(py: Python<'_>, name: &str, column: &ArrayRef) -> PyResult<Vec<Option<String>>> {
    let each = |of: &dyn Fn(usize) -> String| -> Vec<Option<String>> {
        (0..column.len()).map(|at| (!column.is_null(at)).then(|| of(at))).collect()
    };
    let seconds = |value: i64, divisor: f64| (value as f64 / divisor).to_string();
    Ok(match column.data_type() {
        DataType::Null => vec![None; column.len()],
        kind if kind.is_integer() => downcast_integer_array!(
            column => each(&|at| column.value(at).to_string()),
            _ => unreachable!("the type is an integer")
        ),
        DataType::Float64 => each(&|at| column.as_primitive::<Float64Type>().value(at).to_string()),
        DataType::Float32 => each(&|at| column.as_primitive::<Float32Type>().value(at).to_string()),
        DataType::Boolean => each(&|at| column.as_boolean().value(at).to_string()),
        DataType::Date32 => {
            let days = column.as_primitive::<Date32Type>();
            each(&|at| (i64::from(days.value(at)) * 86_400).to_string())
        }
        DataType::Date64 => each(&|at| seconds(column.as_primitive::<Date64Type>().value(at), 1e3)),
        DataType::Timestamp(TimeUnit::Second, _) => {
            each(&|at| column.as_primitive::<TimestampSecondType>().value(at).to_string())
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            each(&|at| seconds(column.as_primitive::<TimestampMillisecondType>().value(at), 1e3))
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            each(&|at| seconds(column.as_primitive::<TimestampMicrosecondType>().value(at), 1e6))
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            each(&|at| seconds(column.as_primitive::<TimestampNanosecondType>().value(at), 1e9))
        }
        kind => match TextInput::of_arrow(py, vec![column.clone()]) {
            Ok(texts) => (0..texts.len()).map(|at| texts.get(at).map(str::to_owned)).collect(),
            Err(_) => {
                let message = format!(
                    "column '{name}' has the type {kind}, expected texts, numbers, dates or times"
                );
                return Err(input_error(py, message));
            }
        },
    })
}
