//! Keys in the `[...]` of a sequence, which select an item or a part.

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PySlice};

/// The positions that a key selects.
pub(super) enum Part {
    One(usize),
    Range {
        start: usize,
        len: usize,
    },
    /// The positions of a slice with a step other than 1.
    Each(Vec<usize>),
}

/// The item or part of a sequence of `len` items that a number or a slice selects; else `None`.
pub(super) fn part_of(key: &Bound<'_, PyAny>, len: usize) -> PyResult<Option<Part>> {
    if let Ok(slice) = key.cast::<PySlice>() {
        let of = slice.indices(isize::try_from(len)?)?;
        if of.step == 1 {
            return Ok(Some(Part::Range { start: of.start as usize, len: of.slicelength }));
        }
        let places = (0..of.slicelength as isize).map(|at| (of.start + at * of.step) as usize);
        return Ok(Some(Part::Each(places.collect())));
    }
    if key.is_instance_of::<PyBool>() || !key.hasattr("__index__")? {
        return Ok(None);
    }
    let number = key.call_method0("__index__")?;
    let at = number.extract::<i64>().ok().and_then(|at| {
        let at = if at < 0 { at.checked_add(i64::try_from(len).ok()?)? } else { at };
        usize::try_from(at).ok().filter(|at| *at < len)
    });
    match at {
        Some(at) => Ok(Some(Part::One(at))),
        None => Err(PyIndexError::new_err(format!("there is no item {number} among {len}"))),
    }
}
