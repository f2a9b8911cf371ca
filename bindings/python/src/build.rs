//! Making stores: the class `Builder` and the function `build`.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fpstore::{BuildOptions, IdRef};
use pyo3::prelude::*;

use crate::errors::{Failure, input_error, state_error};
use crate::id_rule::IdRule;
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
/// `"int"` or `"str"` makes ids of that kind; with `"auto"` the first ones decide, and texts beside
/// numbers are refused. A record without id beside one with the same fingerprint and an id is the
/// same record. `replace` lets an existing store be replaced, which answers as before until the new
/// one is whole. `wait` is how many seconds to wait for another process that writes, `None` for as
/// long as it takes.
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
    Fresh(Box<BuildOptions>, IdRule),
    Begun(Box<fpstore::Builder>, IdRule),
    /// A thread adds records or finishes.
    Used,
    Failed,
    Ended(&'static str),
}

impl State {
    fn check_usable(&self) -> PyResult<()> {
        match self {
            State::Fresh(..) | State::Begun(..) => Ok(()),
            State::Used => Err(used()),
            State::Failed => Err(failed()),
            State::Ended(why) => Err(state_error(format!("the builder {why}"))),
        }
    }
}

fn failed() -> PyErr {
    state_error("the builder failed before, and made nothing")
}

fn used() -> PyErr {
    state_error("the builder is being used by another thread")
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

    /// The builder for some ids, begun if it is fresh, and the rule for later ones. The builder is
    /// used from then on.
    fn begun(&self, ids: Option<&Ids>) -> PyResult<(Box<fpstore::Builder>, IdRule)> {
        let rule = {
            let state = self.state();
            state.check_usable()?;
            match &*state {
                // The first ids are of the kind that they make.
                State::Fresh(_, rule) => rule.after(ids),
                State::Begun(_, rule) => *rule,
                _ => return Err(used()),
            }
        };
        // What makes errors of Python runs without the lock: Python may clean up meanwhile.
        rule.check(ids)?;
        let state = std::mem::replace(&mut *self.state(), State::Used);
        match state {
            State::Fresh(options, _) => {
                let (options, path) = (options.ids(rule.policy()), self.path.clone());
                let begun = held(|| Ok(fpstore::Builder::with_options(path, options)?));
                if begun.is_err() {
                    *self.state() = State::Failed;
                }
                Ok((Box::new(begun?), rule))
            }
            State::Begun(builder, _) => Ok((builder, rule.after(ids))),
            other => {
                *self.state() = other;
                Err(used())
            }
        }
    }

    fn take(&self, py: Python<'_>, batch: Batch) -> PyResult<usize> {
        if batch.fingerprints.is_empty() {
            // No id, so nothing that says of which kind ids are.
            self.state().check_usable()?;
            return Ok(0);
        }
        let (mut builder, rule) = self.begun(batch.ids.as_ref())?;
        let count = batch.fingerprints.len();
        let pushed = run_shared(py, &self.reporter, &self.shared, move |shared| {
            push_all(&batch, shared, |fingerprint, id| match id {
                Some(id) => builder.push(fingerprint, id),
                None => builder.push_bare(fingerprint),
            })?;
            Ok(builder)
        });
        let mut state = self.state();
        let is_closed = !matches!(*state, State::Used);
        match pushed {
            Ok(builder) if !is_closed => {
                *state = State::Begun(builder, rule);
                Ok(count)
            }
            Ok(_) => Err(state_error("the builder was closed meanwhile, and made nothing")),
            Err(error) => {
                if !is_closed {
                    *state = State::Failed;
                }
                Err(error)
            }
        }
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
        let rule = IdRule::named(py, id_type)?;
        let reporter = Reporter::new(progress)?;
        // What cannot be built is refused here, not after the records were made.
        let probe = options.clone();
        let probed = path.clone();
        run_shared(py, &reporter, &shared, move |_| {
            drop(fpstore::Builder::with_options(probed, probe)?);
            Ok(())
        })?;
        let state = Mutex::new(State::Fresh(Box::new(options), rule));
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
        let (builder, _) = self.begun(None)?;
        let finished = run_shared(py, &self.reporter, &self.shared, move |_| Ok(builder.finish()?));
        let ended = if finished.is_ok() { State::Ended("is finished") } else { State::Failed };
        *self.state() = ended;
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
        let is_usable = self.state().check_usable();
        let is_closed = matches!(*self.state(), State::Ended(_));
        if kind.is_none() && is_usable.is_ok() {
            self.finish(py)?;
        }
        self.close();
        // A store that was not made must not pass for one that was.
        if kind.is_none() && !is_closed { is_usable } else { Ok(()) }
    }

    fn __repr__(&self) -> String {
        let count = match &*self.state() {
            State::Fresh(..) => "nothing yet".to_owned(),
            State::Begun(builder, _) => format!("{} records", builder.record_count()),
            State::Used => "working".to_owned(),
            State::Failed => "failed".to_owned(),
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
