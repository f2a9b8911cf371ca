//! Making stores: the class `Builder` and the function `build`.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fpstore::{BuildOptions, IdPolicy, IdRef};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::{Failure, input_error};
use crate::input::batches::{Batch, Batches};
use crate::input::ids::Ids;
use crate::options::{Limits, distance_of};
use crate::store::Store;
use crate::text::recipe_text_of;
use crate::work::{Reporter, Shared, held, run_shared};

/// Makes a store of records that are added in any order, which need not fit into memory.
///
/// The same records make the same file, byte for byte, as the program `fpstore` makes. Leaving
/// `with` finishes the store; leaving it with an exception makes nothing.
///
/// `k` is the distance of most queries. `scheme` names the tables (`"halves"`, `"4"`, ...); by
/// default the fastest within `budget` are chosen, such as `"16B/fp"` or `"12GB"`. `recipe` says
/// how the fingerprints were made, a `Recipe` or its name: a store refuses others later. `id_type`
/// `"int"` or `"str"` makes ids of that kind; `"auto"` keeps what comes first. `replace` lets an
/// existing store be replaced, which answers as before until the new one is whole. `wait` is how
/// many seconds to wait for another process that writes, `None` for as long as it takes.
///
/// >>> with fpstore.Builder(folder / "built.fps", label="2026-11") as builder:
/// ...     builder.add([1, 2], ["one", "two"])
/// 2
/// >>> len(fpstore.open(folder / "built.fps"))
/// 2
#[pyclass(frozen, module = "fpstore")]
pub(crate) struct Builder {
    path: PathBuf,
    reporter: Reporter,
    shared: Arc<Shared>,
    state: Mutex<State>,
}

