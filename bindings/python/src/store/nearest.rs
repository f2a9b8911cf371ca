//! The method `Store.nearest_many`.

use std::sync::Arc;

use fpstore::join::{BatchMode, nearest_many};
use fpstore::options::COUNT;
use fpstore::{Answer, Fingerprint, Id, IdRef, Phase, StoreIndex};
use pyo3::prelude::*;

use super::{Given, Store, name_of};
use crate::answer_columns::{
    ANSWER_NAMES, IdColumn, answer_columns, check_count, each_label_and_id, id_kind,
};
use crate::chunks::Chunks;
use crate::columns::RowsBuilder;
use crate::errors::Failure;
use crate::input::arguments::text;
use crate::input::fingerprints;
use crate::input::whole::{Bytes, Whole, wide};
use crate::options::{Limits, checked, choice, distance_of};
use crate::recipes::check_recipe;
use crate::rows::Rows;
use crate::work::{Reporter, run};

/// Number of queries that a thread takes at a time.
const CHUNK: usize = 64;

/// A row of an answer: query, fingerprint, distance, store, label and id.
type Found = (u32, u64, u32, StoreIndex, String, Option<Id>);

/// Adds the rows of the answer to query number `at` to `found`.
fn found_of(
    at: usize,
    answer: &Answer<'_>,
    wanted: (bool, bool),
    found: &mut Vec<Found>,
) -> Result<(), Failure> {
    for (of, hit) in answer.hits().flat_map(|hit| hit.stores()) {
        let (value, distance) = (hit.fingerprint().value(), hit.distance());
        each_label_and_id(&hit, wanted, |label, id| {
            found.push((at as u32, value, distance, of, label.to_owned(), id.map(IdRef::to_id)));
            Ok(())
        })?;
    }
    Ok(())
}

#[pymethods]
impl Store {
    /// The stored fingerprints nearest to each of many query fingerprints. A fingerprint in two
    /// stores counts once.
    ///
    /// Parameters
    /// ----------
    /// fingerprints : array, list or Column
    /// count : int, default 1
    ///     Maximum number of matches of each query.
    /// k : int, default 64
    ///     Maximum distance in bits.
    #[doc = parameters!(ids_labels mode threads memory progress)]
    ///
    /// Returns
    /// -------
    /// Rows
    ///     Rows with the columns of `query_many`.
    ///
    /// Examples
    /// --------
    /// >>> store.nearest_many([0, 7]).to_pylist()
    /// [(0, 13903026135763958200, 35, 'a.html'), (1, 5789333949749774079, 33, 'c.html')]
    #[pyo3(signature = (
        fingerprints, count=1, k=64, *, ids=true, labels=false, mode="auto", threads=None,
        memory=None, progress=None
    ))]
    fn nearest_many(
        &self,
        fingerprints: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = wide)] count: i128,
        #[pyo3(from_py_with = wide)] k: i128,
        ids: bool,
        labels: bool,
        #[pyo3(from_py_with = text)] mode: &str,
        threads: Option<Whole>,
        memory: Option<Bytes>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Rows> {
        let (py, Given { store, names }) = (fingerprints.py(), self.given()?);
        let most = checked(py, &COUNT, count)? as usize;
        let k = distance_of(py, k)?;
        let mode: BatchMode = choice(py, "mode", mode)?;
        let limits = Limits::new(py, threads, memory, None)?;
        let reporter = Reporter::new(progress)?;
        check_recipe(fingerprints, &store)?;
        let queries: Vec<Fingerprint> = fingerprints::many(fingerprints)?;
        check_count(py, queries.len())?;
        let limits = limits.for_queries(queries.len());
        run(py, &reporter, |shared| {
            let (wanted, mut all) = ((labels, ids), Vec::new());
            let join = limits.join(k, shared);
            let left = nearest_many(&store, &queries, most, &join, mode, |at, answer| {
                found_of(at, &answer, wanted, &mut all)
            })?;
            let counts = (left.len(), CHUNK);
            let found = Chunks::run(counts, limits.threads(), (Phase::Search, shared), |chunks| {
                let mut searcher = store.searcher();
                searcher.stop_flag(Arc::clone(&shared.stop));
                while let Some(chunk) = chunks.take() {
                    let mut found: Vec<Found> = Vec::new();
                    for &at in &left[chunk.clone()] {
                        let answer = searcher.nearest(queries[at], most, k)?;
                        found_of(at, &answer, wanted, &mut found)?;
                    }
                    chunks.put(chunk, found)?;
                }
                Ok(())
            })?;
            all.extend(found.flatten());
            // The sort is stable, and the rows of each query are already in order.
            all.sort_by_key(|found| found.0);
            let ids = if ids { IdColumn::new(id_kind(&store)) } else { IdColumn::None };
            let columns = answer_columns(names.is_some(), labels, ids);
            let mut table = RowsBuilder::new(ANSWER_NAMES, columns);
            for (query, value, distance, of, label, id) in all {
                let of = name_of(names.as_ref(), of);
                table.keep((query, value, distance, of, &label, id.as_ref().map(Id::as_ref)))?;
            }
            table.finish()
        })
    }
}
