//! The class `Store`: opening, closing, single queries, the protocol of Python.

mod everything;
pub(crate) mod info;
mod many;
mod nearest;
mod results;
mod state;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fpstore::options::COUNT;
use fpstore::{Access, Answer, FoundRecord, IdKind, IdRef, Limits, OpenOptions, Searcher, Warm};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};

use crate::errors::{Failure, input_error, state_error};
use crate::id_columns::id_kind;
use crate::input::arguments::{path, text, text_or_none};
use crate::input::whole::{Whole, wide};
use crate::input::{fingerprints, ids as input_ids};
use crate::options::{checked, choice, distance_of};
use crate::work::{Reporter, held, run, run_change};

use results::Found;
pub(crate) use results::{StatisticsView, owned_matches};
use state::{Manifest, State};

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
    path: PathBuf,
    state: Mutex<Option<State>>,
}

impl Store {
    pub(crate) fn new(store: fpstore::Store) -> Self {
        let path = store.info().path;
        let path = std::path::absolute(&path).unwrap_or(path);
        Store { path, state: Mutex::new(Some(State::new(store))) }
    }

    fn state(&self) -> MutexGuard<'_, Option<State>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last part of the path, as the title of a page.
    pub(crate) fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        name.to_string_lossy().into_owned()
    }

    /// The store of the library, unless this one is closed.
    pub(crate) fn get(&self) -> PyResult<fpstore::Store> {
        match &*self.state() {
            Some(state) => Ok(state.store.clone()),
            None => Err(closed()),
        }
    }

    /// Whether a batch of so many queries takes so little time that the interpreter is held.
    fn is_short(&self, k: u32, count: usize) -> PyResult<bool> {
        let mut state = self.state();
        let state = state.as_mut().ok_or_else(closed)?;
        Ok(!state.is_long(k, count)?)
    }

    /// Searches with one of the searchers that are kept.
    fn search<'py>(
        &self,
        py: Python<'py>,
        k: Option<u32>,
        labels: bool,
        find: impl for<'s> Fn(&'s mut Searcher, u32) -> Result<Answer<'s>, fpstore::Error> + Send + Sync,
    ) -> PyResult<Bound<'py, PyList>> {
        let (mut searcher, k, is_long) = {
            let mut state = self.state();
            let state = state.as_mut().ok_or_else(closed)?;
            let k = k.unwrap_or(state.tuned_k);
            (state.searcher(), k, state.is_long(k, 1)?)
        };
        let result = if is_long {
            let searcher = &mut *searcher;
            let matches = run(py, &Reporter::default(), |shared| {
                searcher.stop_flag(Arc::clone(&shared.stop));
                let matches = Found::all(find(searcher, k)?, labels)?;
                searcher.stop_flag(None);
                Ok(matches)
            });
            matches.and_then(|matches| results::found(py, &matches))
        } else {
            held(|| results::matches(py, find(&mut searcher, k)?, labels))
        };
        if result.is_ok()
            && let Some(state) = self.state().as_mut()
        {
            state.keep(searcher);
        }
        result
    }
}

fn closed() -> PyErr {
    state_error("the store is closed")
}

