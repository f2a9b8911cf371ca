//! Methods of `Store` that answer many queries at once.

use std::sync::Arc;

use fpstore::join::{BatchMode, JoinOptions, search_many};
use fpstore::{Answer, Error, Fingerprint};
use numpy::{Element, PyArray1};
use pyo3::prelude::*;

use super::{Names, Store, name_of};
use crate::answer_columns::{
    ANSWER_NAMES, AnswerColumns, IdColumn, answer_columns, check_count, each_label_and_id, id_kind,
};
use crate::columns::{BATCH_ROWS, RowsBuilder};
use crate::errors::Failure;
use crate::input::arguments::text;
use crate::input::fingerprints;
use crate::input::whole::{Bytes, Whole};
use crate::options::{Limits, choice, distance};
use crate::recipes::check_recipe;
use crate::rows::Rows;
use crate::work::{Reporter, Shared, held, run};

/// The rows of answers under construction.
struct Answers<'a> {
    table: RowsBuilder<AnswerColumns>,
    names: Option<&'a Names>,
    is_cut: bool,
}

impl<'a> Answers<'a> {
    fn new(names: Option<&'a Names>, labels: bool, ids: IdColumn) -> Self {
        let columns = answer_columns(names.is_some(), labels, ids);
        let table = RowsBuilder::new(ANSWER_NAMES, columns);
        Answers { table, names, is_cut: false }
    }

    fn take(&mut self, query: usize, answer: &Answer<'_>) -> Result<(), Failure> {
        self.is_cut |= answer.outcome().cut;
        for (store, hit) in answer.hits().flat_map(|hit| hit.stores()) {
            let (value, store) = (hit.fingerprint().value(), name_of(self.names, store));
            let columns = &self.table.columns;
            let wanted = (columns.4.is_some(), columns.5.is_there());
            each_label_and_id(&hit, wanted, |label, id| {
                // The cast keeps the value: `check_count` has limited the number of queries.
                self.table.keep((query as u32, value, hit.distance(), store, label, id))
            })?;
        }
        Ok(())
    }
}

/// The arguments of a batch of queries.
struct Queries<'a, 'py> {
    store: &'a Store,
    fingerprints: &'a Bound<'py, PyAny>,
    k: Option<Whole>,
    threads: Option<Whole>,
    memory: Option<Bytes>,
    progress: Option<&'a Bound<'py, PyAny>>,
}

impl<'py> Queries<'_, 'py> {
    /// Answers the queries and calls `each` with each answer. A batch that is expected to take more
    /// than a millisecond releases the interpreter.
    fn each_answer<T: Send>(
        self,
        (limits, mode): (fpstore::Limits, BatchMode),
        start: impl FnOnce(&fpstore::Store, usize) -> T + Send,
        mut each: impl FnMut(&mut T, usize, &Answer<'_>) -> Result<(), Failure> + Send,
    ) -> PyResult<T> {
        let py = self.fingerprints.py();
        let store = self.store.get()?;
        let k = distance(py, self.k, &store)?;
        let reporter = Reporter::new(self.progress)?;
        check_recipe(self.fingerprints, &store)?;
        let queries: Vec<Fingerprint> = fingerprints::many(self.fingerprints)?;
        check_count(py, queries.len())?;
        let is_pass = matches!(mode, BatchMode::Pass);
        let is_short = !is_pass && self.store.is_short(k, queries.len())?;
        // A short batch is done before a second thread would start.
        let threads = self.threads.or(is_short.then_some(Whole(1)));
        let options = Limits::new(py, threads, self.memory, None)?.for_queries(queries.len());
        let work = move |shared: &Arc<Shared>| {
            let mut result = start(&store, queries.len());
            if queries.is_empty() {
                return Ok(result);
            }
            let options: JoinOptions = options.join(k, shared);
            search_many(&store, &queries, &options, &limits, mode, |at, answer| {
                if at % BATCH_ROWS == 0 && shared.is_stopped() {
                    return Err(Failure::from(Error::Interrupted));
                }
                each(&mut result, at, &answer)
            })?;
            Ok(result)
        };
        if is_short {
            let shared = Arc::new(Shared::default());
            let result = held(|| work(&shared))?;
            reporter.look(py, &shared)?;
            return Ok(result);
        }
        run(py, &reporter, work)
    }

    fn rows(self, (ids, labels): (bool, bool), limit: Option<Whole>, mode: &str) -> PyResult<Rows> {
        let py = self.fingerprints.py();
        let most = crate::options::limit(py, limit)?;
        let how = (fpstore::Limits::default().limit(most), choice(py, "mode", mode)?);
        let names = self.store.names.as_ref();
        let start = |store: &fpstore::Store, _| {
            let ids = if ids { IdColumn::new(id_kind(store)) } else { IdColumn::None };
            Answers::new(names, labels, ids)
        };
        let answers = self.each_answer(how, start, Answers::take)?;
        Ok(answers.table.finish()?.with_cut(answers.is_cut))
    }

    /// A value for each query, made from its answer.
    fn values<T: Element + Clone + Default>(
        self,
        limits: fpstore::Limits,
        of: impl Fn(&Answer<'_>) -> T + Send,
    ) -> PyResult<Bound<'py, PyArray1<T>>> {
        let py = self.fingerprints.py();
        let start = |_: &fpstore::Store, count| vec![T::default(); count];
        let values =
            self.each_answer((limits, BatchMode::Auto), start, move |values, at, answer| {
                values[at] = of(answer);
                Ok(())
            })?;
        Ok(PyArray1::from_vec(py, values))
    }
}

