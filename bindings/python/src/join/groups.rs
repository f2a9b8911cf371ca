//! Groups of near fingerprints in arrays, and components of pairs: one number for each row.

use std::path::PathBuf;

use arrow_array::UInt64Array;
use arrow_schema::DataType;
use fpstore::Fingerprint;
use fpstore::join::near_pairs;
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::columns::{batch_of, plain, schema_of};
use crate::errors::{Failure, input_error};
use crate::input::fingerprints;
use crate::options::{Limits, count, distance_of};
use crate::rows::{Rows, array};
use crate::work::{Reporter, run};

/// Disjoint sets of positions; the smallest position of a set is its name.
struct Sets(Vec<u32>);

impl Sets {
    fn find(&mut self, mut at: u32) -> u32 {
        while self.0[at as usize] != at {
            let grandparent = self.0[self.0[at as usize] as usize];
            self.0[at as usize] = grandparent;
            at = grandparent;
        }
        at
    }

    fn union(&mut self, one: u32, other: u32) {
        let (one, other) = (self.find(one), self.find(other));
        self.0[one.max(other) as usize] = one.min(other);
    }
}

/// The distinct values, ascending, and for each the first row that has it. A row without a value
/// has none.
fn first_rows(values: &[Option<Fingerprint>]) -> (Vec<u64>, Vec<u32>) {
    let mut sorted: Vec<(u64, u32)> =
        (0..).zip(values).filter_map(|(row, value)| Some((value.as_ref()?.value(), row))).collect();
    sorted.sort_unstable();
    sorted.dedup_by_key(|(value, _)| *value);
    sorted.into_iter().unzip()
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
    let values = fingerprints::many_or_null(fingerprints)?;
    if values.len() >= u32::MAX as usize {
        let message = format!("{} fingerprints, groups are found among 2**32 - 2", values.len());
        return Err(input_error(py, message));
    }
    let reporter = Reporter::new(progress)?;
    let groups = run(py, &reporter, |shared| {
        let (distinct, rows) = first_rows(&values);
        let row_of = |value: Fingerprint| {
            distinct.binary_search(&value.value()).map(|at| rows[at]).unwrap_or_default()
        };
        let mut sets = Sets((0..values.len() as u32).collect());
        let options = limits.join(k, shared).max_pairs(most);
        let input: Vec<Fingerprint> = distinct.iter().copied().map(Fingerprint::new).collect();
        near_pairs(input.as_slice(), &options, |pairs| {
            pairs.iter().for_each(|pair| sets.union(row_of(pair.first), row_of(pair.second)));
            Ok::<(), Failure>(())
        })?;
        for (row, value) in (0..).zip(&values) {
            if let Some(value) = value {
                sets.union(row, row_of(*value));
            }
        }
        Ok((0..values.len() as u32).map(|row| i64::from(sets.find(row))).collect::<Vec<i64>>())
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
    run(py, &Reporter::default(), move |_| {
        let mut values: Vec<u64> = first.iter().chain(&second).map(|value| value.value()).collect();
        values.sort_unstable();
        values.dedup();
        if values.len() >= u32::MAX as usize {
            let message = format!("{} values, there may be 2**32 - 2", values.len());
            return Err(Failure::Input(message));
        }
        let mut sets = Sets((0..values.len() as u32).collect());
        let at = |of: Fingerprint| values.binary_search(&of.value()).unwrap_or_default() as u32;
        for (&one, &other) in first.iter().zip(&second) {
            sets.union(at(one), at(other));
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
