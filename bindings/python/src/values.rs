//! Small functions on fingerprints: conversions, bits of images, statistics of arrays.

use std::sync::Arc;

use fpstore::Width;
use fpstore::profile::Collector;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::columns::BATCH_ROWS;
use crate::errors::input_error;
use crate::input::texts::TextInput;
use crate::input::whole::Whole;
use crate::input::{bits, fingerprints};
use crate::options::tuned_distance;
use crate::recipes::recipe_of;
use crate::store::StatisticsView;
use crate::work::{Reporter, run, run_change};

/// Converts texts of 1 to 16 hex digits to fingerprints.
///
/// Parameters
/// ----------
/// texts : list, array or Series of str
///
/// Returns
/// -------
/// numpy.ndarray of uint64
///
/// Examples
/// --------
/// >>> fpstore.from_hex(["ff", "c0f1789bed2eb9b8"])
/// array([                 255, 13903026135763958200], dtype=uint64)
#[pyfunction]
pub(crate) fn from_hex<'py>(texts: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<u64>>> {
    // Only texts are accepted: numbers are already fingerprints.
    let (py, read) = (texts.py(), TextInput::of(texts)?);
    let mut values = Vec::with_capacity(read.len());
    for at in 0..read.len() {
        let Some(text) = read.get(at) else {
            return Err(input_error(py, format!("text number {at} is null")));
        };
        let value = fingerprints::one(&PyString::new(py, text))
            .map_err(|error| input_error(py, format!("text number {at}: {}", error.value(py))))?;
        values.push(value.value());
    }
    Ok(PyArray1::from_vec(py, values))
}

/// Converts fingerprints to texts of 16 hex digits, or of fewer digits for a `Column` of narrower
/// fingerprints.
///
/// Parameters
/// ----------
/// fingerprints : array, list or Column
///
/// Returns
/// -------
/// list of str
///
/// Examples
/// --------
/// >>> fpstore.to_hex([255])
/// ['00000000000000ff']
#[pyfunction]
pub(crate) fn to_hex(fingerprints: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let width = recipe_of(fingerprints)?.map_or(Width::FULL, |recipe| recipe.width());
    let values = fingerprints::many(fingerprints)?;
    Ok(values.into_iter().map(|value| width.hex(value).to_string()).collect())
}

/// Converts hashes of images, given as bits, to fingerprints.
///
/// Parameters
/// ----------
/// bits : array of bool, or iterable of arrays or hashes of imagehash
///     The bits in an array of shape (n, 64) or (n, 8, 8).
///
/// Returns
/// -------
/// numpy.ndarray of uint64
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> fpstore.from_bits(np.eye(8, dtype=bool).reshape(1, 8, 8))
/// array([9241421688590303745], dtype=uint64)
#[pyfunction]
pub(crate) fn from_bits<'py>(bits: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<u64>>> {
    Ok(PyArray1::from_vec(bits.py(), bits::values_of(bits)?))
}

/// Statistics of fingerprints, to check them before a store is built. They reveal decimal numbers
/// read as hex, counters, dead bits and more.
///
/// Parameters
/// ----------
/// fingerprints : array, list or Column
#[doc = parameters!(k_recipe)]
///
/// Returns
/// -------
/// fpstore.types.Statistics
///
/// Examples
/// --------
/// >>> fpstore.stats(range(1000)).findings[0].code
/// 'counting-numbers'
#[pyfunction]
#[pyo3(signature = (fingerprints, k=None))]
pub(crate) fn stats(
    py: Python<'_>,
    fingerprints: &Bound<'_, PyAny>,
    k: Option<Whole>,
) -> PyResult<StatisticsView> {
    let k = tuned_distance(py, k, recipe_of(fingerprints)?.as_ref())?;
    let values = fingerprints::many(fingerprints)?;
    let statistics = run(py, &Reporter::default(), move |shared| {
        let mut collector = Collector::new();
        for some in values.chunks(BATCH_ROWS) {
            shared.check()?;
            some.iter().for_each(|value| collector.push(*value));
        }
        let scheme = collector.scheme(&crate::options::scheme(k, None, None)?)?;
        Ok(collector.finish(&scheme))
    })?;
    Ok(StatisticsView { name: "fingerprints".into(), statistics })
}

/// Panics, for a test of how panics are reported.
#[pyfunction]
pub(crate) fn _panic(py: Python<'_>, is_held: bool) -> PyResult<()> {
    let work = || panic!("a panic for a test");
    if is_held { crate::work::held(work) } else { run(py, &Reporter::default(), |_| work()) }
}

/// Fails like a change that took effect before its error, for a test of such errors.
#[pyfunction]
pub(crate) fn _fail_after(py: Python<'_>, generation: u64) -> PyResult<()> {
    let source = std::io::Error::from_raw_os_error(5);
    let source =
        fpstore::Error::Io(fpstore::IoError { doing: "sync", path: "store.fps".into(), source });
    let error = fpstore::Error::InEffect { generation, source: Box::new(source) };
    run_change(py, &Reporter::default(), &Arc::default(), |_| Err(error.into()))
}
