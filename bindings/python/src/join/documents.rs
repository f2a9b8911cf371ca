//! New documents against stored ones, as a stream with a column that says which to keep.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::builder::{UInt8Builder, UInt64Builder};
use arrow_array::{BooleanArray, UInt64Array};
use arrow_schema::{DataType, Field, SchemaRef};
use fpstore::join::{Dedup, DroppedDocument, Fate, dedup as compare};
use fpstore::{Id, IdKind, IdRef};
use pyo3::prelude::*;

use crate::columns::{BATCH_ROWS, IdColumn, batch_of, id_kind, plain, schema_of};
use crate::errors::Failure;
use crate::options::{Limits, count, distance};
use crate::rows::array;
use crate::store::Store;
use crate::stream::{RowStream, Sink};
use crate::work::Reporter;

/// The document because of which another one is dropped.
struct Near {
    fingerprint: u64,
    distance: u8,
    id: Option<Id>,
}

impl Near {
    fn of(dropped: &DroppedDocument<'_>) -> Self {
        Near {
            fingerprint: dropped.pair.second.value(),
            // A distance is at most 64.
            distance: dropped.pair.distance() as u8,
            id: dropped.other_id.map(IdRef::to_id),
        }
    }
}

/// For each dropped document why: by fingerprint for those near a stored one, by fingerprint and id
/// for those near a new one.
#[derive(Default)]
struct Reasons {
    stored: HashMap<u64, Near>,
    new: HashMap<(u64, Option<Id>), Near>,
}

impl Reasons {
    fn of(done: &Dedup) -> Result<Self, Failure> {
        let mut reasons = Reasons::default();
        done.for_each_dropped(|dropped| {
            let (fingerprint, near) = (dropped.pair.first.value(), Near::of(&dropped));
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

    fn find(&self, fingerprint: u64, id: Option<IdRef<'_>>) -> Option<&Near> {
        let stored = self.stored.get(&fingerprint);
        stored.or_else(|| self.new.get(&(fingerprint, id.map(IdRef::to_id))))
    }
}

/// Documents under construction.
struct Documents {
    schema: SchemaRef,
    fingerprint: Vec<u64>,
    id: IdColumn,
    keep: Vec<bool>,
    near: UInt64Builder,
    near_id: IdColumn,
    distance: UInt8Builder,
}

impl Documents {
    fn new(ids: IdKind, near_ids: IdKind) -> Self {
        let (id, near_id) = (IdColumn::new(ids), IdColumn::new(near_ids));
        let schema = schema_of([
            plain("fingerprint", DataType::UInt64),
            id.field("id"),
            plain("keep", DataType::Boolean),
            Some(Field::new("near", DataType::UInt64, true)),
            near_id.field("near_id"),
            Some(Field::new("distance", DataType::UInt8, true)),
        ]);
        Documents {
            schema,
            fingerprint: Vec::new(),
            id,
            keep: Vec::new(),
            near: UInt64Builder::new(),
            near_id,
            distance: UInt8Builder::new(),
        }
    }

    fn push(
        &mut self,
        fingerprint: u64,
        id: Option<IdRef<'_>>,
        keep: bool,
        near: Option<&Near>,
    ) -> Result<(), Failure> {
        self.fingerprint.push(fingerprint);
        self.id.push(id)?;
        self.keep.push(keep);
        self.near.append_option(near.map(|near| near.fingerprint));
        self.near_id.push(near.and_then(|near| near.id.as_ref()).map(Id::as_ref))?;
        self.distance.append_option(near.map(|near| near.distance));
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.fingerprint.len() >= BATCH_ROWS || self.id.is_full() || self.near_id.is_full()
    }

    fn flush(&mut self, sink: &mut Sink) -> Result<(), Failure> {
        let columns = [
            Some(array(UInt64Array::from(std::mem::take(&mut self.fingerprint)))),
            self.id.take(),
            Some(array(BooleanArray::from(std::mem::take(&mut self.keep)))),
            Some(array(self.near.finish())),
            self.near_id.take(),
            Some(array(self.distance.finish())),
        ];
        sink.send(batch_of(&self.schema, columns)?)
    }
}

/// Which documents of `new` to keep: those that are near no document of `stored`, and, if `within`,
/// no other new one that is kept. A stream of all new documents by ascending fingerprint:
/// `fingerprint`, `id`, `keep`, and for a dropped one `near`, `near_id` and `distance` of the
/// nearest stored document, or of the new one that is kept instead.
///
/// `k` is that of `stored` unless it is given. Takes memory for each dropped document. A document
/// that was added twice is two with one id, of which one is dropped.
///
/// >>> new = fpstore.build(folder / "new.fps", [0xC0F1789BED2EB9BA, 5], ["new", "other"])
/// >>> fpstore.dedup(new, store).read_all().to_pylist()
/// [(5, 'other', True, None, None, None), (13903026135763958202, 'new', False, 13903026135763958200, 'a.html', 1)]
#[pyfunction]
#[pyo3(signature = (
    new, stored=None, k=None, *, within=true, max_pairs=None, threads=None, memory=None,
    temp_dir=None, progress=None
))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
pub(crate) fn dedup(
    py: Python<'_>,
    new: &Store,
    stored: Option<&Store>,
    k: Option<i64>,
    within: bool,
    max_pairs: Option<i64>,
    threads: Option<i64>,
    memory: Option<i64>,
    temp_dir: Option<PathBuf>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<RowStream> {
    let new = new.get()?;
    let stored = stored.map(Store::get).transpose()?;
    let k = distance(py, k, stored.as_ref().unwrap_or(&new))?;
    let limits = Limits::new(py, threads, memory, temp_dir)?;
    let most = count(py, "max_pairs", max_pairs)?;
    let kinds = [id_kind(&new), stored.as_ref().map_or(IdKind::None, id_kind)];
    let near_kind = if kinds.contains(&IdKind::Text) {
        IdKind::Text
    } else if kinds.contains(&IdKind::U64) {
        IdKind::U64
    } else {
        IdKind::None
    };
    let mut rows = Documents::new(kinds[0], near_kind);
    let reporter = Reporter::new(progress)?;
    RowStream::start(Arc::clone(&rows.schema), reporter, move |shared, sink| {
        let options = limits.join(k, shared).max_pairs(most);
        let done = compare(&new, stored.as_ref(), within, &options)?;
        let reasons = Reasons::of(&done)?;
        done.for_each_document(|fate, fingerprint, id| {
            let keep = fate == Fate::Keep;
            let near = if keep { None } else { reasons.find(fingerprint.value(), id) };
            rows.push(fingerprint.value(), id, keep, near)?;
            if rows.is_full() {
                rows.flush(sink)?;
            }
            Ok::<(), Failure>(())
        })?;
        rows.flush(sink)
    })
}