#[pymethods]
impl Store {
    /// The answers to many queries at once. A match has one row for each of its ids. Without ids it
    /// has one row, or with `labels` one row for each segment that contains it.
    ///
    /// Parameters
    /// ----------
    /// fingerprints : array, list or Column
    #[doc = parameters!(k_store ids_labels limit mode threads memory progress)]
    ///
    /// Returns
    /// -------
    /// Rows
    ///     Rows of `query` (the position of the query), `fingerprint`, `distance`, `store` with
    ///     several stores, `label` and `id`. A fingerprint in two stores has rows for both.
    ///
    /// Examples
    /// --------
    /// >>> store.query_many([0xC0F1789BED2EB9B9, 7], k=0).to_pylist()
    /// [(0, 13903026135763958201, 0, 'b.html')]
    #[pyo3(signature = (
        fingerprints, k=None, *, ids=true, labels=false, limit=None, mode="auto", threads=None,
        memory=None, progress=None
    ))]
    pub(crate) fn query_many(
        &self,
        fingerprints: &Bound<'_, PyAny>,
        k: Option<Whole>,
        ids: bool,
        labels: bool,
        limit: Option<Whole>,
        #[pyo3(from_py_with = text)] mode: &str,
        threads: Option<Whole>,
        memory: Option<Bytes>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Rows> {
        let queries = Queries { store: self, fingerprints, k, threads, memory, progress };
        queries.rows((ids, labels), limit, mode)
    }

    /// For each query, the number of stored fingerprints within `k` bits. A fingerprint in two
    /// stores counts once.
    ///
    /// Parameters
    /// ----------
    /// fingerprints : array, list or Column
    #[doc = parameters!(k_store threads memory progress)]
    ///
    /// Returns
    /// -------
    /// numpy.ndarray of uint32
    ///
    /// Examples
    /// --------
    /// >>> store.count_many([0xC0F1789BED2EB9B9, 7])
    /// array([2, 0], dtype=uint32)
    #[pyo3(signature = (fingerprints, k=None, *, threads=None, memory=None, progress=None))]
    fn count_many<'py>(
        &self,
        fingerprints: &Bound<'py, PyAny>,
        k: Option<Whole>,
        threads: Option<Whole>,
        memory: Option<Bytes>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let queries = Queries { store: self, fingerprints, k, threads, memory, progress };
        let count = |answer: &Answer<'_>| u32::try_from(answer.len()).unwrap_or(u32::MAX);
        queries.values(fpstore::Limits::default(), count)
    }

    /// For each query, whether a stored fingerprint is within `k` bits: a mask for a data frame.
    ///
    /// Parameters
    /// ----------
    /// fingerprints : array, list or Column
    #[doc = parameters!(k_store threads memory progress)]
    ///
    /// Returns
    /// -------
    /// numpy.ndarray of bool
    ///
    /// Examples
    /// --------
    /// >>> store.has_near([0xC0F1789BED2EB9B9, 7])
    /// array([ True, False])
    #[pyo3(signature = (fingerprints, k=None, *, threads=None, memory=None, progress=None))]
    fn has_near<'py>(
        &self,
        fingerprints: &Bound<'py, PyAny>,
        k: Option<Whole>,
        threads: Option<Whole>,
        memory: Option<Bytes>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let queries = Queries { store: self, fingerprints, k, threads, memory, progress };
        queries.values(fpstore::Limits::default().limit(1), |answer| !answer.is_empty())
    }
}
