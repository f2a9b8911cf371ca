//! Information about a server and its store.

use fpstore::IdKind;
use fpstore_client::{ServedSegment, ServedStore, ServerInfo};
use pyo3::prelude::*;
use pyo3::types::{PyDateTime, PyTuple, PyTzInfo};

use crate::answer_columns::common_id_kind;
use crate::tuple_class::answer;

/// The common id kind of the segments of a served store.
pub(super) fn kind_of_ids(store: &ServedStore) -> IdKind {
    common_id_kind(store.segments.iter().map(|segment| segment.id_kind))
}

/// Converts information about a server to the Python class `ServerInfo`.
pub(super) fn server_info<'py>(py: Python<'py>, info: &ServerInfo) -> PyResult<Bound<'py, PyAny>> {
    let limits = serde_json::to_string(&info.limits).unwrap_or_default();
    let limits = py.import("json")?.call_method1("loads", (limits,))?;
    answer!(
        py,
        "ServerInfo",
        info.version.as_str(),
        <(u16, u16)>::from(info.format_versions),
        store_info(py, &info.store)?,
        PyTuple::new(py, &info.stores)?,
        info.takes_texts,
        info.writable,
        info.needs_token.to_read,
        info.needs_token.to_write,
        limits
    )
}

/// Converts information about a served store to the Python class `StoreInfo`.
fn store_info<'py>(py: Python<'py>, store: &ServedStore) -> PyResult<Bound<'py, PyAny>> {
    let segments: PyResult<Vec<_>> =
        store.segments.iter().map(|segment| segment_info(py, segment)).collect();
    answer!(
        py,
        "StoreInfo",
        store.path.as_str(),
        store.store_id.as_str(),
        store.generation,
        store.manifest_digest.as_str(),
        store.fingerprints,
        store.ids,
        store.file_len,
        store.sketch_len,
        store.bits,
        store.tuned_k,
        store.recipe.as_deref(),
        PyTuple::new(py, segments?)?
    )
}

fn segment_info<'py>(py: Python<'py>, segment: &ServedSegment) -> PyResult<Bound<'py, PyAny>> {
    let tables: PyResult<Vec<_>> = segment
        .tables
        .iter()
        .map(|table| {
            let mask = u64::from_str_radix(&table.mask, 16).unwrap_or_default();
            let bits = table.bits_per_fingerprint;
            let (prefix, block, tail) = (table.prefix_bits, table.block_bits, table.tail_bits);
            answer!(py, "TableInfo", mask, prefix, block, tail, bits, table.syndrome_bits)
        })
        .collect();
    let written = segment.written.and_then(|seconds| {
        let utc = PyTzInfo::utc(py).ok()?;
        PyDateTime::from_timestamp(py, seconds as f64, Some(&utc)).ok()
    });
    answer!(
        py,
        "SegmentInfo",
        segment.path.as_str(),
        segment.number,
        segment.label.as_str(),
        segment.fingerprints,
        segment.ids,
        segment.deleted_fingerprints,
        segment.deleted_ids,
        segment.id_kind.name(),
        segment.sketch_len,
        segment.file_len,
        segment.tuned_k,
        segment.recipe.as_str(),
        written,
        PyTuple::new(py, tables?)?.into_any(),
        segment.format_version,
    )
}
