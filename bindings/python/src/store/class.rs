//! The class `Store`: one store, or several that are queried as one.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fpstore::options::COUNT;
use fpstore::{Answer, IdKind, IdRef, Limits, Searcher};
use pyo3::exceptions::{PyAttributeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};

use super::names::{Given, Names};
use super::results::{self, Found};
use super::state::{Manifests, State};
use crate::answer_columns::id_kind;
use crate::errors::{argument_error, input_error, named, state_error, warn_of_memory};
use crate::input::arguments::{is_one_path, text};
use crate::input::whole::{Whole, wide};
use crate::input::{fingerprints, ids as input_ids};
use crate::options::{checked, choice, distance_of};
use crate::work::{Reporter, held, run, run_change};

/// An open store, or several stores that are queried as one. Queries read the snapshots at the time
/// of opening, until `refresh`. `open` and `build` return it.
///
/// Threads may share a store, and leaving a `with` block closes it. It is pickled as paths and
/// generations, so another process opens the files itself. A single store is also an Arrow stream
/// of its records, with the columns `fingerprint` and `id`, by ascending fingerprint.
///
/// Several stores answer like one store with the records of all stores. Each match contains the
/// name of its store (the path given to `open`), and a fingerprint in two stores is a match in
/// both. Methods without a column for that name, such as `clusters` and `records`, refuse several
/// stores. Stores may differ in scheme, tuned `k` and kind of ids, but not in recipe, and no two
/// may be copies of one store.
///
/// Examples
/// --------
/// >>> import polars
/// >>> polars.DataFrame(store).columns
/// ['fingerprint', 'id']
/// >>> other = fpstore.build(folder / "more.fps", [0xC0F1789BED2EB9B8], ["d.html"])
/// >>> stores = fpstore.open([store.path, other.path])
/// >>> [(found.store == other.path, found.ids) for found in stores.query(0xC0F1789BED2EB9B8, k=0)]
/// [(False, ['a.html']), (True, ['d.html'])]
#[pyclass(frozen, module = "fpstore")]
pub(crate) struct Store {
    /// The absolute paths of the directories of the stores.
    paths: Vec<PathBuf>,
    /// The names of several stores, as the user gave them; `None` for one store.
    pub(super) names: Option<Names>,
    /// `None` once the store is closed.
    state: Mutex<Option<State>>,
}

fn absolute(path: &PathBuf) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.clone())
}

impl Store {
    /// Wraps a single store.
    pub(crate) fn new(store: fpstore::Store) -> Self {
        let paths = vec![absolute(&store.info().path)];
        Store { paths, names: None, state: Mutex::new(Some(State::new(store, None))) }
    }

    /// Wraps several stores that are queried together, with the names given by the user.
    pub(super) fn several(stores: fpstore::Stores, names: &[PathBuf]) -> Self {
        let paths = stores.paths().iter().map(absolute).collect();
        let state = State::new(stores.as_store().clone(), Some(stores));
        Store { paths, names: Some(Names::new(names)), state: Mutex::new(Some(state)) }
    }

    fn state(&self) -> MutexGuard<'_, Option<State>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `with` with the state of the open store. Fails if the store is closed.
    fn with_state<T>(&self, with: impl FnOnce(&mut State) -> PyResult<T>) -> PyResult<T> {
        match &mut *self.state() {
            Some(state) => with(state),
            None if self.names.is_some() => Err(state_error("the stores are closed")),
            None => Err(state_error("the store is closed")),
        }
    }

    /// The store of the Rust crate, with the records of all stores. Fails if the store is closed.
    pub(crate) fn get(&self) -> PyResult<fpstore::Store> {
        self.with_state(|state| Ok(state.store.clone()))
    }

    /// Like [`get`](Self::get), but also returns the names of several stores.
    pub(crate) fn given(&self) -> PyResult<Given> {
        Ok(Given { store: self.get()?, names: self.names.clone() })
    }

    /// Like [`get`](Self::get), but refuses several stores.
    pub(crate) fn one(&self) -> PyResult<fpstore::Store> {
        match &self.names {
            Some(names) => Python::attach(|py| Err(argument_error(py, names.one_alone()))),
            None => self.get(),
        }
    }

