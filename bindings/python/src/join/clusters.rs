//! Clusters of the documents of a store, as a stream.

use std::path::PathBuf;
use std::sync::Arc;

use fpstore::Id;
use fpstore::join::{
    ClusterMethod, Clusters, JoinOptions, JudgedPairs, KeepRule, clusters, judged_clusters,
};
use pyo3::prelude::*;

use crate::answer_columns::{IdColumn, id_kind};
use crate::columns::{Bits, Distances, RowsBuilder, U64};
use crate::documents::judged_of;
use crate::errors::Failure;
use crate::input::arguments::{path_or_none, text};
use crate::input::whole::{Bytes, Whole};
use crate::options::{Limits, choice, distance};
use crate::store::Store;
use crate::stream::RowStream;
use crate::work::Reporter;

/// The column names of a row, which is a member of a cluster.
const NAMES: [&str; 5] = ["cluster", "fingerprint", "distance", "id", "keep"];

#[pymethods]
impl Store {
    /// Clusters of near documents, as rows of their members. Documents without neighbours are
    /// omitted. A document with two fingerprints counts as two documents with one id: deleting that
    /// id deletes both.
    ///
    /// Parameters
    /// ----------
    #[doc = parameters!(k_store)]
    /// method : str, default "components"
    ///     `"components"` puts all documents that are connected by chains of pairs into one
    ///     cluster, `"star"` and `"leader"` only documents within `k` bits of the representative.
    /// keep : str, default "representative"
    ///     The documents to keep: `"representative"`, the smallest id of each representative;
    ///     `"smallest-id"` (or `"first"`), the smallest id of each cluster; `"largest-cluster"`,
    ///     all documents of the largest cluster and no others.
    /// pairs : path or table, optional
    ///     Judged pairs in the formats that `clean` accepts, for `method="components"` only: pairs
    ///     judged duplicates are in one cluster, pairs judged different never.
    #[doc = parameters!(threads memory temp_dir progress)]
    ///
    /// Returns
    /// -------
    /// fpstore.types.RowStream
    ///     Rows of `cluster`, `fingerprint`, `distance` from the representative, `id` and `keep`.
    ///
    /// Examples
    /// --------
    /// >>> for rows in store.clusters(3):
    /// ...     print(rows["id"], rows["keep"])
    /// ['a.html' 'b.html'] [ True False]
    #[pyo3(signature = (
        k=None, method="components", *, keep="representative", pairs=None, threads=None,
        memory=None, temp_dir=None, progress=None
    ))]
    fn clusters(
        &self,
        py: Python<'_>,
        k: Option<Whole>,
        #[pyo3(from_py_with = text)] method: &str,
        #[pyo3(from_py_with = text)] keep: &str,
        pairs: Option<&Bound<'_, PyAny>>,
        threads: Option<Whole>,
        memory: Option<Bytes>,
        #[pyo3(from_py_with = path_or_none)] temp_dir: Option<PathBuf>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<RowStream> {
        let store = self.one()?;
        let k = distance(py, k, &store)?;
        let limits = Limits::new(py, threads, memory, temp_dir)?;
        let method: ClusterMethod = choice(py, "method", method)?;
        let keep: KeepRule = choice(py, "keep", keep)?;
        let judged = judged_of(pairs, method)?;
        let id = IdColumn::new(id_kind(&store));
        let columns = (U64::default(), U64::default(), Distances::default(), id, Bits::default());
        let mut members = RowsBuilder::new(NAMES, columns);
        let reporter = Reporter::new(progress)?.phases(2);
        RowStream::start(Arc::clone(&members.schema), reporter, move |shared, sink| {
            let options = limits.join(k, shared);
            let found = clusters_of(&store, &options, method, judged.as_ref())?;
            found.for_each_kept(keep, |cluster, is_kept| {
                for (number, member) in cluster.members.iter().enumerate() {
                    for at in 0..member.ids.len().max(1) {
                        let id = member.ids.get(at).map(Id::as_ref);
                        let (value, keep) = (member.fingerprint.value(), is_kept(number, at));
                        let row = (cluster.number, value, member.distance, id, keep);
                        members.send(row, sink)?;
                    }
                }
                Ok::<(), Failure>(())
            })?;
            members.flush(sink)
        })
    }
}

/// The clusters of a store. They obey the judged pairs, if there are any.
pub(super) fn clusters_of(
    store: &fpstore::Store,
    options: &JoinOptions,
    method: ClusterMethod,
    judged: Option<&JudgedPairs>,
) -> Result<Clusters, Failure> {
    Ok(match judged {
        None => clusters(store, options, method)?,
        Some(pairs) => judged_clusters(store, options, pairs, |id| id)?.0,
    })
}
