//! Converts matches of single queries and statistics to Python objects.

use std::path::Path;

use fpstore::profile::Statistics;
use fpstore::{Answer, Hit, Id, IdRef, Match, StoreIndex};
use fpstore_report::doctor::{self, PageOptions, page};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyList;

use super::Names;
use crate::errors::Failure;
use crate::notebook::framed;
use crate::tuple_class::{AnswerClass, answer};

/// The Python class `Match`, imported at the first use.
static MATCH: PyOnceLock<AnswerClass> = PyOnceLock::new();

/// A match that owns its ids and, if they are wanted, their labels.
pub(super) struct Found {
    known: Match,
    /// The store of the match, used if several stores are queried as one.
    store: StoreIndex,
    labels: Option<Vec<String>>,
}

impl Found {
    /// The matches of an answer, one for each store.
    pub(super) fn all(answer: Answer<'_>, labels: bool) -> fpstore::Result<Vec<Found>> {
        let found = |(store, hit): (StoreIndex, Hit<'_>)| {
            let own = |list: Vec<&str>| list.into_iter().map(String::from).collect();
            let labels = labels.then(|| hit.id_labels()).transpose()?.map(own);
            Ok(Found { known: hit.to_match()?, store, labels })
        };
        answer.hits().flat_map(|hit| hit.stores()).map(found).collect()
    }
}

fn new_match<'py>(
    py: Python<'py>,
    (fingerprint, distance): (u64, u32),
    store: Option<&Path>,
    labels: Option<Bound<'py, PyList>>,
    ids: Bound<'py, PyList>,
) -> PyResult<Bound<'py, PyAny>> {
    let values = [
        fingerprint.into_bound_py_any(py)?,
        distance.into_bound_py_any(py)?,
        ids.into_any(),
        store.map_or_else(|| "".as_ref(), Path::as_os_str).into_bound_py_any(py)?,
        labels.unwrap_or_else(|| PyList::empty(py)).into_any(),
    ];
    MATCH.get_or_try_init(py, || AnswerClass::new(py, "Match"))?.make(py, &values)
}

fn push_id<'py>(py: Python<'py>, ids: &Bound<'py, PyList>, id: IdRef<'_>) -> PyResult<()> {
    match id {
        IdRef::U64(number) => ids.append(number.into_pyobject(py)?),
        IdRef::Text(text) => ids.append(text),
    }
}

/// The matches of an answer with their ids, and with labels if they are wanted. With `names`, each
/// match contains the name of its store.
pub(super) fn matches<'py>(
    py: Python<'py>,
    answer: Answer<'_>,
    labels: bool,
    names: Option<&Names>,
) -> Result<Bound<'py, PyList>, Failure> {
    let list = PyList::empty(py);
    for (store, hit) in answer.hits().flat_map(|hit| hit.stores()) {
        let ids = PyList::empty(py);
        for id in hit.ids() {
            push_id(py, &ids, id?)?;
        }
        let labels = match labels {
            true => Some(PyList::new(py, hit.id_labels()?)?),
            false => None,
        };
        let found = (hit.fingerprint().value(), hit.distance());
        let store = names.map(|names| names.path(store));
        list.append(new_match(py, found, store, labels, ids)?)?;
    }
    Ok(list)
}

/// Like [`matches`], but for matches that were found while the interpreter was released.
pub(super) fn found<'py>(
    py: Python<'py>,
    found: &[Found],
    names: Option<&Names>,
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for Found { known, store, labels } in found {
        let store = names.map(|names| names.path(*store));
        let labels = labels.as_ref().map(|labels| PyList::new(py, labels)).transpose()?;
        list.append(owned_match(py, known, store, labels)?)?;
    }
    Ok(list)
}

fn owned_match<'py>(
    py: Python<'py>,
    found: &Match,
    store: Option<&Path>,
    labels: Option<Bound<'py, PyList>>,
) -> PyResult<Bound<'py, PyAny>> {
    let ids = PyList::empty(py);
    found.ids.iter().try_for_each(|id: &Id| push_id(py, &ids, id.as_ref()))?;
    new_match(py, (found.fingerprint.value(), found.distance), store, labels, ids)
}

/// Like [`matches`], but for matches that own their ids, each with the optional name of its store.
pub(crate) fn owned_matches<'py>(
    py: Python<'py>,
    matches: &[(Match, Option<String>)],
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for (found, store) in matches {
        list.append(owned_match(py, found, store.as_deref().map(Path::new), None)?)?;
    }
    Ok(list)
}

/// Statistics of fingerprints. `print` shows a report, a notebook shows an HTML page with plots.
#[pyclass(frozen, module = "fpstore", name = "Statistics")]
pub(crate) struct StatisticsView {
    pub(crate) name: String,
    pub(crate) statistics: Statistics,
}

#[pymethods]
impl StatisticsView {
    /// The number of distinct fingerprints.
    #[getter]
    fn fingerprints(&self) -> u64 {
        self.statistics.fingerprint_count
    }

    /// The number of records, or the number of ids of a store.
    #[getter]
    fn records(&self) -> u64 {
        self.statistics.record_count
    }

    /// The distance `k` for which costs are estimated.
    #[getter]
    fn tuned_k(&self) -> u32 {
        self.statistics.tuned_k
    }

    /// The number of independent, evenly distributed bits that would contain the same information.
    #[getter]
    fn effective_bits(&self) -> Option<f64> {
        self.statistics.effective_bits
    }

    /// For each bit, from the highest bit on, the share of fingerprints in which it is 1.
    #[getter]
    fn bit_shares(&self) -> Vec<f64> {
        self.statistics.bits.iter().map(|bit| bit.share).collect()
    }

    /// The fingerprints with the most records, with their counts.
    #[getter]
    fn heaviest(&self) -> Vec<(u64, u64)> {
        let heaviest = self.statistics.heaviest.iter();
        heaviest.map(|heavy| (heavy.fingerprint.value(), heavy.count)).collect()
    }

    /// Problems of the fingerprints, the most serious first, each with a remedy.
    #[getter]
    fn findings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for of in doctor::findings(&self.statistics) {
            list.append(answer!(
                py,
                "Finding",
                of.code.to_string(),
                of.severity.to_string(),
                of.sentence,
                of.remedy
            )?)?;
        }
        Ok(list)
    }

    /// An HTML page with all plots and numbers, which needs no network.
    fn html(&self) -> String {
        page(&self.statistics, &PageOptions { title: &self.name, ..PageOptions::default() })
    }

    /// The HTML page in a frame, which isolates its style from the notebook.
    fn _repr_html_(&self) -> String {
        framed(&self.html(), "40em", "")
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("statistics cannot be pickled; pickle findings or html()"))
    }

    fn __str__(&self) -> String {
        doctor::Report(&self.statistics).to_string()
    }

    fn __repr__(&self) -> String {
        let (count, findings) =
            (self.statistics.fingerprint_count, doctor::findings(&self.statistics));
        format!("<fpstore.Statistics of {count} fingerprints, {} findings>", findings.len())
    }
}
