//! The class `Client`, with its calls that only read.

use fpstore::options::COUNT;
use fpstore::{Fingerprint, IdKind, IdRef};
use fpstore_client::{ClientError, IdAnswer, QueryOptions};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use super::answers::{is_cut, matches_of, rows_of};
use super::connection::Connections;
use super::info::server_info;
use crate::answer_columns::check_count;
use crate::errors::Failure;
use crate::input::arguments::{text, text_or_none};
use crate::input::whole::{Whole, wide};
use crate::input::{fingerprints, ids as input_ids};
use crate::options::{checked, distance_of, limit};
use crate::recipes::{common, recipe_of};
use crate::rows::Rows;
use crate::store::owned_matches;
use crate::tuple_class::answer;

/// A client of a server (`fpstore serve` or `fpstore.serve`). Its answers are equal to those of the
/// served store.
///
/// Threads may share a client: each thread has its own connection, which is opened at its first
/// request and kept. A request that the busy server refuses is repeated after the pause that the
/// server requests. After a broken connection, a request that changes the store is not repeated.
/// Leaving a `with` block closes the client.
///
/// Parameters
/// ----------
/// url : str
///     `http://ADDRESS:PORT` or `unix:PATH`; TLS is not supported.
/// token : str, optional
///     Token that the server requires, sent with each request.
///
/// Raises
/// ------
/// CutAnswerError
///     A limit of the server cut the answer.
/// RefusedError
///     The server refused the request; the field `code` contains the reason.
/// UnreachableError
///     The connection broke. After this error, and after Ctrl-C, a requested change may be done or
///     not.
///
/// Examples
/// --------
/// >>> with fpstore.serve(store.path) as server, fpstore.Client(server.url) as client:
/// ...     client.query(0xC0F1789BED2EB9B8, k=1) == store.query(0xC0F1789BED2EB9B8, k=1)
/// True
#[pyclass(frozen, module = "fpstore")]
pub(crate) struct Client {
    pub(crate) connections: Connections,
}

impl Client {
    /// The matches of one query.
    fn matches<'py>(
        &self,
        py: Python<'py>,
        options: QueryOptions,
        asked: Asked<'_>,
    ) -> PyResult<Bound<'py, PyList>> {
        let found = self.connections.run(py, move |connection, shared| {
            let answer = connection.ask(shared, async |client| match asked {
                Asked::Fingerprint(needle) => client.query(needle, &options).await,
                Asked::Text(text) => client.query_text(text, &options).await,
            })?;
            is_cut(&answer, &options)?;
            let served = connection.served(shared, answer.generation)?;
            Ok(matches_of(answer, &served))
        })?;
        owned_matches(py, &found)
    }

    /// The rows of many queries.
    fn rows(&self, given: &Bound<'_, PyAny>, options: QueryOptions, ids: bool) -> PyResult<Rows> {
        let py = given.py();
        let recipe = recipe_of(given)?;
        let queries: Vec<Fingerprint> = fingerprints::many(given)?;
        check_count(py, queries.len())?;
        let options = QueryOptions { ids: (!ids).then_some(0), ..options };
        self.connections.run(py, move |connection, shared| {
            if let Some(recipe) = recipe {
                common(connection.served(shared, None)?.recipe, Some(recipe))?;
            }
            let answers = connection.ask(shared, async |client| {
                let mut answers = Vec::with_capacity(queries.len());
                let take = |answer| {
                    answers.push(answer);
                    Ok::<(), ClientError>(())
                };
                client.query_all(&queries, &options, take).await?;
                Ok(answers)
            })?;
            let generation = answers.last().and_then(|answer| answer.generation);
            let served = connection.served(shared, generation.filter(|_| ids))?;
            let kind = if ids { served.ids } else { IdKind::None };
            rows_of(&answers, &options, served.is_several, kind)
        })
    }
}

/// The subject of a single query.
enum Asked<'a> {
    Fingerprint(Fingerprint),
    Text(&'a str),
}

#[pymethods]
impl Client {
    #[new]
    #[pyo3(signature = (url, *, token=None))]
    fn new(
        #[pyo3(from_py_with = text)] url: String,
        #[pyo3(from_py_with = text_or_none)] token: Option<String>,
    ) -> PyResult<Self> {
        Ok(Client { connections: Connections::new(url, token)? })
    }

