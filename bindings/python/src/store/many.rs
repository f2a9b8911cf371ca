//! Many queries at once.

use std::sync::Arc;

use arrow_array::{RecordBatch, UInt8Array, UInt32Array, UInt64Array};
use arrow_schema::{DataType, SchemaRef};
use fpstore::join::{BatchMode, JoinOptions, search_many};
use fpstore::{Answer, Error, Fingerprint};
use numpy::PyArray1;
use pyo3::prelude::*;

use super::Store;
use crate::columns::{BATCH_ROWS, IdColumn, batch_of, id_kind, plain, schema_of};
use crate::errors::{Failure, input_error};
use crate::input::fingerprints;
use crate::options::{Limits, count, distance};
use crate::rows::{Rows, array};
use crate::work::{Reporter, Shared, held, run};

/// Rows of one batch of an answer in memory.
const ANSWER_ROWS: usize = 1 << 20;

/// Rows of answers under construction.
struct Answers {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    queries: Vec<u32>,
    fingerprints: Vec<u64>,
    distances: Vec<u8>,
    ids: IdColumn,
    is_cut: bool,
}

impl Answers {
    fn new(ids: IdColumn) -> Self {
        let schema = schema_of([
            plain("query", DataType::UInt32),
            plain("fingerprint", DataType::UInt64),
            plain("distance", DataType::UInt8),
            ids.field("id"),
        ]);
        let (queries, fingerprints, distances) = (Vec::new(), Vec::new(), Vec::new());
        let batches = Vec::new();
        Answers { schema, batches, queries, fingerprints, distances, ids, is_cut: false }
    }

