//! The class `Store`: single queries, the protocol of Python.

use std::ffi::OsString;
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use super::asked::Asked;
use crate::input::arguments::text;
use crate::input::whole::{Whole, wide};

/// A store, open for reading: the state of the moment when it was opened, until `refresh`.
///
/// Threads may share it. `with` closes it at the end. Pickled, it is its path and generation, so it
/// can be sent to other processes, which open it themselves. It is also an Arrow stream of its
/// records, in columns `fingerprint` and `id`, by ascending fingerprint:
///
/// >>> import polars
/// >>> polars.DataFrame(store).columns
/// ['fingerprint', 'id']
#[pyclass(frozen, module = "fpstore")]
pub(crate) struct Store {
    pub(super) path: PathBuf,
    pub(super) asked: Asked,
}

impl Store {
    pub(crate) fn new(store: fpstore::Store) -> Self {
        let path = store.info().path;
        let path = std::path::absolute(&path).unwrap_or(path);
        Store { path, asked: Asked::one(store) }
    }

    /// The last part of the path, as the title of a page.
    pub(crate) fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        name.to_string_lossy().into_owned()
    }

    /// The store of the library, unless this one is closed.
    pub(crate) fn get(&self) -> PyResult<fpstore::Store> {
        self.asked.get()
    }
}

#[pymethods]
impl Store {
    /// All stored fingerprints within `k` bits, inclusive: nearest first, then by value, with their
    /// ids.
    ///
    /// `k` is the one that the store is tuned for unless it is given; any from 0 to 64 is answered
    /// exactly. `limit` keeps the nearest ones. With `labels` each match is a `LabelledMatch`, which has
    /// the label of each id. The interpreter is held for searches of less than a millisecond; a page
    /// that must come from a disk holds it, too: see `warm`.
    ///
    /// >>> store.query(0xC0F1789BED2EB9B8, k=1)
    /// [Match(fingerprint=13903026135763958200, distance=0, ids=['a.html']), Match(fingerprint=13903026135763958201, distance=1, ids=['b.html'])]
    /// >>> store.query("5057d88dd8f1c6ff")[0].ids
    /// ['c.html']
    #[pyo3(signature = (fingerprint, k=None, *, limit=None, labels=false))]
    fn query<'py>(
        &self,
        fingerprint: &Bound<'py, PyAny>,
        k: Option<Whole>,
        limit: Option<Whole>,
        labels: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        self.asked.query(fingerprint, k, limit, labels)
    }

    /// The `count` nearest stored fingerprints within `k` bits, however far with the default of 64.
    ///
    /// >>> [match.distance for match in store.nearest(0, count=2)]
    /// [35, 36]
    #[pyo3(signature = (fingerprint, count=1, k=64, *, labels=false))]
    fn nearest<'py>(
        &self,
        fingerprint: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = wide)] count: i128,
        #[pyo3(from_py_with = wide)] k: i128,
        labels: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        self.asked.nearest(fingerprint, count, k, labels)
    }

    /// The fingerprints of the records that have these ids: a list for each id, which is empty if no
    /// record has it. A store has no index of ids, so this reads all of them, once for all that are
    /// asked for.
    ///
    /// >>> store.find(["a.html", "z.html"])
    /// [[13903026135763958200], []]
    #[pyo3(signature = (ids, /))]
    fn find(&self, ids: &Bound<'_, PyAny>) -> PyResult<Vec<Vec<u64>>> {
        self.asked.find(ids, |record| record.fingerprint.value())
    }

    fn __contains__(&self, fingerprint: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.asked.contains(fingerprint)
    }

    fn __len__(&self) -> PyResult<usize> {
        self.asked.count()
    }

    fn __bool__(&self) -> PyResult<bool> {
        self.get().map(|_| true)
    }

    /// The directory of the store, absolute.
    #[getter]
    pub(super) fn path(&self) -> OsString {
        self.path.clone().into_os_string()
    }

    /// The number of changes that the store has had, in the state that is open.
    #[getter]
    fn generation(&self) -> PyResult<u64> {
        Ok(self.get()?.generation())
    }

    /// The distance that the tables are made for, and the default of every `k`.
    #[getter]
    fn tuned_k(&self) -> PyResult<u32> {
        Ok(self.get()?.tuned_k())
    }

    /// How the fingerprints were made: the text of a recipe, `'external'` for ready ones, `None`
    /// for an empty store.
    #[getter]
    fn recipe(&self) -> PyResult<Option<String>> {
        self.asked.recipe()
    }

    /// Whether the store is closed.
    #[getter]
    fn closed(&self) -> bool {
        self.asked.is_closed()
    }

    /// Goes on to the newest state. Returns whether there was a newer one.
    fn refresh(&self, py: Python<'_>) -> PyResult<bool> {
        self.asked.refresh(py, std::slice::from_ref(&self.path))
    }

    /// Reads pages into memory and checks them, so that no query waits for them: `"hot"` for those
    /// that every query reads, `"all"` for all. Returns their number.
    #[pyo3(signature = (what="hot"))]
    fn warm(&self, py: Python<'_>, #[pyo3(from_py_with = text)] what: &str) -> PyResult<u64> {
        self.asked.warm(py, what)
    }

    /// Closes the store. Queries that are under way end as usual.
    fn close(&self) {
        self.asked.close();
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyResult<PyRef<'_, Self>> {
        slf.get()?;
        Ok(slf)
    }

    #[pyo3(signature = (*_raised))]
    fn __exit__(&self, _raised: &Bound<'_, PyTuple>) {
        self.close();
    }

    /// Pickled, a store is its path and generation.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let generation = self.get()?.generation();
        let reopen = py.import("fpstore._fpstore")?.getattr("_reopen")?;
        (reopen, (self.path(), generation)).into_pyobject(py)
    }

    pub(super) fn __repr__(&self) -> String {
        format!("<fpstore.Store {}>", self.asked.shown(&format!("'{}'", self.path.display())))
    }
}