enum State {
    /// The kind of the ids is not known yet, so nothing is begun.
    Fresh(Box<BuildOptions>, Option<IdPolicy>),
    Begun(Box<fpstore::Builder>, Option<IdPolicy>),
    Ended(&'static str),
}

/// The kind of ids that is asked for; `None` leaves it to the ids.
pub(crate) fn policy_of(py: Python<'_>, ids: &str) -> PyResult<Option<IdPolicy>> {
    match ids {
        "auto" => Ok(None),
        "int" => Ok(Some(IdPolicy::U64)),
        "str" => Ok(Some(IdPolicy::Text)),
        other => Err(input_error(py, format!("id_type is 'auto', 'int' or 'str', not '{other}'"))),
    }
}

/// Seconds to wait for locks; `None` is for as long as it takes.
pub(crate) fn wait_of(py: Python<'_>, seconds: Option<f64>) -> PyResult<Duration> {
    match seconds {
        None => Ok(Duration::MAX),
        Some(seconds) => Duration::try_from_secs_f64(seconds).map_err(|_| {
            input_error(py, format!("wait is {seconds}, expected seconds, or None for ever"))
        }),
    }
}

/// Refuses ids that cannot be stored before any record is taken.
pub(crate) fn check_ids(ids: Option<&Ids>, policy: Option<IdPolicy>) -> Result<(), Failure> {
    let Some(ids) = ids else { return Ok(()) };
    for (at, id) in ids.iter().enumerate() {
        let IdRef::Text(text) = id else { return Ok(()) };
        let shown = || text.chars().take(40).flat_map(char::escape_debug).collect::<String>();
        if let Some(fault) = IdRef::fault_of_text(text) {
            return Err(Failure::Input(format!(
                "id number {at}, '{}': {fault}, expected 1 to 65535 bytes without NUL, CR or LF",
                shown()
            )));
        }
        if policy == Some(IdPolicy::U64) && IdRef::canonical_number(text).is_none() {
            let shown = shown();
            let message =
                format!("id number {at}, '{shown}', is no number, and id_type='int' was given");
            return Err(Failure::Input(message));
        }
    }
    Ok(())
}

/// Gives the records of a batch to a builder or a writer.
pub(crate) fn push_all(
    batch: &Batch,
    shared: &Shared,
    mut push: impl FnMut(fpstore::Fingerprint, Option<IdRef<'_>>) -> fpstore::Result<()>,
) -> Result<(), Failure> {
    for (at, &fingerprint) in batch.fingerprints.iter().enumerate() {
        if at % (1 << 16) == 0 && shared.is_stopped() {
            return Err(fpstore::Error::Interrupted.into());
        }
        push(fingerprint, batch.ids.as_ref().map(|ids| ids.get(at)))?;
    }
    Ok(())
}

impl Builder {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The builder, begun with the first ids.
    fn begun(&self, ids: Option<&Ids>) -> PyResult<Box<fpstore::Builder>> {
        let mut state = self.state();
        match std::mem::replace(&mut *state, State::Ended("is being used by another thread")) {
            State::Fresh(options, policy) => {
                let chosen = policy.or(ids.map(Ids::policy)).unwrap_or(IdPolicy::Auto);
                let options = options.ids(chosen);
                let path = self.path.clone();
                Ok(Box::new(held(|| Ok(fpstore::Builder::with_options(path, options)?))?))
            }
            State::Begun(builder, _) => Ok(builder),
            State::Ended(why) => {
                *state = State::Ended(why);
                Err(PyValueError::new_err(format!("the builder {why}")))
            }
        }
    }

    fn take(&self, py: Python<'_>, batch: Batch) -> PyResult<usize> {
        let policy = match &*self.state() {
            State::Fresh(_, policy) | State::Begun(_, policy) => *policy,
            State::Ended(_) => None,
        };
        check_ids(batch.ids.as_ref(), policy)?;
        let mut builder = self.begun(batch.ids.as_ref())?;
        let count = batch.fingerprints.len();
        let pushed = run_shared(py, &self.reporter, &self.shared, move |shared| {
            push_all(&batch, shared, |fingerprint, id| match id {
                Some(id) => builder.push(fingerprint, id),
                None => builder.push_bare(fingerprint),
            })?;
            Ok(builder)
        });
        *self.state() = match &pushed {
            Ok(_) => State::Ended(""),
            Err(_) => State::Ended("failed before, and made nothing"),
        };
        *self.state() = State::Begun(pushed?, policy);
        Ok(count)
    }
}

#[pymethods]
impl Builder {
    #[new]
    #[pyo3(signature = (
        path, *, k=3, scheme=None, budget=None, label="", recipe=None, id_type="auto", replace=false,
        threads=None, memory=None, temp_dir=None, wait=0.0, progress=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        k: i64,
        scheme: Option<&str>,
        budget: Option<&str>,
        label: &str,
        recipe: Option<&Bound<'_, PyAny>>,
        id_type: &str,
        replace: bool,
        threads: Option<i64>,
        memory: Option<i64>,
        temp_dir: Option<PathBuf>,
        wait: Option<f64>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let k = distance_of(py, k)?;
        let limits = Limits::new(py, threads, memory, temp_dir)?;
        let shared = Arc::new(Shared::default());
        let mut options = BuildOptions::default()
            .scheme(crate::options::scheme(k, scheme, budget)?)
            .label(label)
            .replace(replace)
            .threads(limits.threads)
            .memory(limits.memory)
            .temp_dir(limits.temp_dir)
            .wait(wait_of(py, wait)?)
            .observer(shared.observer());
        if let Some(recipe) = recipe {
            options = options.recipe(recipe_text_of(recipe)?);
        }
        let policy = policy_of(py, id_type)?;
        let reporter = Reporter::new(progress)?;
        // What cannot be built is refused here, not after the records were made.
        let probe = options.clone();
        let probed = path.clone();
        run_shared(py, &reporter, &shared, move |_| {
            drop(fpstore::Builder::with_options(probed, probe)?);
            Ok(())
        })?;
        let state = Mutex::new(State::Fresh(Box::new(options), policy));
        Ok(Builder { path, reporter, shared, state })
    }

    /// Adds fingerprints, with as many ids or none. Or an Arrow stream with the columns
    /// `fingerprint` and `id`, or an iterator over batches, each an array or a tuple of
    /// fingerprints and ids. Returns the number of records.
    #[pyo3(signature = (fingerprints, ids=None))]
    pub(crate) fn add(
        &self,
        py: Python<'_>,
        fingerprints: &Bound<'_, PyAny>,
        ids: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<usize> {
        let mut batches = Batches::of(fingerprints, ids)?;
        let mut count = 0;
        while let Some(batch) = batches.next(py)? {
            count += self.take(py, batch)?;
        }
        Ok(count)
    }

    /// Sorts, writes and publishes the store, and opens it.
    pub(crate) fn finish(&self, py: Python<'_>) -> PyResult<Store> {
        let builder = self.begun(None)?;
        *self.state() = State::Ended("is finished");
        let finished = run_shared(py, &self.reporter, &self.shared, move |_| Ok(builder.finish()?));
        Ok(Store::new(finished?))
    }

    /// Forgets everything; makes nothing.
    fn close(&self) {
        *self.state() = State::Ended("is closed");
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (kind, value, trace, /))]
    fn __exit__(
        &self,
        py: Python<'_>,
        kind: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
        trace: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let _ = (value, trace);
        let is_ended = matches!(*self.state(), State::Ended(_));
        if kind.is_none() && !is_ended {
            self.finish(py)?;
        }
        self.close();
        Ok(())
    }

    fn __repr__(&self) -> String {
        let count = match &*self.state() {
            State::Fresh(..) => "nothing yet".to_owned(),
            State::Begun(builder, _) => format!("{} records", builder.record_count()),
            State::Ended(why) => (*why).to_owned(),
        };
        format!("<fpstore.Builder '{}': {count}>", self.path.display())
    }
}

/// Makes a store of fingerprints, and ids if there are any. The options are those of `Builder`.
///
/// >>> import numpy as np
/// >>> made = fpstore.build(folder / "made.fps", np.array([3, 5], dtype=np.uint64), [30, 50])
/// >>> made.query(3, k=0)
/// [Match(fingerprint=3, distance=0, ids=[30])]
#[pyfunction]
#[pyo3(signature = (
    path, fingerprints, ids=None, *, k=3, scheme=None, budget=None, label="", recipe=None,
    id_type="auto", replace=false, threads=None, memory=None, temp_dir=None, wait=0.0,
    progress=None
))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
pub(crate) fn build(
    py: Python<'_>,
    path: PathBuf,
    fingerprints: &Bound<'_, PyAny>,
    ids: Option<&Bound<'_, PyAny>>,
    k: i64,
    scheme: Option<&str>,
    budget: Option<&str>,
    label: &str,
    recipe: Option<&Bound<'_, PyAny>>,
    id_type: &str,
    replace: bool,
    threads: Option<i64>,
    memory: Option<i64>,
    temp_dir: Option<PathBuf>,
    wait: Option<f64>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Store> {
    let builder = Builder::new(
        py, path, k, scheme, budget, label, recipe, id_type, replace, threads, memory, temp_dir,
        wait, progress,
    )?;
    builder.add(py, fingerprints, ids)?;
    builder.finish(py)
}