    /// The address of the server.
    #[getter]
    fn url(&self) -> &str {
        &self.connections.url
    }

    /// Whether the client is closed.
    #[getter]
    fn closed(&self) -> bool {
        self.connections.is_closed()
    }

    /// Closes all idle connections. Closing again does nothing.
    fn close(&self) {
        self.connections.close();
    }

    /// The settings and limits of the server, and information about its store.
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let info = self.connections.run(py, |connection, shared| {
            connection.ask(shared, async |client| client.info().await)
        })?;
        server_info(py, &info)
    }

    /// Whether the server is ready for requests, and if not, the reason.
    fn ready<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let answer = self.connections.run(py, |connection, shared| {
            connection.ask(shared, async |client| client.ready().await)
        })?;
        let (code, message) =
            answer.error.map_or((None, None), |why| (Some(why.code), Some(why.message)));
        answer!(py, "Readiness", answer.ready, answer.generation, code, message)
    }

    /// The estimated cost of queries on the server.
    ///
    /// Parameters
    /// ----------
    /// k : int, optional
    ///     Maximum distance of the queries in bits.
    /// queries : int, optional
    ///     Number of queries, by default 1.
    ///
    /// Returns
    /// -------
    /// fpstore.types.Price
    #[pyo3(signature = (k=None, queries=None))]
    fn plan<'py>(
        &self,
        py: Python<'py>,
        k: Option<Whole>,
        queries: Option<Whole>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let k = k.map(|k| distance_of(py, k)).transpose()?;
        let queries = checked(py, &COUNT, queries.unwrap_or(Whole(1)))?;
        let price = self.connections.run(py, move |connection, shared| {
            connection.ask(shared, async |client| client.plan(k, queries).await)
        })?;
        let lane = format!("{:?}", price.lane).to_lowercase();
        let (expected, cost) = (price.expected_us, price.cost_us);
        answer!(py, "Price", price.k, price.queries, expected, cost, lane, price.generation)
    }

    /// All stored fingerprints within `k` bits of a query fingerprint.
    ///
    /// Parameters
    /// ----------
    /// fingerprint : int or str
    #[doc = parameters!(k_store limit)]
    ///
    /// Returns
    /// -------
    /// list of fpstore.types.Match
    #[pyo3(signature = (fingerprint, k=None, *, limit=None))]
    fn query<'py>(
        &self,
        py: Python<'py>,
        fingerprint: &Bound<'py, PyAny>,
        k: Option<Whole>,
        limit: Option<Whole>,
    ) -> PyResult<Bound<'py, PyList>> {
        let needle = fingerprints::one(fingerprint)?;
        self.matches(py, near(py, k, limit)?, Asked::Fingerprint(needle))
    }

    /// Like `query`, but for a text: the server makes its fingerprint with the recipe of the store.
    ///
    /// Parameters
    /// ----------
    /// text : str
    #[doc = parameters!(k_store limit)]
    ///
    /// Returns
    /// -------
    /// list of fpstore.types.Match
    #[pyo3(signature = (text, k=None, *, limit=None))]
    fn query_text<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = text)] text: &str,
        k: Option<Whole>,
        limit: Option<Whole>,
    ) -> PyResult<Bound<'py, PyList>> {
        self.matches(py, near(py, k, limit)?, Asked::Text(text))
    }

    /// The stored fingerprints nearest to a query fingerprint.
    ///
    /// Parameters
    /// ----------
    /// fingerprint : int or str
    /// count : int, default 1
    ///     Maximum number of matches.
    /// k : int, optional
    ///     Maximum distance in bits; by default the largest that the server accepts.
    ///
    /// Returns
    /// -------
    /// list of fpstore.types.Match
    #[pyo3(signature = (fingerprint, count=1, k=None))]
    fn nearest<'py>(
        &self,
        py: Python<'py>,
        fingerprint: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = wide)] count: i128,
        k: Option<Whole>,
    ) -> PyResult<Bound<'py, PyList>> {
        let needle = fingerprints::one(fingerprint)?;
        self.matches(py, nearest(py, count, k)?, Asked::Fingerprint(needle))
    }

    /// The answers to many queries. They are sent in requests of at most 10 000 queries, and each
    /// request is answered from a single snapshot of the store.
    ///
    /// Parameters
    /// ----------
    /// fingerprints : array, list or Column
    #[doc = parameters!(k_store)]
    /// ids : bool, default True
    ///     Whether rows contain ids.
    #[doc = parameters!(limit)]
    ///
    /// Returns
    /// -------
    /// Rows
    ///     Rows with the columns that `Store.query_many` returns.
    #[pyo3(signature = (fingerprints, k=None, *, ids=true, limit=None))]
    fn query_many(
        &self,
        py: Python<'_>,
        fingerprints: &Bound<'_, PyAny>,
        k: Option<Whole>,
        ids: bool,
        limit: Option<Whole>,
    ) -> PyResult<Rows> {
        self.rows(fingerprints, near(py, k, limit)?, ids)
    }

    /// The stored fingerprints nearest to each of many query fingerprints.
    ///
    /// Parameters
    /// ----------
    /// fingerprints : array, list or Column
    /// count : int, default 1
    ///     Maximum number of matches of each query.
    /// k : int, optional
    ///     Maximum distance in bits; by default the largest that the server accepts.
    /// ids : bool, default True
    ///     Whether rows contain ids.
    ///
    /// Returns
    /// -------
    /// Rows
    ///     Rows with the columns that `Store.nearest_many` returns.
    #[pyo3(signature = (fingerprints, count=1, k=None, *, ids=true))]
    fn nearest_many(
        &self,
        py: Python<'_>,
        fingerprints: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = wide)] count: i128,
        k: Option<Whole>,
        ids: bool,
    ) -> PyResult<Rows> {
        self.rows(fingerprints, nearest(py, count, k)?, ids)
    }

    /// The fingerprints of the records with these ids. The server reads the ids of the whole store
    /// for each id.
    ///
    /// Parameters
    /// ----------
    /// ids : array or list
    ///
    /// Returns
    /// -------
    /// list of list
    ///     For each id its fingerprints; with several stores, pairs of a fingerprint and a store
    ///     name.
    #[pyo3(signature = (ids, /))]
    fn find<'py>(&self, ids: &Bound<'py, PyAny>) -> PyResult<Vec<Vec<Bound<'py, PyAny>>>> {
        let (py, ids) = (ids.py(), input_ids::many(ids)?);
        let found = self.connections.run(py, move |connection, shared| {
            let ask = |id: IdRef<'_>| {
                let id = id.to_string();
                connection.ask(shared, async |client| client.find_id(&id).await)
            };
            ids.iter().map(ask).collect::<Result<Vec<IdAnswer>, Failure>>()
        })?;
        found.iter().map(|answer| records_of(py, answer)).collect()
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_raised))]
    fn __exit__(&self, _raised: &Bound<'_, PyTuple>) {
        self.close();
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a client cannot be pickled; create a client from its url in each \
                                  process",
        ))
    }

    fn __repr__(&self) -> String {
        let closed = if self.connections.is_closed() { ", closed" } else { "" };
        format!("<fpstore.Client of {}{closed}>", self.connections.url)
    }
}

/// The fingerprints of an answer; with several stores, each with the name of its store.
fn records_of<'py>(py: Python<'py>, answer: &IdAnswer) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let mut stores = answer.stores.iter();
    let values = answer.fingerprints.iter().map(|found| found.fingerprint.value());
    let record = |value: u64| match stores.next() {
        Some(store) => Ok((value, store).into_pyobject(py)?.into_any()),
        None => Ok(value.into_pyobject(py)?.into_any()),
    };
    values.map(record).collect()
}

/// The options of a query for all fingerprints within a distance.
fn near(py: Python<'_>, k: Option<Whole>, most: Option<Whole>) -> PyResult<QueryOptions> {
    let k = k.map(|k| distance_of(py, k)).transpose()?;
    let most = limit(py, most)?.map(|most| most as u64);
    Ok(QueryOptions { k, limit: most, ..QueryOptions::default() })
}

/// The options of a query for the nearest fingerprints.
fn nearest(py: Python<'_>, count: i128, k: Option<Whole>) -> PyResult<QueryOptions> {
    let k = k.map(|k| distance_of(py, k)).transpose()?;
    let count = Some(checked(py, &COUNT, count)?);
    Ok(QueryOptions { k, count, ..QueryOptions::default() })
}
