//! The class `Stores`: several stores that are asked as one.

use std::ffi::OsString;
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use super::asked::Asked;
use super::names::{Given, Names};
use crate::input::arguments::text;
use crate::input::whole::{Whole, wide};

/// Several stores, open for reading and asked as one: the states of the moment when they were opened,
/// until `refresh`. Made by `open_all`.
///
/// Each answer is that of one store with the records of all, and names the store of each match, as
/// it was named. What two stores hold is found in both. Threads may share it. `with` closes it at the
/// end. Pickled, it is the paths and generations of its stores.
///
/// >>> other = fpstore.build(folder / "more.fps", [0xC0F1789BED2EB9B8], ["d.html"])
/// >>> stores = fpstore.open_all([store.path, other.path])
/// >>> [(found.store == other.path, found.ids) for found in stores.query(0xC0F1789BED2EB9B8, k=0)]
/// [(False, ['a.html']), (True, ['d.html'])]
#[pyclass(frozen, module = "fpstore")]
pub(crate) struct Stores {
    /// Their directories, absolute.
    paths: Vec<PathBuf>,
    pub(super) asked: Asked,
}

impl Stores {
    /// Stores with the names that the user gave them.
    pub(super) fn new(stores: fpstore::Stores, names: &[PathBuf]) -> Self {
        let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let paths = stores.paths().iter().map(absolute).collect();
        Stores { paths, asked: Asked::several(stores, Names::new(names)) }
    }

    /// All stores as one, with their names, unless they are closed.
    pub(crate) fn given(&self) -> PyResult<Given> {
        self.asked.given()
    }

    /// The names of the stores, as the user gave them.
    fn names(&self) -> Vec<OsString> {
        let names = self.asked.names.iter().flat_map(|names| names.paths());
        names.map(|path| path.clone().into_os_string()).collect()
    }
}

#[pymethods]
impl Stores {
    /// All stored fingerprints within `k` bits, as `Store.query`: nearest first, then by value, then
    /// in the order of the stores. Each is a `MatchInStores`, which names its store, with the ids of
    /// that store alone; with `labels` a `LabelledMatchInStores`.
    ///
    /// `k` is the smallest one that a store is tuned for unless it is given. `limit` counts a
    /// fingerprint that two stores hold once.
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

    /// The `count` nearest stored fingerprints within `k` bits, as `Store.nearest`, in the order of
    /// `query`. A fingerprint that two stores hold counts once, and is found in both.
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

    /// The records that have these ids: for each id a list of fingerprints, each with the name of its
    /// store. It reads all ids of all stores, see `Store.find`.
    #[pyo3(signature = (ids, /))]
    fn find(&self, ids: &Bound<'_, PyAny>) -> PyResult<Vec<Vec<(u64, OsString)>>> {
        let names = self.names();
        self.asked.find(ids, |record| (record.fingerprint.value(), names[record.store.0].clone()))
    }

    fn __contains__(&self, fingerprint: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.asked.contains(fingerprint)
    }

    fn __len__(&self) -> PyResult<usize> {
        self.asked.count()
    }

    fn __bool__(&self) -> PyResult<bool> {
        self.asked.get().map(|_| true)
    }

    /// The directories of the stores, as they were named and in that order.
    #[getter]
    fn paths(&self) -> Vec<OsString> {
        self.names()
    }

    /// The generation of each store, in the state that is open.
    #[getter]
    fn generations(&self) -> PyResult<Vec<u64>> {
        self.asked.generations()
    }

    /// The smallest distance that a store is tuned for, and the default of every `k`.
    #[getter]
    fn tuned_k(&self) -> PyResult<u32> {
        Ok(self.asked.get()?.tuned_k())
    }

    /// How the fingerprints of all were made, as `Store.recipe`; `None` if all are empty.
    #[getter]
    fn recipe(&self) -> PyResult<Option<String>> {
        self.asked.recipe()
    }

    /// Whether the stores are closed.
    #[getter]
    fn closed(&self) -> bool {
        self.asked.is_closed()
    }

    /// Goes on to the newest states of all stores. Returns whether there was a newer one. After an
    /// error all stay at the states before.
    fn refresh(&self, py: Python<'_>) -> PyResult<bool> {
        self.asked.refresh(py, &self.paths)
    }

    /// Reads pages of all stores into memory and checks them, see `Store.warm`. Returns their number.
    #[pyo3(signature = (what="hot"))]
    fn warm(&self, py: Python<'_>, #[pyo3(from_py_with = text)] what: &str) -> PyResult<u64> {
        self.asked.warm(py, what)
    }

    /// Closes the stores. Queries that are under way end as usual.
    fn close(&self) {
        self.asked.close();
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyResult<PyRef<'_, Self>> {
        slf.asked.get()?;
        Ok(slf)
    }

    #[pyo3(signature = (*_raised))]
    fn __exit__(&self, _raised: &Bound<'_, PyTuple>) {
        self.close();
    }

    /// Pickled, stores are their names, paths and generations.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let generations = self.asked.generations()?;
        let reopen = py.import("fpstore._fpstore")?.getattr("_reopen_all")?;
        let paths: Vec<OsString> =
            self.paths.iter().map(|path| path.clone().into_os_string()).collect();
        (reopen, (self.names(), paths, generations)).into_pyobject(py)
    }

    fn __repr__(&self) -> String {
        let names: Vec<String> =
            self.names().iter().map(|name| format!("'{}'", name.display())).collect();
        format!("<fpstore.Stores {}>", self.asked.shown(&names.join(", ")))
    }
}
