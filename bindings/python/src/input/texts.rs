//! Copies texts from Python, numpy, pandas and Arrow, because the owner of an Arrow column can
//! change it. A text can be null.

use std::sync::Arc;

use arrow_array::builder::{LargeStringBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, LargeStringArray};
use arrow_schema::DataType;
use numpy::PyUntypedArray;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyFloat, PyString};

use super::owned::owned_texts;
use super::{arrow_name, each_column, is_pandas, look_at_signals};
use crate::errors::input_error;
use crate::work::held;

/// Maximum total length of several texts in one array, in bytes; Arrow's limit is 2 GiB.
const ARRAY_LEN: usize = 256 << 20;

/// Texts in immutable arrays.
#[derive(Debug)]
pub(crate) struct TextInput {
    arrays: Vec<ArrayRef>,
    /// For each array, the number of texts in the arrays before it; then the number of all texts.
    starts: Vec<usize>,
}

impl TextInput {
    /// The texts of a sequence or an iterable, or of an array of Arrow, numpy, pandas or polars.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        held(|| Ok(TextInput::read(object)?))
    }

    fn read(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        if object.is_instance_of::<PyString>() || object.is_instance_of::<PyBytes>() {
            return Err(input_error(py, "texts must be a sequence of str, not a single text"));
        }
        super::check_not_lazy(object, "texts")?;
        let mut arrays: Vec<ArrayRef> = Vec::new();
        let is_arrow = !is_pandas(object)
            && each_column(object, "texts", |column| {
                arrays.push(texts_of_column(py, &column)?);
                Ok(())
            })?;
        if !is_arrow {
            arrays = copied(object)?;
        }
        Ok(TextInput::of_texts(arrays))
    }

    /// The texts of columns of Arrow.
    pub(crate) fn of_arrow(py: Python<'_>, columns: Vec<ArrayRef>) -> PyResult<Self> {
        let texts = columns.iter().map(|column| texts_of_column(py, column));
        Ok(TextInput::of_texts(texts.collect::<PyResult<_>>()?))
    }

    fn of_texts(arrays: Vec<ArrayRef>) -> Self {
        let mut starts = vec![0];
        for array in &arrays {
            starts.push(starts[starts.len() - 1] + array.len());
        }
        TextInput { arrays, starts }
    }

    pub(crate) fn len(&self) -> usize {
        self.starts[self.starts.len() - 1]
    }

    pub(crate) fn get(&self, at: usize) -> Option<&str> {
        let number = self.starts.partition_point(|&start| start <= at) - 1;
        let (array, at) = (&self.arrays[number], at - self.starts[number]);
        if array.is_null(at) {
            return None;
        }
        Some(match array.data_type() {
            DataType::Utf8 => array.as_string::<i32>().value(at),
            _ => array.as_string::<i64>().value(at),
        })
    }
}

/// A copy of a column of texts. A dictionary is expanded; a column of nulls becomes null texts.
fn texts_of_column(py: Python<'_>, column: &ArrayRef) -> PyResult<ArrayRef> {
    if let Some(texts) = owned_texts(py, column)? {
        return Ok(Arc::new(texts));
    }
    if *column.data_type() == DataType::Null || column.is_empty() {
        return Ok(Arc::new(LargeStringArray::new_null(column.len())));
    }
    let mut written = LargeStringBuilder::new();
    let is_text = super::each_text(py, column, |text| {
        written.append_option(text);
        Ok(())
    })?;
    if is_text {
        return Ok(Arc::new(written.finish()));
    }
    let name = arrow_name(column.data_type());
    Err(input_error(py, format!("texts must be strings, not {name}")))
}

fn copied(object: &Bound<'_, PyAny>) -> PyResult<Vec<ArrayRef>> {
    let py = object.py();
    // pandas represents missing values as None, NaN or NA.
    let missing: Option<Vec<bool>> = if is_pandas(object) && object.hasattr("isna")? {
        Some(object.call_method0("isna")?.call_method0("tolist")?.extract()?)
    } else {
        None
    };
    let items = if object.is_instance_of::<PyUntypedArray>() || missing.is_some() {
        object.call_method0("tolist")?
    } else {
        object.clone()
    };
    let mut arrays: Vec<ArrayRef> = Vec::new();
    let mut builder = StringBuilder::new();
    let mut held = 0;
    for (at, item) in items.try_iter()?.enumerate() {
        look_at_signals(py, at)?;
        let item = item?;
        let is_missing = missing.as_ref().is_some_and(|missing| missing[at]);
        if item.is_none() || is_missing {
            builder.append_null();
            continue;
        }
        let Ok(text) = item.cast::<PyString>() else {
            let kind = item.get_type().qualname()?;
            let hint = if item.is_instance_of::<PyFloat>() { " (NaN? use None)" } else { "" };
            let message = format!("text number {at} is {kind}{hint}, expected str or None");
            return Err(input_error(py, message));
        };
        let text = text.to_str().map_err(|_| {
            let message =
                format!("text number {at} has a lone surrogate, which is not a character");
            input_error(py, message)
        })?;
        if held + text.len() > ARRAY_LEN && held > 0 {
            arrays.push(std::sync::Arc::new(builder.finish()));
            held = 0;
        }
        held += text.len();
        builder.append_value(text);
    }
    arrays.push(std::sync::Arc::new(builder.finish()));
    Ok(arrays)
}
