//! Deduplication of new documents against stored ones, as a stream.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use fpstore::join::{Dedup, Fate, dedup as compare};
use fpstore::{Id, IdKind, IdRef, StoreIndex};
use pyo3::prelude::*;

use crate::answer_columns::{IdColumn, Near, common_id_kind, id_kind};
use crate::columns::{Bits, RowsBuilder, U64};
use crate::errors::Failure;
use crate::input::arguments::path_or_none;
use crate::input::whole::{Bytes, Whole};
use crate::options::{Limits, distance};
use crate::store::{Given, one_store, stores_or_none};
use crate::stream::RowStream;
use crate::work::Reporter;

/// The near document that is kept instead of a dropped one, with its store if it is stored.
struct Reason {
    near: Near,
    store: Option<StoreIndex>,
}

/// The reason for each dropped document. Documents near a stored document are found by their
/// fingerprint, documents near a new document by their fingerprint and id.
#[derive(Default)]
struct Reasons {
    stored: HashMap<u64, Reason>,
    new: HashMap<(u64, Option<Id>), Reason>,
}

impl Reasons {
    fn of(done: &Dedup) -> Result<Self, Failure> {
        let mut reasons = Reasons::default();
        done.for_each_dropped(|dropped| {
            let fingerprint = dropped.pair.first.value();
            let near = Near {
                fingerprint: dropped.pair.second.value(),
                distance: dropped.pair.distance(),
                id: dropped.other_id.map(IdRef::to_id),
            };
            let near = Reason { near, store: dropped.is_stored.then_some(dropped.other_store) };
            match dropped.is_stored {
                true => drop(reasons.stored.insert(fingerprint, near)),
                false => {
                    let key = (fingerprint, dropped.id.map(IdRef::to_id));
                    reasons.new.insert(key, near);
                }
            }
            Ok::<(), Failure>(())
        })?;
        Ok(reasons)
    }

    fn find(&self, fingerprint: u64, id: Option<IdRef<'_>>) -> Option<&Reason> {
        let stored = self.stored.get(&fingerprint);
        stored.or_else(|| self.new.get(&(fingerprint, id.map(IdRef::to_id))))
    }
}

/// The column names of a row, which is a document. `near_store` is omitted for a single store.
const NAMES: [&str; 7] = ["fingerprint", "id", "keep", "near", "near_id", "distance", "near_store"];

/// Decides which documents of a store to keep: documents without a near document in `stored` and,
/// if `within`, without another near kept document in `new`. Memory grows with the number of
/// dropped documents. A document with two fingerprints counts as two documents with one id.
///
/// Parameters
/// ----------
/// new : Store or path
/// stored : Store, path or list of paths, optional
/// k : int, optional
///     Maximum distance of near documents in bits; by default the tuned distance of `stored`.
/// within : bool, default True
#[doc = parameters!(max_pairs threads memory temp_dir progress)]
///
/// Returns
/// -------
/// fpstore.types.RowStream
///     All new documents by ascending fingerprint: `fingerprint`, `id`, `keep`, and for a dropped
///     document `near`, `near_id` and `distance` of the nearest stored document, or of the new
///     document that is kept instead. With several stores also `near_store`, the store of a stored
///     `near`. A record that was added twice, with the same fingerprint and id, is one document.
///
/// Examples
/// --------
/// >>> new = fpstore.build(folder / "new.fps", [0xC0F1789BED2EB9BA, 5], ["new", "other"])
/// >>> fpstore.dedup(new, store).read_all().to_pylist()
/// [(5, 'other', True, None, None, None), (13903026135763958202, 'new', False, 13903026135763958200, 'a.html', 1)]
#[pyfunction]
#[pyo3(signature = (
    new, stored=None, k=None, *, within=true, max_pairs=None, threads=None, memory=None,
    temp_dir=None, progress=None
))]
pub(crate) fn dedup(
    py: Python<'_>,
    #[pyo3(from_py_with = one_store)] new: fpstore::Store,
    #[pyo3(from_py_with = stores_or_none)] stored: Option<Given>,
    k: Option<Whole>,
    within: bool,
    max_pairs: Option<Whole>,
    threads: Option<Whole>,
    memory: Option<Bytes>,
    #[pyo3(from_py_with = path_or_none)] temp_dir: Option<PathBuf>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<RowStream> {
    let (stored, names) = stored.map(|Given { store, names }| (store, names)).unzip();
    let names = names.flatten();
    let k = distance(py, k, stored.as_ref().unwrap_or(&new))?;
    let limits = Limits::new(py, threads, memory, temp_dir)?.max_pairs(py, max_pairs)?;
    let kinds = [id_kind(&new), stored.as_ref().map_or(IdKind::None, id_kind)];
    let (near, near_id, distance) = Near::columns(common_id_kind(kinds));
    let store = IdColumn::new(if names.is_some() { IdKind::Text } else { IdKind::None });
    let own = (U64::default(), IdColumn::new(kinds[0]), Bits::default());
    let columns = (own.0, own.1, own.2, near, near_id, distance, store);
    let mut rows = RowsBuilder::new(NAMES, columns);
    let reporter = Reporter::new(progress)?.phases(3);
    RowStream::start(Arc::clone(&rows.schema), reporter, move |shared, sink| {
        let options = limits.join(k, shared);
        let done = compare(&new, stored.as_ref(), within, &options)?;
        let reasons = Reasons::of(&done)?;
        done.for_each_document(|fate, fingerprint, id| {
            let keep = fate == Fate::Keep;
            let reason = if keep { None } else { reasons.find(fingerprint.value(), id) };
            let (near, near_id, distance) = Near::cells(reason.map(|reason| &reason.near));
            let store = names.as_ref().zip(reason.and_then(|reason| reason.store));
            let store = store.map(|(names, store)| IdRef::Text(names.text(store)));
            rows.send((fingerprint.value(), id, keep, near, near_id, distance, store), sink)
        })?;
        rows.flush(sink)
    })
}