    fn take(&mut self, query: usize, answer: &Answer<'_>) -> Result<(), Failure> {
        self.is_cut |= answer.outcome().cut;
        for hit in answer.hits() {
            // The number of queries was checked before.
            let (query, value) = (query as u32, hit.fingerprint().value());
            let distance = hit.distance() as u8;
            let mut row = |ids: &mut IdColumn, id| {
                self.queries.push(query);
                self.fingerprints.push(value);
                self.distances.push(distance);
                ids.push(id)
            };
            let mut is_bare = true;
            if !matches!(self.ids, IdColumn::None) {
                for id in hit.ids() {
                    is_bare = false;
                    row(&mut self.ids, Some(id?))?;
                }
            }
            if is_bare {
                row(&mut self.ids, None)?;
            }
        }
        if self.queries.len() >= ANSWER_ROWS || self.ids.is_full() {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Failure> {
        let columns = [
            Some(array(UInt32Array::from(std::mem::take(&mut self.queries)))),
            Some(array(UInt64Array::from(std::mem::take(&mut self.fingerprints)))),
            Some(array(UInt8Array::from(std::mem::take(&mut self.distances)))),
            self.ids.take(),
        ];
        self.batches.push(batch_of(&self.schema, columns)?);
        Ok(())
    }
}

fn mode_of(py: Python<'_>, mode: &str) -> PyResult<BatchMode> {
    match mode {
        "auto" => Ok(BatchMode::Auto),
        "probe" => Ok(BatchMode::Probe),
        "pass" => Ok(BatchMode::Pass),
        other => Err(input_error(py, format!("mode is 'auto', 'probe' or 'pass', not '{other}'"))),
    }
}

impl Store {
    /// Gives each answer to `each`, without the interpreter unless they take less than a millisecond.
    #[expect(clippy::too_many_arguments, reason = "the arguments of the functions of Python")]
    fn each_answer<T: Send>(
        &self,
        py: Python<'_>,
        fingerprints: &Bound<'_, PyAny>,
        k: Option<i64>,
        threads: Option<i64>,
        memory: Option<i64>,
        progress: Option<&Bound<'_, PyAny>>,
        (limits, mode): (fpstore::Limits, BatchMode),
        start: impl FnOnce(&fpstore::Store, usize) -> T + Send,
        mut each: impl FnMut(&mut T, usize, &Answer<'_>) -> Result<(), Failure> + Send,
    ) -> PyResult<T> {
        let store = self.get()?;
        let k = distance(py, k, &store)?;
        let reporter = Reporter::new(progress)?;
        let queries: Vec<Fingerprint> = fingerprints::many(fingerprints)?;
        if queries.len() > u32::MAX as usize {
            let message = format!("{} queries, one call takes 2**32 - 1 at most", queries.len());
            return Err(input_error(py, message));
        }
        let is_pass = matches!(mode, BatchMode::Pass);
        let is_short = !is_pass && self.is_short(k, queries.len())?;
        // One thread answers a short batch before another one runs.
        let threads = threads.or(is_short.then_some(1));
        let options = Limits::new(py, threads, memory, None)?.for_queries(queries.len());
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
}

#[pymethods]
impl Store {
    /// The answers to many queries at once, as rows: `query`, the position of the query,
    /// `fingerprint`, `distance`, and `id` if the store has ids. A match has one row for each of
    /// its ids.
    ///
    /// Uses all cores, or `threads`, and at most `memory` bytes beside the answer. `mode` says how:
    /// by probing tables, by passes over everything, or by what is expected to be faster. Other
    /// threads of Python run meanwhile if it takes longer than a millisecond, and Ctrl-C ends it.
    /// `progress` is a function that gets a `Progress`, or `True` for a line on standard error.
    ///
    /// >>> store.query_many([0xC0F1789BED2EB9B9, 7], k=0).to_pylist()
    /// [(0, 13903026135763958201, 0, 'b.html')]
    #[pyo3(signature = (
        fingerprints, k=None, *, ids=true, max_matches=None, mode="auto", threads=None,
        memory=None, progress=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    pub(crate) fn query_many(
        &self,
        py: Python<'_>,
        fingerprints: &Bound<'_, PyAny>,
        k: Option<i64>,
        ids: bool,
        max_matches: Option<i64>,
        mode: &str,
        threads: Option<i64>,
        memory: Option<i64>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Rows> {
        let most = count(py, "max_matches", max_matches)?.map(|most| most as usize);
        let how = (fpstore::Limits::default().max_matches(most), mode_of(py, mode)?);
        let start = |store: &fpstore::Store, _| {
            Answers::new(if ids { IdColumn::new(id_kind(store)) } else { IdColumn::None })
        };
        let answers = self.each_answer(
            py,
            fingerprints,
            k,
            threads,
            memory,
            progress,
            how,
            start,
            |answers, at, answer| answers.take(at, answer),
        )?;
        let mut answers = answers;
        answers.flush()?;
        Ok(Rows::new(answers.schema, answers.batches).with_cut(answers.is_cut))
    }

    /// For each query the number of stored fingerprints within `k` bits.
    ///
    /// >>> store.count_many([0xC0F1789BED2EB9B9, 7])
    /// array([2, 0], dtype=uint32)
    #[pyo3(signature = (fingerprints, k=None, *, threads=None, memory=None, progress=None))]
    fn count_many<'py>(
        &self,
        py: Python<'py>,
        fingerprints: &Bound<'py, PyAny>,
        k: Option<i64>,
        threads: Option<i64>,
        memory: Option<i64>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let how = (fpstore::Limits::default(), BatchMode::Auto);
        let start = |_: &fpstore::Store, count| vec![0_u32; count];
        let counts = self.each_answer(
            py,
            fingerprints,
            k,
            threads,
            memory,
            progress,
            how,
            start,
            |counts, at, answer| {
                counts[at] = u32::try_from(answer.len()).unwrap_or(u32::MAX);
                Ok(())
            },
        )?;
        Ok(PyArray1::from_vec(py, counts))
    }

    /// For each query whether any stored fingerprint lies within `k` bits: a mask for a data frame.
    ///
    /// >>> store.has_near([0xC0F1789BED2EB9B9, 7])
    /// array([ True, False])
    #[pyo3(signature = (fingerprints, k=None, *, threads=None, memory=None, progress=None))]
    fn has_near<'py>(
        &self,
        py: Python<'py>,
        fingerprints: &Bound<'py, PyAny>,
        k: Option<i64>,
        threads: Option<i64>,
        memory: Option<i64>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let how = (fpstore::Limits::default().max_matches(1), BatchMode::Auto);
        let start = |_: &fpstore::Store, count| vec![false; count];
        let has = self.each_answer(
            py,
            fingerprints,
            k,
            threads,
            memory,
            progress,
            how,
            start,
            |has, at, answer| {
                has[at] = !answer.is_empty();
                Ok(())
            },
        )?;
        Ok(PyArray1::from_vec(py, has))
    }
}
