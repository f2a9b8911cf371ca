//! Records to add to a store: fingerprints with or without ids, all at once or in batches. The
//! batches need not fit into memory together.

use std::slice::from_ref;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use fpstore::{Fingerprint, Recipe};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyIterator, PyList, PyString, PyTuple};

use super::ids::{self, Ids};
use super::{check_no_null_rows, fingerprints, is_pandas};
use crate::capsule::{Arrays, arrays_of};
use crate::errors::input_error;
use crate::recipes::recipe_of;
use crate::work::held;

/// Maximum number of single fingerprints of an iterator that are collected into one batch.
const BATCH_LEN: usize = 1 << 16;

/// A batch of records: fingerprints, with one id for each or without ids.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) fingerprints: Vec<Fingerprint>,
    pub(crate) ids: Option<Ids>,
    /// The recipe that made the fingerprints, if it is known.
    pub(crate) recipe: Option<Recipe>,
}

/// The source of records.
pub(crate) enum Batches<'py> {
    Once(Option<Batch>),
    /// A stream of tables, and the recipe of their fingerprints.
    Arrow(Box<Arrays>, Option<Recipe>),
    Iterator(Bound<'py, PyIterator>),
}

impl<'py> Batches<'py> {
    /// Records from fingerprints and ids, from an Arrow stream with columns `fingerprint` and `id`,
    /// or from an iterator over batches: arrays, tuples of two arrays, or Arrow tables.
    pub(crate) fn of(
        fingerprints: &Bound<'py, PyAny>,
        ids: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Self> {
        let py = fingerprints.py();
        let is_iterator = fingerprints.is_instance_of::<PyIterator>();
        if let Some(ids) = ids {
            if is_iterator {
                let message = "an iterator must yield batches (fingerprints, ids); leave out ids";
                return Err(input_error(py, message));
            }
            return Ok(Batches::Once(Some(batch_of(fingerprints, Some(ids))?)));
        }
        if is_iterator {
            return Ok(Batches::Iterator(fingerprints.cast::<PyIterator>()?.clone()));
        }
        super::check_not_lazy(fingerprints, "records")?;
        // A pandas Series or Index is read as an array: its Arrow interface needs pyarrow.
        let is_table = fingerprints.hasattr("__arrow_c_stream__")?
            && (!is_pandas(fingerprints) || fingerprints.hasattr("columns")?);
        let recipe = if is_table { recipe_of(fingerprints)? } else { None };
        if is_table && let Some(arrays) = arrays_of(fingerprints, "records")? {
            return Ok(Batches::Arrow(Box::new(arrays), recipe));
        }
        Ok(Batches::Once(Some(batch_of(fingerprints, None)?)))
    }

    /// The next batch.
    pub(crate) fn next(&mut self, py: Python<'py>) -> PyResult<Option<Batch>> {
        held(|| Ok(self.read(py)?))
    }

    fn read(&mut self, py: Python<'py>) -> PyResult<Option<Batch>> {
        match self {
            Batches::Once(batch) => Ok(batch.take()),
            Batches::Arrow(arrays, recipe) => match arrays.next() {
                None => Ok(None),
                Some(array) => {
                    let batch = records_of_array(py, &array?)?;
                    Ok(Some(Batch { recipe: recipe.clone(), ..batch }))
                }
            },
            Batches::Iterator(iterator) => next_of(iterator),
        }
    }
}

/// The next batch of an iterator, or the next single fingerprints as one batch.
fn next_of(iterator: &mut Bound<'_, PyIterator>) -> PyResult<Option<Batch>> {
    let Some(first) = iterator.next().transpose()? else { return Ok(None) };
    let is_single = |item: &Bound<'_, PyAny>| {
        item.is_instance_of::<PyInt>() || item.is_instance_of::<PyString>() || item.is_none()
    };
    if is_single(&first) {
        let singles = PyList::new(first.py(), [first])?;
        while singles.len() < BATCH_LEN {
            let Some(item) = iterator.next().transpose()? else { break };
            singles.append(item)?;
        }
        return batch_of(&singles, None).map(Some);
    }
    if let Ok(pair) = first.cast::<PyTuple>() {
        let (values, ids): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract().map_err(|_| {
            let message = "a batch must be (fingerprints, ids), an array or an Arrow table";
            input_error(pair.py(), message)
        })?;
        let is_row = values.is_instance_of::<PyInt>() || values.is_instance_of::<PyString>();
        if is_row {
            let message = "an iterator must yield batches such as (array, ids), not records";
            return Err(input_error(pair.py(), message));
        }
        let ids = if ids.is_none() { None } else { Some(&ids) };
        return batch_of(&values, ids).map(Some);
    }
    // The parts of an Arrow table are joined into one batch.
    let mut parts = match Batches::of(&first, None)? {
        Batches::Once(batch) => return Ok(batch),
        Batches::Arrow(arrays, recipe) => Batches::Arrow(arrays, recipe),
        Batches::Iterator(_) => {
            let message = "an iterator must yield batches, not iterators; give the inner iterator";
            return Err(input_error(first.py(), message));
        }
    };
    let mut whole = Batch { fingerprints: Vec::new(), ids: None, recipe: None };
    while let Some(part) = parts.next(first.py())? {
        whole.recipe = part.recipe;
        whole.fingerprints.extend(part.fingerprints);
        whole.ids = match (whole.ids.take(), part.ids) {
            (None, ids) => ids,
            (Some(none), ids) if none.len() == 0 => ids,
            (Some(Ids::Numbers(mut all)), Some(Ids::Numbers(more))) => {
                all.extend(more);
                Some(Ids::Numbers(all))
            }
            (Some(Ids::Texts(mut all)), Some(Ids::Texts(more))) => {
                (0..more.len()).for_each(|at| all.push(more.get(at)));
                Some(Ids::Texts(all))
            }
            (ids, _) => ids,
        };
    }
    Ok(Some(whole))
}