/// Opens a store.
///
/// Opening reads a header, whatever the size; pages are read and checked when a query first needs
/// them, or at once with `warm`: `"hot"` for what every query reads, `"all"` for everything. With
/// `generation` any other state of the store is refused with `StaleStoreError`, and `refresh` keeps
/// this one. A store shows its newest state alone; an older one is opened where it was kept, by
/// `backup` or by `export` with `hard_link`: `open(copy, generation=N)`. `access` is `"map"`
/// for a memory map, `"memory"` to read the files into memory, or `"auto"`: memory on network file
/// systems if it fits, a map elsewhere.
///
/// >>> with fpstore.open(store.path) as again:
/// ...     len(again)
/// 3
#[pyfunction]
#[pyo3(signature = (path, *, generation=None, access="auto", warm=None))]
pub(crate) fn open(
    py: Python<'_>,
    #[pyo3(from_py_with = path)] path: PathBuf,
    generation: Option<u64>,
    #[pyo3(from_py_with = text)] access: &str,
    #[pyo3(from_py_with = text_or_none)] warm: Option<&str>,
) -> PyResult<Store> {
    let access: Access = choice(py, "access", access)?;
    let warm: Option<Warm> = warm.map(|what| choice(py, "warm", what)).transpose()?;
    let opened = || -> Result<fpstore::Store, Failure> {
        let options = OpenOptions::default().access(access).generation(generation);
        let store = fpstore::Store::with_options(&path, options)?;
        if let Some(warm) = warm {
            store.warm(warm)?;
        }
        Ok(store)
    };
    // To open takes microseconds, unless pages are read, as on network file systems.
    run(py, &Reporter::default(), |_| opened()).map(Store::new)
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
        py: Python<'py>,
        fingerprint: &Bound<'py, PyAny>,
        k: Option<Whole>,
        limit: Option<Whole>,
        labels: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let needle = fingerprints::one(fingerprint)?;
        let k = k.map(|k| distance_of(py, k)).transpose()?;
        let most = crate::options::limit(py, limit)?;
        let limits = Limits::default().limit(most);
        self.search(py, k, labels, |searcher, k| searcher.search_with(needle, k, &limits))
    }

    /// The `count` nearest stored fingerprints within `k` bits, however far with the default of 64.
    ///
    /// >>> [match.distance for match in store.nearest(0, count=2)]
    /// [35, 36]
    #[pyo3(signature = (fingerprint, count=1, k=64, *, labels=false))]
    fn nearest<'py>(
        &self,
        py: Python<'py>,
        fingerprint: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = wide)] count: i128,
        #[pyo3(from_py_with = wide)] k: i128,
        labels: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let needle = fingerprints::one(fingerprint)?;
        let k = distance_of(py, k)?;
        let most = checked(py, &COUNT, count)? as usize;
        self.search(py, Some(k), labels, |searcher, k| searcher.nearest(needle, most, k))
    }

    /// The fingerprints of the records that have these ids: a list for each id, which is empty if no
    /// record has it. A store has no index of ids, so this reads all of them, once for all that are
    /// asked for.
    ///
    /// >>> store.find(["a.html", "z.html"])
    /// [[13903026135763958200], []]
    #[pyo3(signature = (ids, /))]
    fn find(&self, py: Python<'_>, ids: &Bound<'_, PyAny>) -> PyResult<Vec<Vec<u64>>> {
        let (store, ids) = (self.get()?, input_ids::many(ids)?);
        let found = run(py, &Reporter::default(), |shared| {
            let ids: Vec<IdRef<'_>> = ids.iter().collect();
            Ok(store.find_ids(&ids, Some(shared.observer()))?)
        })?;
        let values = |records: Vec<FoundRecord>| {
            records.into_iter().map(|record| record.fingerprint.value()).collect()
        };
        Ok(found.into_iter().map(values).collect())
    }

    fn __contains__(&self, py: Python<'_>, fingerprint: &Bound<'_, PyAny>) -> PyResult<bool> {
        // All digits of a fingerprint are no id by chance.
        let is_short = |text: &Bound<'_, PyString>| text.len().is_ok_and(|len| len < 16);
        if fingerprint.cast::<PyString>().is_ok_and(is_short)
            && id_kind(&self.get()?) == IdKind::Text
        {
            let message = format!(
                "'in' asks for a fingerprint, and {0} may be an id: find([{0}]) looks for an id, \
                 int({0}, 16) is a fingerprint",
                fingerprint.repr()?
            );
            return Err(input_error(py, message));
        }
        Ok(!self.query(py, fingerprint, Some(Whole(0)), Some(Whole(1)), false)?.is_empty())
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(usize::try_from(self.get()?.info().fingerprint_count())?)
    }

    fn __bool__(&self) -> PyResult<bool> {
        self.get().map(|_| true)
    }

    /// The directory of the store, absolute.
    #[getter]
    fn path(&self) -> OsString {
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
        Ok(self.get()?.recipe().map(|recipe| recipe.text().to_owned()))
    }

    /// Whether the store is closed.
    #[getter]
    fn closed(&self) -> bool {
        self.state().is_none()
    }

    /// Goes on to the newest state. Returns whether there was a newer one.
    fn refresh(&self, py: Python<'_>) -> PyResult<bool> {
        let store = self.get()?;
        // Where files are read into memory, a new state takes as long as that; no new state takes
        // microseconds, for which a thread that polls should not give the interpreter away.
        let manifest = Manifest::of(&self.path);
        let is_known = |state: &State| manifest.is_some() && state.manifest == manifest;
        let is_new = if self.state().as_ref().is_some_and(is_known) {
            held(|| Ok(store.refresh()?))?
        } else {
            let shared = Arc::default();
            run_change(py, &Reporter::default(), &shared, |_| Ok(store.refresh()?))?
        };
        if let Some(state) = self.state().as_mut() {
            if is_new {
                *state = State::new(store);
            }
            state.manifest = manifest;
        }
        Ok(is_new)
    }

    /// Reads pages into memory and checks them, so that no query waits for them: `"hot"` for those
    /// that every query reads, `"all"` for all. Returns their number.
    #[pyo3(signature = (what="hot"))]
    fn warm(&self, py: Python<'_>, #[pyo3(from_py_with = text)] what: &str) -> PyResult<u64> {
        let (store, what) = (self.get()?, choice(py, "what", what)?);
        run(py, &Reporter::default(), |_| Ok(store.warm(what)?))
    }

    /// Closes the store. Queries that are under way end as usual.
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

    /// Pickled, a store is its path and generation.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let generation = self.get()?.generation();
        let reopen = py.import("fpstore._fpstore")?.getattr("_reopen")?;
        (reopen, (self.path(), generation)).into_pyobject(py)
    }

    fn __repr__(&self) -> PyResult<String> {
        let state = self.state();
        let path = self.path.display();
        let Some(state) = &*state else { return Ok(format!("<fpstore.Store '{path}', closed>")) };
        let info = state.store.info();
        Ok(format!(
            "<fpstore.Store '{path}': {} fingerprints, {} ids>",
            info.fingerprint_count(),
            info.id_count()
        ))
    }
}

/// Opens a store at the generation at which it was pickled.
#[pyfunction]
pub(crate) fn _reopen(
    py: Python<'_>,
    #[pyo3(from_py_with = path)] path: PathBuf,
    generation: u64,
) -> PyResult<Store> {
    let store = open(py, path, None, "auto", None)?;
    store.get()?.expect_generation(generation).map_err(Failure::from)?;
    Ok(store)
}
