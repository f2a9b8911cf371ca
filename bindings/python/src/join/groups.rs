//! The functions `group`, for groups of near fingerprints in an array, and `components`, for
//! connected components of pairs.

use std::path::PathBuf;

use fpstore::Fingerprint;
use fpstore::join::Groups;
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::columns::{BATCH_ROWS, RowsBuilder, U64};
use crate::errors::input_error;
use crate::input::arguments::path_or_none;
use crate::input::fingerprints;
use crate::input::whole::{Bytes, Whole};
use crate::options::{Limits, tuned_distance};
use crate::recipes::{recipe_of, warn_of_unknown_recipe};
use crate::rows::Rows;
use crate::work::{Reporter, run};

/// The group of each row. Rows within `k` bits of each other are in one group, also if only a chain
/// of other rows connects them.
///
/// Grouping differs from cleaning: in a chain of small changes each row is near the next one, so
/// the whole chain is one group, although its ends are far apart. `clean` keeps both ends, and
/// confirms near documents by their features.
///
/// Parameters
/// ----------
/// fingerprints : array, list or Column
///     A row without a fingerprint (null) is a group by itself.
#[doc = parameters!(k_recipe max_pairs threads memory temp_dir progress)]
///
/// Returns
/// -------
/// numpy.ndarray of int64
///     For each row, the number of the first row of its group.
///
/// Examples
/// --------
/// >>> groups = fpstore.group([0, 255, 7, 0, 31], k=3)
/// >>> groups
/// array([0, 0, 0, 0, 0])
#[pyfunction]
#[pyo3(signature = (
    fingerprints, k=None, *, max_pairs=None, threads=None, memory=None, temp_dir=None, progress=None
))]
pub(crate) fn group<'py>(
    py: Python<'py>,
    fingerprints: &Bound<'py, PyAny>,
    k: Option<Whole>,
    max_pairs: Option<Whole>,
    threads: Option<Whole>,
    memory: Option<Bytes>,
    #[pyo3(from_py_with = path_or_none)] temp_dir: Option<PathBuf>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    if k.is_none() {
        warn_of_unknown_recipe(fingerprints)?;
    }
    let k = tuned_distance(py, k, recipe_of(fingerprints)?.as_ref())?;
    let limits = Limits::new(py, threads, memory, temp_dir)?.max_pairs(py, max_pairs)?;
    let rows = fingerprints::many_or_null(fingerprints)?;
    if rows.len() >= u32::MAX as usize {
        let message =
            format!("{} fingerprints are too many, at most 2**32 - 2 can be grouped", rows.len());
        return Err(input_error(py, message));
    }
    let reporter = Reporter::new(progress)?.phases(2);
    let groups = run(py, &reporter, |shared| {
        let mut groups = Groups::new(rows.known())?;
        shared.check()?;
        groups.join_near(&limits.join(k, shared))?;
        // For each group the first row seen so far, or `u32::MAX`.
        let mut firsts = vec![u32::MAX; groups.fingerprints().len()];
        // The answer replaces the fingerprints in place, without more memory.
        rows.into_each(|row, value| {
            if row % BATCH_ROWS == 0 {
                shared.check()?;
            }
            let Some(group) = value.and_then(|value| groups.group_of(value)) else {
                return Ok(row as i64);
            };
            firsts[group] = firsts[group].min(row as u32);
            Ok(i64::from(firsts[group]))
        })
    })?;
    Ok(PyArray1::from_vec(py, groups))
}

/// The connected components of pairs.
///
/// Parameters
/// ----------
/// first, second : array or list of int
///
/// Returns
/// -------
/// Rows
///     Each distinct value, ascending, with the smallest value of its component.
///
/// Examples
/// --------
/// >>> fpstore.components([1, 3], [2, 2]).to_pylist()
/// [(1, 1), (2, 1), (3, 1)]
#[pyfunction]
pub(crate) fn components(first: &Bound<'_, PyAny>, second: &Bound<'_, PyAny>) -> PyResult<Rows> {
    let py = first.py();
    let (first, second) =
        (fingerprints::many_of_any_width(first)?, fingerprints::many_of_any_width(second)?);
    if first.len() != second.len() {
        let (first, second) = (first.len(), second.len());
        let message = format!("{first} first and {second} second values, expected as many of each");
        return Err(input_error(py, message));
    }
    run(py, &Reporter::default(), move |shared| {
        let mut groups = Groups::new(first.iter().chain(&second).copied())?;
        for (number, (&one, &other)) in first.iter().zip(&second).enumerate() {
            if number % BATCH_ROWS == 0 {
                shared.check()?;
            }
            groups.join(one, other);
        }
        let values = groups.fingerprints().to_vec();
        let least = |value| Some((Fingerprint::value(value), groups.least_of(value)?.value()));
        let columns = (U64::default(), U64::default());
        RowsBuilder::of(["fingerprint", "component"], columns, values.into_iter().filter_map(least))
    })
}