fn batch_of(values: &Bound<'_, PyAny>, ids: Option<&Bound<'_, PyAny>>) -> PyResult<Batch> {
    let fingerprints = fingerprints::many(values)?;
    let ids = ids.map(ids::many).transpose()?;
    if let Some(ids) = &ids
        && ids.len() != fingerprints.len()
    {
        let (fingerprints, ids) = (fingerprints.len(), ids.len());
        let message =
            format!("{fingerprints} fingerprints and {ids} ids, expected one id for each");
        return Err(input_error(values.py(), message));
    }
    Ok(Batch { fingerprints, ids, recipe: recipe_of(values)? })
}

/// The records of a table with the columns `fingerprint` and `id`, or of a plain column.
fn records_of_array(py: Python<'_>, array: &ArrayRef) -> PyResult<Batch> {
    check_no_null_rows(py, array, "records")?;
    let DataType::Struct(fields) = array.data_type() else {
        let fingerprints = fingerprints::of_arrow(py, from_ref(array))?;
        return Ok(Batch { fingerprints, ids: None, recipe: None });
    };
    let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
    let table = array.as_struct();
    if let [_] = names.as_slice() {
        let fingerprints = fingerprints::of_arrow(py, from_ref(table.column(0)))?;
        return Ok(Batch { fingerprints, ids: None, recipe: None });
    }
    let mut sorted = names.clone();
    sorted.sort_unstable();
    if sorted != ["fingerprint", "id"] {
        let names = names.join(", ");
        let message = format!(
            "expected a table with the columns fingerprint and id, this table has {names}; choose \
             columns, or give fingerprints and ids separately"
        );
        return Err(input_error(py, message));
    }
    let column = |name| table.column_by_name(name).cloned().unwrap_or_else(|| array.clone());
    let fingerprints = fingerprints::of_arrow(py, &[column("fingerprint")])?;
    let ids = Some(ids::of_arrow(py, &[column("id")])?);
    Ok(Batch { fingerprints, ids, recipe: None })
}
