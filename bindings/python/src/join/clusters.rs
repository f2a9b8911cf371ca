//! Clusters of the documents of a store, as a stream.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{BooleanArray, UInt8Array, UInt64Array};
use arrow_schema::{DataType, SchemaRef};
use fpstore::join::{Cluster, ClusterMethod, clusters};
use fpstore::{Id, IdKind};
use pyo3::prelude::*;

use crate::columns::{BATCH_ROWS, IdColumn, batch_of, id_kind, plain, schema_of};
use crate::errors::{Failure, input_error};
use crate::options::{Limits, distance};
use crate::rows::array;
use crate::store::Store;
use crate::stream::{RowStream, Sink};
use crate::work::Reporter;

/// Which document of a cluster is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    Representative,
    SmallestId,
}

impl Keep {
    /// The member and which of its ids is kept: as `KeepRule` of the library.
    fn of(self, cluster: &Cluster) -> (usize, usize) {
        let smallest = |member: usize| {
            let ids = cluster.members.get(member).map_or(&[][..], |member| &member.ids);
            ids.iter().enumerate().min_by(|a, b| a.1.cmp(b.1)).map_or(0, |(at, _)| at)
        };
        let key = |number: &usize| {
            let member = &cluster.members[*number];
            let id: Option<&Id> = member.ids.iter().min();
            (id.is_none(), id, member.fingerprint)
        };
        let member = match self {
            Keep::Representative => 0,
            Keep::SmallestId => {
                (0..cluster.members.len()).min_by(|a, b| key(a).cmp(&key(b))).unwrap_or(0)
            }
        };
        (member, smallest(member))
    }
}

/// Members of clusters under construction.
struct Members {
    schema: SchemaRef,
    cluster: Vec<u64>,
    fingerprint: Vec<u64>,
    distance: Vec<u8>,
    id: IdColumn,
    keep: Vec<bool>,
}

impl Members {
    fn new(ids: IdKind) -> Self {
        let id = IdColumn::new(ids);
        let schema = schema_of([
            plain("cluster", DataType::UInt64),
            plain("fingerprint", DataType::UInt64),
            plain("distance", DataType::UInt8),
            id.field("id"),
            plain("keep", DataType::Boolean),
        ]);
        let (cluster, fingerprint, distance) = (Vec::new(), Vec::new(), Vec::new());
        Members { schema, cluster, fingerprint, distance, id, keep: Vec::new() }
    }

    fn take(&mut self, cluster: &Cluster, keep: Keep) -> Result<(), Failure> {
        let kept = keep.of(cluster);
        for (number, member) in cluster.members.iter().enumerate() {
            let count = member.ids.len().max(1);
            for at in 0..count {
                self.cluster.push(cluster.number);
                self.fingerprint.push(member.fingerprint.value());
                // A distance is at most 64.
                self.distance.push(member.distance as u8);
                self.id.push(member.ids.get(at).map(Id::as_ref))?;
                self.keep.push(kept == (number, at));
            }
        }
        Ok(())
    }

    fn flush(&mut self, sink: &mut Sink) -> Result<(), Failure> {
        let columns = [
            Some(array(UInt64Array::from(std::mem::take(&mut self.cluster)))),
            Some(array(UInt64Array::from(std::mem::take(&mut self.fingerprint)))),
            Some(array(UInt8Array::from(std::mem::take(&mut self.distance)))),
            self.id.take(),
            Some(array(BooleanArray::from(std::mem::take(&mut self.keep)))),
        ];
        sink.send(batch_of(&self.schema, columns)?)
    }
}

#[pymethods]
impl Store {
    /// Clusters of near documents, as a stream of `cluster`, `fingerprint`, `distance` from the
    /// representative, `id`, and `keep`: one document of each cluster is to be kept. Documents
    /// without near ones are not in it. A document that was added twice is two with one id: to delete
    /// that id deletes both.
    ///
    /// `"components"` takes everything that hangs together over pairs, `"star"` and `"leader"` only
    /// what is within `k` bits of the representative. `keep` chooses the document with the smallest
    /// id of the representative, or the smallest id of all.
    ///
    /// >>> for rows in store.clusters(3):
    /// ...     print(rows["id"], rows["keep"])
    /// ['a.html' 'b.html'] [ True False]
    #[pyo3(signature = (
        k=None, method="components", *, keep="representative", threads=None, memory=None,
        temp_dir=None, progress=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn clusters(
        &self,
        py: Python<'_>,
        k: Option<i64>,
        method: &str,
        keep: &str,
        threads: Option<i64>,
        memory: Option<i64>,
        temp_dir: Option<PathBuf>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<RowStream> {
        let store = self.get()?;
        let k = distance(py, k, &store)?;
        let limits = Limits::new(py, threads, memory, temp_dir)?;
        let method = match method {
            "components" => ClusterMethod::Components,
            "star" => ClusterMethod::Star,
            "leader" => ClusterMethod::Leader,
            other => {
                let message = format!("method is 'components', 'star' or 'leader', not '{other}'");
                return Err(input_error(py, message));
            }
        };
        let keep = match keep {
            "representative" => Keep::Representative,
            "smallest-id" => Keep::SmallestId,
            other => {
                let message = format!("keep is 'representative' or 'smallest-id', not '{other}'");
                return Err(input_error(py, message));
            }
        };
        let mut members = Members::new(id_kind(&store));
        let reporter = Reporter::new(progress)?;
        RowStream::start(Arc::clone(&members.schema), reporter, move |shared, sink| {
            clusters(&store, &limits.join(k, shared), method)?.for_each(|cluster| {
                members.take(cluster, keep)?;
                let is_full = members.id.is_full();
                if members.cluster.len() >= BATCH_ROWS || is_full {
                    members.flush(sink)?;
                }
                Ok::<(), Failure>(())
            })?;
            members.flush(sink)
        })
    }
}
