//! Near pairs of stores and of arrays, as streams.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_schema::SchemaRef;
use fpstore::join::{
    JoinOptions, Pair, Share, document_pairs, near_pairs as find_pairs, near_pairs_across,
    sorted_pairs, sorted_pairs_across,
};
use fpstore::{Fingerprint, IdKind};
use pyo3::prelude::*;

use crate::answer_columns::{IdColumn, NameColumn, id_kind};
use crate::columns::{Distances, RowsBuilder, U64};
use crate::errors::{Failure, input_error};
use crate::input::arguments::path_or_none;
use crate::input::fingerprints;
use crate::input::whole::{Bytes, Whole};
use crate::options::{Limits, distance, tuned_distance};
use crate::recipes::{common, recipe_of, warn_of_unknown_recipe};
use crate::store::{Given, Names, Store, name_of};
use crate::stream::{RowStream, Sink};
use crate::work::Reporter;

/// Rows of pairs under construction.
pub(crate) struct PairRows {
    rows: RowsBuilder<PairColumns>,
    names: Option<Names>,
}

/// The column names of pairs. The columns of stores and ids can be omitted.
const NAMES: [&str; 7] =
    ["first", "second", "distance", "first_store", "second_store", "first_id", "second_id"];

/// The columns [`NAMES`] under construction.
type PairColumns = (U64, U64, Distances, NameColumn, NameColumn, IdColumn, IdColumn);

impl PairRows {
    /// Rows without ids and without store names.
    pub(crate) fn new() -> Self {
        PairRows::in_stores(IdKind::None, None)
    }

    /// Rows with ids of the kind `ids`, and with store names if several stores are queried as one.
    fn in_stores(ids: IdKind, names: Option<Names>) -> Self {
        let store = || names.is_some().then(StringBuilder::new);
        let id = || IdColumn::new(ids);
        let values = (U64::default(), U64::default(), Distances::default());
        let columns = (values.0, values.1, values.2, store(), store(), id(), id());
        PairRows { rows: RowsBuilder::new(NAMES, columns), names }
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.rows.schema)
    }

    fn push(&mut self, pair: Pair, sink: &mut Sink) -> Result<(), Failure> {
        let (first, second) = (pair.first.value(), pair.second.value());
        self.rows.send((first, second, pair.distance(), "", "", None, None), sink)
    }

    /// Sends all near pairs of documents in a store, or in several stores, to the sink.
    fn of_documents(
        mut self,
        store: &fpstore::Store,
        options: &JoinOptions,
        sink: &mut Sink,
    ) -> Result<(), Failure> {
        document_pairs(store, options, false)?.for_each(|of| {
            let (first, second) = (of.pair.first.value(), of.pair.second.value());
            let store = |store| name_of(self.names.as_ref(), store);
            let stores = (store(of.first_store), store(of.second_store));
            let (distance, ids) = (of.pair.distance(), (of.first_id, of.second_id));
            let row = (first, second, distance, stores.0, stores.1, ids.0, ids.1);
            self.rows.send(row, sink)
        })?;
        self.rows.flush(sink)
    }

    /// Sends the pairs that `find` finds to the sink.
    pub(crate) fn collect(
        mut self,
        sink: &mut Sink,
        find: impl FnOnce(
            &mut (dyn FnMut(&[Pair]) -> Result<(), Failure> + Send),
        ) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        find(&mut |pairs| pairs.iter().try_for_each(|&pair| self.push(pair, sink)))?;
        self.rows.flush(sink)
    }
}

/// A share of a join, by default the whole join.
pub(crate) fn share_of(py: Python<'_>, share: Option<(Whole, Whole)>) -> PyResult<Share> {
    let Some((number, count)) = share else { return Ok(Share::WHOLE) };
    match (u32::try_from(number.0), u32::try_from(count.0)) {
        (Ok(number), Ok(count)) => Ok(Share { number, count }),
        _ => {
            let message = format!("share is ({number}, {count}), expected (0, N) to (N - 1, N)");
            Err(input_error(py, message))
        }
    }
}

