//! Converts Python objects and arrays to ids: whole numbers or texts.

use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, downcast_integer_array};
use fpstore::IdRef;
use numpy::PyUntypedArray;
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyString};

use super::{
    Given, arrow_name, check_no_mask, check_no_nulls, check_one_dimension, check_ordered,
    each_text, integers, is_empty, kind_of, look_at_signals,
};
use crate::errors::input_error;
use crate::work::held;

const WHAT: &str = "ids";
const EXPECTED: &str = "ids must be whole numbers from 0 to 2**64 - 1, or texts";

/// A copy of ids from Python.
#[derive(Debug)]
pub(crate) enum Ids {
    Numbers(Vec<u64>),
    Texts(Texts),
}

/// Many texts in one buffer, with the end offset of each text.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    all: String,
    ends: Vec<usize>,
}

impl Texts {
    pub(crate) fn push(&mut self, text: &str) {
        self.all.push_str(text);
        self.ends.push(self.all.len());
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn get(&self, at: usize) -> &str {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.all[start..self.ends[at]]
    }
}

impl Ids {
    pub(crate) fn len(&self) -> usize {
        match self {
            Ids::Numbers(numbers) => numbers.len(),
            Ids::Texts(texts) => texts.len(),
        }
    }

    pub(crate) fn get(&self, at: usize) -> IdRef<'_> {
        match self {
            Ids::Numbers(numbers) => IdRef::U64(numbers[at]),
            Ids::Texts(texts) => IdRef::Text(texts.get(at)),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = IdRef<'_>> {
        (0..self.len()).map(|at| self.get(at))
    }
}

/// Copies many ids from a sequence or an array.
pub(crate) fn many(object: &Bound<'_, PyAny>) -> PyResult<Ids> {
    held(|| Ok(read(object)?))
}

fn read(object: &Bound<'_, PyAny>) -> PyResult<Ids> {
    let py = object.py();
    match Given::of(object, WHAT)? {
        Given::Numpy(array) => return of_numpy(&array),
        Given::Arrow(columns) => return of_arrow(py, &columns),
        Given::Items => {}
    }
    if object.is_instance_of::<PyString>() || object.is_instance_of::<PyInt>() {
        return Err(input_error(py, "ids must be a sequence or an array, not a single id"));
    }
    check_ordered(object, WHAT)?;
    of_items(object)
}

fn of_items(object: &Bound<'_, PyAny>) -> PyResult<Ids> {
    let py = object.py();
    // `try_reserve`: a wrong `__len__` can exceed the memory, which must not end the process.
    let (mut numbers, len) = (Vec::new(), object.len().unwrap_or(0));
    if numbers.try_reserve_exact(len).is_err() {
        let message = format!("{len} ids take {} bytes or more: too much memory", 8 * len as u128);
        return Err(PyMemoryError::new_err(message));
    }
    let mut texts = Texts::default();
    for (at, item) in object.try_iter()?.enumerate() {
        look_at_signals(py, at)?;
        let item = item?;
        if let Ok(text) = item.cast::<PyString>() {
            texts.push(text.to_str().map_err(|_| {
                let message = format!(
                    "id number {at} has a lone surrogate, which is not a \
                                       character"
                );
                input_error(py, message)
            })?);
        } else if item.is_instance_of::<PyBool>() || !item.hasattr("__index__")? {
            let kind = item.get_type().qualname()?;
            return Err(input_error(py, format!("id number {at} is {kind}; {EXPECTED}")));
        } else {
            let number = item
                .extract::<u64>()
                .map_err(|_| input_error(py, format!("id number {at} is {item}; {EXPECTED}")))?;
            numbers.push(number);
        }
        if !numbers.is_empty() && texts.len() > 0 {
            let message = format!("ids must be all numbers or all texts; number {at} differs");
            return Err(input_error(py, message));
        }
    }
    Ok(if texts.len() > 0 { Ids::Texts(texts) } else { Ids::Numbers(numbers) })
}

pub(super) fn of_numpy(array: &Bound<'_, PyUntypedArray>) -> PyResult<Ids> {
    let py = array.py();
    if is_empty(array) {
        return Ok(Ids::Numbers(Vec::new()));
    }
    check_one_dimension(array, WHAT)?;
    check_no_mask(array, WHAT)?;
    let (kind, _, name) = kind_of(array)?;
    match kind {
        b'u' => Ok(Ids::Numbers(integers(array, false)?)),
        b'i' => {
            let numbers = integers(array, true)?;
            check_not_negative(py, &numbers)?;
            Ok(Ids::Numbers(numbers))
        }
        b'O' | b'U' | b'T' => of_items(&array.call_method0("tolist")?),
        _ => Err(input_error(py, format!("{EXPECTED}; these are {name}"))),
    }
}

/// Refuses negative numbers: [`integers`] has converted them to bit patterns with the highest bit
/// set.
fn check_not_negative(py: Python<'_>, numbers: &[u64]) -> PyResult<()> {
    match numbers.iter().position(|number| number.cast_signed() < 0) {
        Some(at) => {
            let number = numbers[at].cast_signed();
            Err(input_error(py, format!("id number {at} is {number}; {EXPECTED}")))
        }
        None => Ok(()),
    }
}

pub(crate) fn of_arrow(py: Python<'_>, columns: &[ArrayRef]) -> PyResult<Ids> {
    let count = columns.iter().map(|column| column.len()).sum();
    let nulls = columns.iter().map(|column| column.logical_null_count()).sum();
    check_no_nulls(py, nulls, count, WHAT)?;
    let mut numbers = Vec::new();
    let mut texts = Texts::default();
    let mut has_texts = false;
    for column in columns {
        let is_text = each_text(py, column, |text| {
            texts.push(text.unwrap_or_default());
            Ok(())
        })?;
        has_texts |= is_text;
        if !is_text {
            extend_numbers(py, column, &mut numbers)?;
        }
    }
    Ok(if has_texts { Ids::Texts(texts) } else { Ids::Numbers(numbers) })
}

fn extend_numbers(py: Python<'_>, column: &ArrayRef, numbers: &mut Vec<u64>) -> PyResult<()> {
    downcast_integer_array!(
        column => extend(py, column, numbers),
        _ if column.is_empty() => Ok(()),
        kind => Err(input_error(py, format!("{EXPECTED}; these are {}", arrow_name(kind)))),
    )
}

fn extend<T: ArrowPrimitiveType<Native: TryInto<u64> + std::fmt::Display>>(
    py: Python<'_>,
    column: &PrimitiveArray<T>,
    numbers: &mut Vec<u64>,
) -> PyResult<()> {
    for &value in column.values() {
        let number: Result<u64, _> = value.try_into();
        let Ok(number) = number else {
            let at = numbers.len();
            return Err(input_error(py, format!("id number {at} is {value}; {EXPECTED}")));
        };
        numbers.push(number);
    }
    Ok(())
}
