//! The summary of a cleaning: the classes `Overview`, `Loss` and `LargeCluster`.

use fpstore::rows::Side;
use fpstore_corpus::{LargeCluster, Loss, LossRow, Overview};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::tuple_class::answer;

/// Converts an overview to the Python class `Overview`.
pub(crate) fn overview_of<'py>(
    py: Python<'py>,
    overview: &Overview,
) -> PyResult<Bound<'py, PyAny>> {
    let losses = overview.losses.iter().map(|loss| loss_of(py, loss));
    let clusters = overview.clusters.iter().map(|cluster| cluster_of(py, cluster));
    let losses = losses.collect::<PyResult<Vec<_>>>()?;
    let clusters = clusters.collect::<PyResult<Vec<_>>>()?;
    let reasons = PyDict::new(py);
    for (reason, count) in overview.reasons.each() {
        reasons.set_item(reason.name(), count)?;
    }
    answer!(py, "Overview", overview.judgement.to_string(), reasons, losses, clusters)
}

/// Converts a loss to the Python class `Loss`.
pub(crate) fn loss_of<'py>(py: Python<'py>, loss: &Loss) -> PyResult<Bound<'py, PyAny>> {
    let LossRow { kind, name, document_count, removed_count, empty_count } = loss.row();
    answer!(py, "Loss", kind, name, document_count, removed_count, empty_count)
}

fn cluster_of<'py>(py: Python<'py>, cluster: &LargeCluster) -> PyResult<Bound<'py, PyAny>> {
    let id = cluster.id.as_ref().map(ToString::to_string);
    let side = if cluster.side == Side::Stored { "stored" } else { "new" };
    answer!(py, "LargeCluster", cluster.document_count, id, side, cluster.line.as_deref())
}
