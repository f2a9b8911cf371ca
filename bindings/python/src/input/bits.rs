//! Hashes of images: arrays of bits, or `imagehash` objects, which contain an array of bits.

use numpy::{PyArrayMethods, PyReadonlyArray2, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::{check_no_mask, kind_of};
use crate::errors::input_error;

/// The fingerprints of bits in an array of shape (n, 64) or (n, 8, 8); the first bit is the most
/// significant.
pub(crate) fn values_of(object: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    let py = object.py();
    let array = match object.cast::<PyUntypedArray>() {
        Ok(array) => array.clone(),
        Err(_) => stacked(object)?,
    };
    check_no_mask(&array, "bits")?;
    let (kind, _, name) = kind_of(&array)?;
    if array.len() == 0 {
        return Ok(Vec::new());
    }
    if kind != b'b' {
        return Err(input_error(py, format!("bits must be bool, not {name}")));
    }
    let shape = array.shape();
    let bits: usize = shape.iter().skip(1).product();
    if shape.len() < 2 || shape.len() > 3 {
        let message = "bits must be an array of n x 64 or n x 8 x 8; put a single hash in a list";
        return Err(input_error(py, message));
    }
    if bits != 64 {
        let message = format!("these hashes have {bits} bits; a fingerprint has 64");
        return Err(input_error(py, message));
    }
    let rows = array.call_method1("reshape", ((shape[0], 64),))?;
    let rows: PyReadonlyArray2<'_, bool> = rows.cast::<numpy::PyArray2<bool>>()?.try_readonly()?;
    let rows = rows.as_array();
    Ok(rows
        .outer_iter()
        .map(|row| row.iter().fold(0, |value, &bit| value << 1 | u64::from(bit)))
        .collect())
}

/// Stacks a sequence of arrays, or of objects with an array as `hash`, such as `ImageHash`.
fn stacked<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyUntypedArray>> {
    let py = object.py();
    let rows = PyList::empty(py);
    for (at, item) in object.try_iter()?.enumerate() {
        let item = item?;
        let array = if item.hasattr("hash")? { item.getattr("hash")? } else { item };
        if let Ok(array) = array.cast::<PyUntypedArray>()
            && array.len() != 64
            && array.ndim() > 0
        {
            let message =
                format!("hash number {at} has {} bits; a fingerprint has 64", array.len());
            return Err(input_error(py, message));
        }
        rows.append(array)?;
    }
    let array = py.import("numpy")?.call_method1("asarray", (rows,))?;
    Ok(array.cast_into::<PyUntypedArray>()?)
}