#[pymethods]
impl Store {
    /// All pairs of near stored fingerprints.
    ///
    /// Parameters
    /// ----------
    #[doc = parameters!(k_store)]
    /// ids : bool, default False
    ///     Whether rows are pairs of documents, in order, with `first_id` and `second_id`;
    ///     documents with the same fingerprint are then pairs at distance 0. Several stores always
    ///     give pairs of documents, within a store and across stores.
    /// sorted : bool, default False
    ///     Whether pairs are sorted by `first` and `second`.
    /// share : tuple of int, optional
    ///     `(number, count)` finds only the pairs of one of `count` shares, numbered from 0, to
    ///     divide a join among processes.
    #[doc = parameters!(max_pairs threads memory temp_dir progress)]
    ///
    /// Returns
    /// -------
    /// fpstore.types.RowStream
    ///     Rows of `first`, `second`, `distance`, with several stores `first_store` and
    ///     `second_store`, and the ids.
    ///
    /// Examples
    /// --------
    /// >>> store.pairs(ids=True).read_all().to_pylist()
    /// [(13903026135763958200, 13903026135763958201, 1, 'a.html', 'b.html')]
    #[pyo3(signature = (
        k=None, *, ids=false, sorted=false, share=None, max_pairs=None, threads=None, memory=None,
        temp_dir=None, progress=None
    ))]
    fn pairs(
        &self,
        py: Python<'_>,
        k: Option<Whole>,
        ids: bool,
        sorted: bool,
        share: Option<(Whole, Whole)>,
        max_pairs: Option<Whole>,
        threads: Option<Whole>,
        memory: Option<Bytes>,
        #[pyo3(from_py_with = path_or_none)] temp_dir: Option<PathBuf>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<RowStream> {
        let Given { store, names } = self.given()?;
        let k = distance(py, k, &store)?;
        let limits = Limits::new(py, threads, memory, temp_dir)?.max_pairs(py, max_pairs)?;
        if ids && names.is_none() && share.is_some() {
            let message = "a share has no ids: documents with equal fingerprints are in no share";
            return Err(input_error(py, message));
        }
        let share = share_of(py, share)?;
        let ids = ids || names.is_some();
        let kind = if ids { id_kind(&store) } else { IdKind::None };
        let rows = PairRows::in_stores(kind, names);
        let reporter = Reporter::new(progress)?;
        RowStream::start(rows.schema(), reporter, move |shared, sink| {
            let options = limits.join(k, shared).share(share);
            if ids {
                return rows.of_documents(&store, &options, sink);
            }
            rows.collect(sink, |each| match sorted {
                true => sorted_pairs(&store, &options)?.for_each(|pair| each(&[pair])),
                false => find_pairs(&store, &options, each),
            })
        })
    }
}

/// All pairs of near, distinct fingerprints in an array, or all near pairs across two arrays. Rows
/// contain the values; `pairs` returns positions instead.
///
/// Parameters
/// ----------
/// fingerprints : array, list or Column
/// other : array, list or Column, optional
#[doc = parameters!(k_recipe)]
/// sorted : bool, default False
///     Whether pairs are sorted by `first` and `second`.
#[doc = parameters!(max_pairs threads memory temp_dir progress)]
///
/// Returns
/// -------
/// fpstore.types.RowStream
///     Rows of `first`, `second` and `distance`.
///
/// Examples
/// --------
/// >>> fpstore.near_pairs([0, 7, 255], k=3).read_all().to_pylist()
/// [(0, 7, 3)]
#[pyfunction]
#[pyo3(signature = (
    fingerprints, other=None, k=None, *, sorted=false, max_pairs=None, threads=None, memory=None,
    temp_dir=None, progress=None
))]
pub(crate) fn near_pairs(
    py: Python<'_>,
    fingerprints: &Bound<'_, PyAny>,
    other: Option<&Bound<'_, PyAny>>,
    k: Option<Whole>,
    sorted: bool,
    max_pairs: Option<Whole>,
    threads: Option<Whole>,
    memory: Option<Bytes>,
    #[pyo3(from_py_with = path_or_none)] temp_dir: Option<PathBuf>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<RowStream> {
    let of_other = other.map(recipe_of).transpose()?.flatten();
    let recipe = common(recipe_of(fingerprints)?, of_other)?;
    if k.is_none() && recipe.is_none() {
        warn_of_unknown_recipe(fingerprints)?;
    }
    let k = tuned_distance(py, k, recipe.as_ref())?;
    let limits = Limits::new(py, threads, memory, temp_dir)?.max_pairs(py, max_pairs)?;
    let values: Vec<Fingerprint> = fingerprints::many(fingerprints)?;
    let others = other.map(fingerprints::many).transpose()?;
    let rows = PairRows::new();
    let reporter = Reporter::new(progress)?;
    RowStream::start(rows.schema(), reporter, move |shared, sink| {
        let options = limits.join(k, shared);
        let values = values.as_slice();
        rows.collect(sink, |each| match (&others, sorted) {
            (None, false) => find_pairs(values, &options, each),
            (None, true) => sorted_pairs(values, &options)?.for_each(|pair| each(&[pair])),
            (Some(others), false) => near_pairs_across(values, others.as_slice(), &options, each),
            (Some(others), true) => sorted_pairs_across(values, others.as_slice(), &options)?
                .for_each(|pair| each(&[pair])),
        })
    })
}
