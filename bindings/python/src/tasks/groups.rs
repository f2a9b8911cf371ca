//! A join of the fingerprints of a data frame with an engine: packs them for groups, then joins
//! each group.
//!
//! Input: fingerprints and a plan. Output: near pairs, each from exactly one group. Cost: each
//! fingerprint is sent to `k` + 1 groups, 8 bytes each. For example, with `k` = 1 the fingerprints
//! 1 and 3 meet in the group of their equal upper half.

use std::path::PathBuf;

use arrow_array::builder::BinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray};
use arrow_schema::DataType;
use fpstore::Fingerprint;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::plan::JoinPlan;
use crate::columns::{PAYLOAD_LEN, RowsBuilder, U32};
use crate::errors::input_error;
use crate::input::arguments::path_or_none;
use crate::input::whole::{Whole, wide, wide_bytes};
use crate::input::{each_column, fingerprints};
use crate::join::PairRows;
use crate::options::{Limits, TASK_MEMORY};
use crate::rows::{Rows, array};
use crate::stream::RowStream;
use crate::work::{Reporter, run};

const WHAT: &str = "payloads";
/// Packs fingerprints for the groups of a plan, so that near fingerprints meet in a group. Each
/// fingerprint is sent to `plan.k` + 1 groups, 8 bytes each; equal fingerprints are sent once.
///
/// Parameters
/// ----------
/// fingerprints : array, list or Column
/// plan : JoinPlan
///
/// Returns
/// -------
/// Rows
///     Rows of `group` and `payload`. An engine collects the payloads of each group for
///     `join_group`.
///
/// Examples
/// --------
/// >>> plan = fpstore.tasks.JoinPlan(1)
/// >>> fpstore.tasks.scatter([1, 3], plan)["group"]
/// array([0, 1], dtype=uint32)
#[pyfunction]
pub(crate) fn scatter(fingerprints: &Bound<'_, PyAny>, plan: &JoinPlan) -> PyResult<Rows> {
    let py = fingerprints.py();
    let values: Vec<Fingerprint> = fingerprints::many(fingerprints)?;
    let plan = plan.0.clone();
    run(py, &Reporter::default(), move |_| {
        let columns = (U32::default(), BinaryBuilder::new());
        let mut rows = RowsBuilder::new(["group", "payload"], columns);
        plan.scatter(&values, |group, payload| {
            // Pieces that fit into a batch: `join_group` accepts payloads cut anywhere.
            let mut pieces = payload.chunks(PAYLOAD_LEN);
            pieces.try_for_each(|piece| rows.keep((group, piece)))
        })?;
        rows.finish()
    })
}

/// The near pairs of a group. All groups together find each pair once. A payload that a repeated
/// task sent again changes nothing.
///
/// Parameters
/// ----------
/// payloads : column of an Arrow table, or list of bytes
///     All payloads of the group, in any order. Payloads of another group or plan are refused.
/// plan : JoinPlan
/// group : int
#[doc = parameters!(max_pairs task_threads task_memory temp_dir)]
///
/// Returns
/// -------
/// RowStream
///     Rows of `first`, `second` and `distance`.
///
/// Examples
/// --------
/// >>> import pyarrow as pa
/// >>> plan = fpstore.tasks.JoinPlan(1)
/// >>> packed = pa.table(fpstore.tasks.scatter([1, 3, 7], plan)).group_by("group").aggregate(
/// ...     [("payload", "list")])
/// >>> sum((fpstore.tasks.join_group(payloads, plan, group).read_all().to_pylist()
/// ...      for group, payloads in zip(*packed.to_pydict().values())), [])
/// [(1, 3, 1), (3, 7, 1)]
#[pyfunction]
#[pyo3(signature = (
    payloads, plan, group, *, max_pairs=None, threads=1, memory=TASK_MEMORY, temp_dir=None
))]
pub(crate) fn join_group(
    py: Python<'_>,
    payloads: &Bound<'_, PyAny>,
    plan: &JoinPlan,
    group: Whole,
    max_pairs: Option<Whole>,
    #[pyo3(from_py_with = wide)] threads: i128,
    #[pyo3(from_py_with = wide_bytes)] memory: i128,
    #[pyo3(from_py_with = path_or_none)] temp_dir: Option<PathBuf>,
) -> PyResult<RowStream> {
    let limits = Limits::new(py, Some(threads.into()), Some(memory.into()), temp_dir)?
        .max_pairs(py, max_pairs)?;
    let group = u32::try_from(group.0).map_err(|_| {
        input_error(py, format!("group is {group}, expected 0 to {}", plan.0.group_count() - 1))
    })?;
    let plan = plan.0.clone();
    let payloads = payloads_of(payloads)?;
    let rows = PairRows::new();
    RowStream::start(rows.schema(), Reporter::default(), move |shared, sink| {
        let options = limits.join(plan.k(), shared);
        let payloads = payloads
            .iter()
            .flat_map(|array| (0..array.len()).filter_map(move |row| bytes_of(array, row)));
        rows.collect(sink, |each| plan.pairs_of_group(group, payloads, &options, each))
    })
}

/// The bytes of a row of a binary column; `None` for another column.
pub(super) fn bytes_of(column: &ArrayRef, row: usize) -> Option<&[u8]> {
    Some(match column.data_type() {
        DataType::Binary => column.as_binary::<i32>().value(row),
        DataType::LargeBinary => column.as_binary::<i64>().value(row),
        DataType::BinaryView => column.as_binary_view().value(row),
        _ => return None,
    })
}

fn payloads_of(object: &Bound<'_, PyAny>) -> PyResult<Vec<ArrayRef>> {
    let py = object.py();
    let mut columns: Vec<ArrayRef> = Vec::new();
    let is_arrow = each_column(object, WHAT, |column| {
        let kind = column.data_type();
        if !matches!(kind, DataType::Binary | DataType::LargeBinary | DataType::BinaryView) {
            return Err(input_error(py, format!("payloads must be binary, not {kind}")));
        }
        if column.null_count() > 0 {
            let message = format!("{} of {} payloads are null", column.null_count(), column.len());
            return Err(input_error(py, message));
        }
        columns.push(column);
        Ok(())
    })?;
    if is_arrow {
        return Ok(columns);
    }
    for (at, item) in object.try_iter()?.enumerate() {
        let item = item?;
        let Ok(bytes) = item.cast::<PyBytes>() else {
            let kind = item.get_type().qualname()?;
            return Err(input_error(py, format!("payload number {at} is {kind}, expected bytes")));
        };
        columns.push(array(BinaryArray::from_vec(vec![bytes.as_bytes()])));
    }
    Ok(columns)
}