    /// The directory of a single store, for attributes that several stores do not have.
    pub(super) fn one_path(&self) -> PyResult<&Path> {
        match &self.names {
            Some(names) => Err(PyAttributeError::new_err(names.one_alone())),
            None => Ok(&self.paths[0]),
        }
    }

    /// The last part of the first path, as the title of HTML pages.
    pub(crate) fn title(&self) -> String {
        let path = &self.paths[0];
        path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
    }

    /// Whether a batch of `count` queries is so short that the interpreter is held for it.
    pub(super) fn is_short(&self, k: u32, count: usize) -> PyResult<bool> {
        self.with_state(|state| Ok(!state.is_long(k, count)?))
    }

    /// Calls `find` with a searcher from the pool, and converts its answer to matches.
    fn search<'py>(
        &self,
        py: Python<'py>,
        k: Option<u32>,
        labels: bool,
        find: impl for<'s> Fn(&'s mut Searcher, u32) -> Result<Answer<'s>, fpstore::Error> + Send + Sync,
    ) -> PyResult<Bound<'py, PyList>> {
        let (mut searcher, k, is_long) = self.with_state(|state| {
            let k = k.unwrap_or(state.tuned_k);
            Ok((state.searcher(), k, state.is_long(k, 1)?))
        })?;
        let names = self.names.as_ref();
        let result = if is_long {
            let searcher = &mut *searcher;
            let matches = run(py, &Reporter::default(), |shared| {
                searcher.stop_flag(Arc::clone(&shared.stop));
                let matches = Found::all(find(searcher, k)?, labels)?;
                searcher.stop_flag(None);
                Ok(matches)
            });
            matches.and_then(|matches| results::found(py, &matches, names))
        } else {
            held(|| results::matches(py, find(&mut searcher, k)?, labels, names))
        };
        if result.is_ok()
            && let Some(state) = self.state().as_mut()
        {
            state.keep(searcher);
        }
        result
    }
}

