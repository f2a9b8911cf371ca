//! Stores in the arguments of tasks, and queries to a single segment.

use std::path::PathBuf;

use pyo3::prelude::*;

use crate::errors::Failure;
use crate::input::arguments::{path, text};
use crate::input::whole::{Whole, wide, wide_bytes};
use crate::options::TASK_MEMORY;
use crate::rows::Rows;
use crate::store::{Store, if_store, open_one};

/// The store in an argument, open or given by path. Fails if it is not at the given `generation`.
pub(super) fn store_of(
    given: &Bound<'_, PyAny>,
    generation: Option<u64>,
) -> PyResult<fpstore::Store> {
    let py = given.py();
    let Some(store) = if_store(given, "store")? else {
        return open_one(py, &given.extract::<PathBuf>()?, generation, "auto", None)?.get();
    };
    if let Some(wanted) = generation {
        store.expect_generation(wanted).map_err(Failure::from)?;
    }
    Ok(store)
}

/// Many queries to one segment of a store. The answers of all segments together are the answer of
/// the store.
///
/// Parameters
/// ----------
/// store : Store or path
/// segment : int
///     The number of the segment in `Store.info`.
/// fingerprints : array, list or Column
#[doc = parameters!(k_store)]
/// ids : bool, default True
///     Whether rows contain ids.
#[doc = parameters!(limit)]
/// generation : int, optional
///     The expected generation of the store at a path; another one is refused.
#[doc = parameters!(task_threads task_memory)]
///
/// Returns
/// -------
/// Rows
///     Rows of `query`, `fingerprint`, `distance`, and `id` if the segment has ids.
///
/// Examples
/// --------
/// >>> number = store.info().segments[0].number
/// >>> fpstore.tasks.query_segment(store, number, [0xC0F1789BED2EB9B9], 0)["id"]
/// array(['b.html'], dtype=object)
#[pyfunction]
#[pyo3(signature = (
    store, segment, fingerprints, k=None, *, ids=true, limit=None, generation=None, threads=1,
    memory=TASK_MEMORY
))]
pub(crate) fn query_segment(
    store: &Bound<'_, PyAny>,
    segment: u64,
    fingerprints: &Bound<'_, PyAny>,
    k: Option<Whole>,
    ids: bool,
    limit: Option<Whole>,
    generation: Option<u64>,
    #[pyo3(from_py_with = wide)] threads: i128,
    #[pyo3(from_py_with = wide_bytes)] memory: i128,
) -> PyResult<Rows> {
    let whole = store_of(store, generation)?;
    // The default is the tuned distance of the store, not of the segment.
    let k = k.unwrap_or_else(|| Whole(whole.tuned_k().into()));
    let alone = Store::new(whole.segment(segment).map_err(Failure::from)?);
    let (threads, memory) = (Some(threads.into()), Some(memory.into()));
    alone.query_many(fingerprints, Some(k), ids, false, limit, "auto", threads, memory, None)
}

/// Whether a job with the name `run` has committed to the store. Then `commit(..., run=run)`
/// changes nothing, so the tasks of the job need not run again.
///
/// Parameters
/// ----------
/// store : path
/// run : str
///
/// Returns
/// -------
/// bool
///     `False` if there is no store.
///
/// Examples
/// --------
/// >>> fpstore.tasks.has_run(store.path, "crawl-2026-11")
/// False
#[pyfunction]
pub(crate) fn has_run(
    #[pyo3(from_py_with = path)] store: PathBuf,
    #[pyo3(from_py_with = text)] run: &str,
) -> PyResult<bool> {
    match fpstore::Store::open(store) {
        Ok(store) => Ok(store.has_run(run)),
        Err(fpstore::Error::NoStore { .. }) => Ok(false),
        Err(error) => Err(Failure::from(error).into()),
    }
}
