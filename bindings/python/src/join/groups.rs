//! Groups of near fingerprints in arrays, and components of pairs: one number for each row.

use std::path::PathBuf;

use arrow_array::UInt64Array;
use arrow_schema::DataType;
use fpstore::join::near_pairs;
use numpy::PyArray1;
use pyo3::prelude::*;

use super::distinct::{Distinct, check};
use crate::columns::{BATCH_ROWS, batch_of, plain, schema_of};
use crate::errors::{Failure, input_error};
use crate::input::fingerprints;
use crate::options::{Limits, count, distance_of};
use crate::rows::{Rows, array};
use crate::work::{Reporter, run};

/// Disjoint sets of positions; the smallest position of a set is its name.
struct Sets(Vec<u32>);

impl Sets {
    /// So many positions, at most 2^32, each by itself.
    fn new(count: usize) -> Self {
        Sets((0..count as u32).collect())
    }

    fn find(&mut self, mut at: u32) -> u32 {
        while self.0[at as usize] != at {
            let grandparent = self.0[self.0[at as usize] as usize];
            self.0[at as usize] = grandparent;
            at = grandparent;
        }
        at
    }

    fn union(&mut self, one: usize, other: usize) {
        let (one, other) = (self.find(one as u32), self.find(other as u32));
        self.0[one.max(other) as usize] = one.min(other);
    }
}

/// For each row the first row of its group: rows within `k` bits of one another, directly or over
/// others, are one group. Rows without a fingerprint (null) are groups by themselves.
///
/// So `group(...) == arange(n)` is the mask of the rows to keep:
///
/// >>> groups = fpstore.group([0, 255, 7, 0], k=3)
/// >>> groups
/// array([0, 1, 0, 0])
#[pyfunction]
#[pyo3(signature = (
    fingerprints, k=3, *, max_pairs=None, threads=None, memory=None, temp_dir=None, progress=None
))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
pub(crate) fn group<'py>(
    py: Python<'py>,
    fingerprints: &Bound<'py, PyAny>,
    k: i64,
    max_pairs: Option<i64>,
    threads: Option<i64>,
    memory: Option<i64>,
    temp_dir: Option<PathBuf>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let k = distance_of(py, k)?;
    let limits = Limits::new(py, threads, memory, temp_dir)?;
    let most = count(py, "max_pairs", max_pairs)?;
    let rows = fingerprints::many_or_null(fingerprints)?;
    if rows.len() >= u32::MAX as usize {
        let message = format!("{} fingerprints, groups are found among 2**32 - 2", rows.len());
        return Err(input_error(py, message));
    }
    let reporter = Reporter::new(progress)?;
    let groups = run(py, &reporter, |shared| {
        let distinct = Distinct::of(rows.known(), shared)?;
        let mut sets = Sets::new(distinct.values().len());
        let options = limits.join(k, shared).max_pairs(most);
        near_pairs(distinct.values(), &options, |pairs| {
            for pair in pairs {
                sets.union(distinct.position(pair.first), distinct.position(pair.second));
            }
            Ok::<(), Failure>(())
        })?;
        // The first row of each set, once the rows have come to it.
        let mut firsts = vec![u32::MAX; distinct.values().len()];
        // The numbers of the groups take the place of the fingerprints.
        rows.into_each(|row, value| {
            if row % BATCH_ROWS == 0 {
                check(shared)?;
            }
            let Some(value) = value else { return Ok(row as i64) };
            let first = &mut firsts[sets.find(distinct.position(value) as u32) as usize];
            *first = (*first).min(row as u32);
            Ok(i64::from(*first))
        })
    })?;
    Ok(PyArray1::from_vec(py, groups))
}

/// The connected components of pairs: each value once, ascending, with the smallest value of its
/// component.
///
/// >>> fpstore.components([1, 3], [2, 2]).to_pylist()
/// [(1, 1), (2, 1), (3, 1)]
#[pyfunction]
pub(crate) fn components(
    py: Python<'_>,
    first: &Bound<'_, PyAny>,
    second: &Bound<'_, PyAny>,
) -> PyResult<Rows> {
    let (first, second) = (fingerprints::many(first)?, fingerprints::many(second)?);
    if first.len() != second.len() {
        let message = format!("{} first and {} second values", first.len(), second.len());
        return Err(input_error(py, message));
    }
    run(py, &Reporter::default(), move |shared| {
        let distinct = Distinct::of(first.iter().chain(&second).copied(), shared)?;
        let values: Vec<u64> = distinct.values().iter().map(|value| value.value()).collect();
        if values.len() >= u32::MAX as usize {
            let message = format!("{} values, there may be 2**32 - 2", values.len());
            return Err(Failure::Input(message));
        }
        let mut sets = Sets::new(values.len());
        for (number, (&one, &other)) in first.iter().zip(&second).enumerate() {
            if number % BATCH_ROWS == 0 {
                check(shared)?;
            }
            sets.union(distinct.position(one), distinct.position(other));
        }
        let names: Vec<u64> =
            (0..values.len() as u32).map(|at| values[sets.find(at) as usize]).collect();
        let schema = schema_of([
            plain("fingerprint", DataType::UInt64),
            plain("component", DataType::UInt64),
        ]);
        let columns =
            [Some(array(UInt64Array::from(values))), Some(array(UInt64Array::from(names)))];
        let batch = batch_of(&schema, columns)?;
        Ok(Rows::new(schema, vec![batch]))
    })
}