#[pymethods]
impl Store {
    /// All stored fingerprints within `k` bits of a query fingerprint, with their ids: nearest
    /// first, at equal distance by ascending value.
    ///
    /// The interpreter is held for searches of less than a millisecond, and also while a page is
    /// read from disk: see `warm`.
    ///
    /// Parameters
    /// ----------
    /// fingerprint : int or str
    #[doc = parameters!(k_store limit)]
    /// labels : bool, default False
    ///     Whether each match contains the labels of its ids.
    ///
    /// Returns
    /// -------
    /// list of fpstore.types.Match
    ///
    /// Examples
    /// --------
    /// >>> store.query(0xC0F1789BED2EB9B8, k=1)
    /// [Match(fingerprint=13903026135763958200, distance=0, ids=['a.html']), Match(fingerprint=13903026135763958201, distance=1, ids=['b.html'])]
    /// >>> store.query("5057d88dd8f1c6ff")[0].ids
    /// ['c.html']
    #[pyo3(signature = (fingerprint, k=None, *, limit=None, labels=false))]
    pub(crate) fn query<'py>(
        &self,
        fingerprint: &Bound<'py, PyAny>,
        k: Option<Whole>,
        limit: Option<Whole>,
        labels: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let py = fingerprint.py();
        let needle = fingerprints::one(fingerprint)?;
        let k = k.map(|k| distance_of(py, k)).transpose()?;
        let limits = Limits::default().limit(crate::options::limit(py, limit)?);
        self.search(py, k, labels, |searcher, k| searcher.search_with(needle, k, &limits))
    }

    /// The stored fingerprints nearest to a query fingerprint. A fingerprint in two stores counts
    /// once.
    ///
    /// Parameters
    /// ----------
    /// fingerprint : int or str
    /// count : int, default 1
    ///     Maximum number of matches.
    /// k : int, default 64
    ///     Maximum distance in bits.
    /// labels : bool, default False
    ///     Whether each match contains the labels of its ids.
    ///
    /// Returns
    /// -------
    /// list of fpstore.types.Match
    ///
    /// Examples
    /// --------
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
        let py = fingerprint.py();
        let needle = fingerprints::one(fingerprint)?;
        let k = distance_of(py, k)?;
        let most = checked(py, &COUNT, count)? as usize;
        self.search(py, Some(k), labels, |searcher, k| searcher.nearest(needle, most, k))
    }

    /// The fingerprints of the records with these ids. A store has no index of ids: the call reads
    /// all ids of the store, once for all given ids.
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
    ///
    /// Examples
    /// --------
    /// >>> store.find(["a.html", "z.html"])
    /// [[13903026135763958200], []]
    #[pyo3(signature = (ids, /))]
    fn find<'py>(&self, ids: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let (store, py, ids) = (self.get()?, ids.py(), input_ids::many(ids)?);
        let found = run(py, &Reporter::default(), |shared| {
            let ids: Vec<IdRef<'_>> = ids.iter().collect();
            Ok(store.find_ids(&ids, Some(shared.observer()))?)
        })?;
        let lists = PyList::empty(py);
        for records in found {
            let list = PyList::empty(py);
            for record in records {
                let value = record.fingerprint.value();
                match &self.names {
                    None => list.append(value)?,
                    Some(names) => list.append((value, names.path(record.store).as_os_str()))?,
                }
            }
            lists.append(list)?;
        }
        Ok(lists)
    }

    fn __contains__(&self, fingerprint: &Bound<'_, PyAny>) -> PyResult<bool> {
        // A text of 16 or more characters is most likely a fingerprint, not an id.
        let is_short = |text: &Bound<'_, PyString>| text.len().is_ok_and(|len| len < 16);
        if fingerprint.cast::<PyString>().is_ok_and(is_short)
            && id_kind(&self.get()?) == IdKind::Text
        {
            let message = format!(
                "'in' searches for a fingerprint, and {0} may be an id: find([{0}]) searches for \
                 an id, int({0}, 16) is a fingerprint",
                fingerprint.repr()?
            );
            return Err(input_error(fingerprint.py(), message));
        }
        Ok(!self.query(fingerprint, Some(Whole(0)), Some(Whole(1)), false)?.is_empty())
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(usize::try_from(self.get()?.info().fingerprint_count())?)
    }

    fn __bool__(&self) -> PyResult<bool> {
        self.get().map(|_| true)
    }

    /// The directory of the store, absolute. Several stores have `paths` instead.
    #[getter]
    fn path(&self) -> PyResult<&std::ffi::OsStr> {
        Ok(self.one_path()?.as_os_str())
    }

    /// The directories of the stores. The path of a single store is absolute; the paths of several
    /// stores are kept as given, in that order.
    #[getter]
    fn paths(&self) -> Vec<&std::ffi::OsStr> {
        let paths = self.names.as_ref().map_or(&self.paths[..], Names::paths);
        paths.iter().map(|path| path.as_os_str()).collect()
    }

    /// The number of changes of the store up to the open snapshot. Several stores have
    /// `generations` instead.
    #[getter]
    fn generation(&self) -> PyResult<u64> {
        self.one_path()?;
        Ok(self.get()?.generation())
    }

    /// The generation of each store in the open snapshot.
    #[getter]
    fn generations(&self) -> PyResult<Vec<u64>> {
        self.with_state(|state| {
            let one = || vec![state.store.generation()];
            Ok(state.several.as_ref().map_or_else(one, fpstore::Stores::generations))
        })
    }

    /// The distance in bits for which the tables were made, and the default of `k` in queries; for
    /// several stores the smallest of their distances.
    #[getter]
    fn tuned_k(&self) -> PyResult<u32> {
        Ok(self.get()?.tuned_k())
    }

    /// The text of the recipe of the fingerprints; `'external'` for ready-made fingerprints, `None`
    /// for an empty store.
    #[getter]
    fn recipe(&self) -> PyResult<Option<String>> {
        Ok(self.get()?.recipe().map(|recipe| recipe.text().to_owned()))
    }

    /// Whether the store is closed.
    #[getter]
    fn closed(&self) -> bool {
        self.state().is_none()
    }

    /// Switches to the newest snapshot of each store. Returns whether a store had a newer snapshot.
    /// After an error, the open snapshots are unchanged.
    fn refresh(&self, py: Python<'_>) -> PyResult<bool> {
        let store = self.get()?;
        // If files are read into memory, opening a new snapshot takes as long as reading it, so the
        // interpreter is released. Without a new snapshot, it is held for microseconds.
        let manifests = Manifests::of(&self.paths);
        let is_known = |state: &State| manifests.is_some() && state.manifests == manifests;
        let is_new = if self.state().as_ref().is_some_and(is_known) {
            held(|| Ok(store.refresh()?))?
        } else {
            let shared = Arc::default();
            run_change(py, &Reporter::default(), &shared, |_| Ok(store.refresh()?))?
        };
        if let Some(state) = self.state().as_mut() {
            if is_new {
                *state = State::new(store, state.several.take());
            }
            state.manifests = manifests;
        }
        Ok(is_new)
    }

    /// Reads pages of the store into memory and checks them, so that no query waits for the disk.
    ///
    /// Parameters
    /// ----------
    /// what : str, default "hot"
    ///     `"hot"` for the pages that every query reads, `"all"` for all pages.
    ///
    /// Returns
    /// -------
    /// int
    ///     The number of pages read. If free memory runs out, reading stops with a
    ///     `RuntimeWarning`.
    #[pyo3(signature = (what="hot"))]
    fn warm(&self, py: Python<'_>, #[pyo3(from_py_with = text)] what: &str) -> PyResult<u64> {
        let (store, what) = (self.get()?, choice(py, "what", what)?);
        let warmed = run(py, &Reporter::default(), |_| Ok(store.warm(what)?))?;
        warn_of_memory(py, warmed)?;
        Ok(warmed.pages)
    }

    /// Closes the store. Queries that are running still return their answers.
    fn close(&self) {
        drop(self.state().take());
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyResult<PyRef<'_, Self>> {
        slf.get()?;
        Ok(slf)
    }

    #[pyo3(signature = (*_raised))]
    fn __exit__(&self, _raised: &Bound<'_, PyTuple>) {
        self.close();
    }

    /// A store is pickled as its path and generation, several stores also with their names.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let generations = self.generations()?;
        let reopen = py.import("fpstore._fpstore")?.getattr("_reopen")?;
        let paths: Vec<_> = self.paths.iter().map(|path| path.as_os_str()).collect();
        let names = self.names.as_ref().map(|_| self.paths());
        (reopen, (paths, generations, names)).into_pyobject(py)
    }

    pub(super) fn __repr__(&self) -> String {
        let names: Vec<String> =
            self.paths().iter().map(|path| format!("'{}'", path.display())).collect();
        let names = names.join(", ");
        match &*self.state() {
            None => format!("<fpstore.Store {names}, closed>"),
            Some(state) => {
                let info = state.store.info();
                let (fingerprints, ids) = (info.fingerprint_count(), info.id_count());
                format!("<fpstore.Store {names}: {fingerprints} fingerprints, {ids} ids>")
            }
        }
    }
}

/// The open store in an argument; opens paths.
fn cast<'py>(given: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Store>> {
    if let Ok(store) = given.cast::<Store>() {
        return Ok(store.clone());
    }
    if is_one_path(given)? || given.is_instance_of::<PyList>() {
        let opened = given.py().import("fpstore._fpstore")?.call_method1("open", (given,))?;
        return Ok(opened.cast_into()?);
    }
    let kind = given.get_type().qualname()?;
    Err(PyTypeError::new_err(format!("expected a Store, not {kind}")))
}

/// Converts an optional argument to one store, or several as one.
pub(crate) fn stores_or_none(given: &Bound<'_, PyAny>) -> PyResult<Option<Given>> {
    if given.is_none() { Ok(None) } else { cast(given)?.get().given().map(Some) }
}

/// Converts an argument to one store, and refuses several stores.
pub(crate) fn one_store(given: &Bound<'_, PyAny>) -> PyResult<fpstore::Store> {
    cast(given)?.get().one()
}

/// The store in the argument `name`, or `None` if it is no `Store`. Several stores are refused.
pub(crate) fn if_store(given: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<fpstore::Store>> {
    let store = given.cast::<Store>().ok().map(|store| store.get().one()).transpose();
    store.map_err(|error| named(error, name))
}
