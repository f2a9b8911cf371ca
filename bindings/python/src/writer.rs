//! Changing stores: the class `Writer`, and copies of segments.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fpstore::WriterOptions;
use fpstore::writer::{Compaction, Deleted, export as export_store, export_linked};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::build::{push_all, wait_of};
use crate::columns::id_kind;
use crate::errors::{Failure, input_error, state_error};
use crate::id_rule::IdRule;
use crate::input::batches::{Batch, Batches};
use crate::input::{fingerprints, ids};
use crate::options::{Limits, count};
use crate::store::{Store, segment_info};
use crate::text::recipe_text_of;
use crate::work::{Reporter, Shared, run, run_shared};

/// The one who may change a store; readers see each change when they refresh.
///
/// Leaving `with` commits what was added and merges small segments if `compact`; leaving it with an
/// exception forgets what was added and not committed. New ids are of the kind that the store has:
/// texts beside numbers are refused unless `id_type` says what they become. New segments get the
/// `label`, by which they can expire. `max_rate` limits the bytes a second of merges, `wait` is as for `Builder`.
///
/// >>> made = fpstore.build(folder / "grows.fps", [1], ["one"])
/// >>> with fpstore.Writer(folder / "grows.fps") as writer:
/// ...     writer.add([2], ["two"])
/// ...     writer.delete_ids(["one"]).found
/// 1
/// 1
/// >>> made.refresh(), len(made)
/// (True, 1)
#[pyclass(frozen, module = "fpstore")]
pub(crate) struct Writer {
    path: PathBuf,
    reporter: Reporter,
    shared: Arc<Shared>,
    rule: Mutex<IdRule>,
    state: Mutex<State>,
}

enum State {
    Open(Box<fpstore::Writer>),
    Used,
    /// Some records of a batch are pending. A commit would take part of it.
    Failed,
    Closed,
}

impl State {
    fn check_usable(&self) -> PyResult<()> {
        let message = match self {
            State::Open(_) => return Ok(()),
            State::Used => "another thread is using the writer",
            State::Failed => "the writer failed before; what was not committed then is forgotten",
            State::Closed => "the writer is closed",
        };
        Err(state_error(message))
    }
}

impl Writer {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn rule(&self) -> MutexGuard<'_, IdRule> {
        self.rule.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_writer(&self) -> PyResult<Box<fpstore::Writer>> {
        let mut state = self.state();
        state.check_usable()?;
        match std::mem::replace(&mut *state, State::Used) {
            State::Open(writer) => Ok(writer),
            other => {
                *state = other;
                Err(state_error("the writer is closed"))
            }
        }
    }

    /// Gives the writer back, unless it was closed meanwhile: then it is dropped, and with it its
    /// lock. Returns whether it is still open.
    fn give_back(&self, writer: Box<fpstore::Writer>) -> bool {
        let mut state = self.state();
        let is_open = matches!(*state, State::Used);
        if is_open {
            *state = State::Open(writer);
        }
        is_open
    }

    /// Lets the writer work without the interpreter.
    fn with_writer<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut fpstore::Writer, &Shared) -> Result<T, Failure> + Send,
    ) -> PyResult<T> {
        let mut writer = self.take_writer()?;
        let of_work = &mut writer;
        let done =
            run_shared(py, &self.reporter, &self.shared, move |shared| work(of_work, shared));
        self.give_back(writer);
        done
    }

    fn take(&self, py: Python<'_>, batch: Batch) -> PyResult<usize> {
        let count = batch.fingerprints.len();
        if count == 0 {
            self.state().check_usable()?;
            return Ok(0);
        }
        let mut writer = self.take_writer()?;
        let rule = *self.rule();
        if let Err(failure) = rule.check(batch.ids.as_ref()) {
            self.give_back(writer);
            return Err(failure.into());
        }
        *self.rule() = rule.after(batch.ids.as_ref());
        let of_work = &mut writer;
        let pushed = run_shared(py, &self.reporter, &self.shared, move |shared| {
            push_all(&batch, shared, |fingerprint, id| match id {
                Some(id) => of_work.push(fingerprint, id),
                None => of_work.push_bare(fingerprint),
            })
        });
        if let Err(error) = pushed {
            let mut state = self.state();
            if matches!(*state, State::Used) {
                *state = State::Failed;
            }
            return Err(error);
        }
        if !self.give_back(writer) {
            let message = "the writer was closed meanwhile; what was not committed is forgotten";
            return Err(state_error(message));
        }
        Ok(count)
    }

    /// Makes what was added findable before something is deleted.
    fn commit_pending(writer: &mut fpstore::Writer, dry_run: bool) -> Result<(), Failure> {
        if writer.pending_count() == 0 {
            return Ok(());
        }
        if dry_run {
            let message = "records that were added are not committed, so they cannot be counted; \
                           call commit() first";
            return Err(Failure::Input(message.into()));
        }
        writer.commit()?;
        Ok(())
    }
}

fn deleted<'py>(py: Python<'py>, done: &Deleted) -> PyResult<Bound<'py, PyAny>> {
    let fields = (done.wanted, done.found, done.fingerprints, done.ids);
    py.import("fpstore._types")?.getattr("Deleted")?.call1(fields)
}

#[pymethods]
impl Writer {
    #[new]
    #[pyo3(signature = (
        path, *, label="", recipe=None, id_type="auto", compact=true, max_rate=None, threads=None,
        memory=None, temp_dir=None, wait=0.0, progress=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        label: &str,
        recipe: Option<&Bound<'_, PyAny>>,
        id_type: &str,
        compact: bool,
        max_rate: Option<i64>,
        threads: Option<i64>,
        memory: Option<i64>,
        temp_dir: Option<PathBuf>,
        wait: Option<f64>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let limits = Limits::new(py, threads, memory, temp_dir)?;
        let shared = Arc::new(Shared::default());
        let reporter = Reporter::new(progress)?;
        let asked = IdRule::named(py, id_type)?;
        let recipe = recipe.map(recipe_text_of).transpose()?;
        let options = WriterOptions::default()
            .label(label)
            .recipe(recipe)
            .compact(compact)
            .max_rate(count(py, "max_rate", max_rate)?)
            .threads(limits.threads)
            .memory(limits.memory)
            .temp_dir(limits.temp_dir)
            .wait(wait_of(py, wait)?)
            .observer(shared.observer());
        let at = path.clone();
        let (writer, rule) = run_shared(py, &reporter, &shared, move |_| {
            let kept = fpstore::Store::open(&at).map(|store| id_kind(&store))?;
            // New ids are of the kind that the store has.
            let rule = asked.beside(kept);
            Ok((fpstore::Writer::with_options(at, options.ids(rule.policy()))?, rule))
        })?;
        let state = Mutex::new(State::Open(Box::new(writer)));
        Ok(Writer { path, reporter, shared, rule: Mutex::new(rule), state })
    }

    /// Adds records, as `Builder.add`. They are in the store once they are committed.
    #[pyo3(signature = (fingerprints, ids=None))]
    fn add(
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

    /// Makes one segment of the records that were added: from then on they are durable, and readers
    /// find them.
    fn commit<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let done = self.with_writer(py, |writer, _| Ok(writer.commit()?))?;
        let report = &done.report;
        let fields = (done.generation, done.segment, report.record_count, report.fingerprint_count);
        py.import("fpstore._types")?.getattr("Committed")?.call1(fields)
    }

    /// Deletes ids, wherever they are, after a commit of what was added. With `dry_run` only counts
    /// what would be deleted.
    #[pyo3(signature = (ids, *, dry_run=false))]
    fn delete_ids<'py>(
        &self,
        py: Python<'py>,
        ids: &Bound<'py, PyAny>,
        dry_run: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let ids = ids::many(ids)?;
        let done = self.with_writer(py, move |writer, _| {
            Writer::commit_pending(writer, dry_run)?;
            let ids = ids.iter();
            Ok(if dry_run { writer.would_delete_ids(ids)? } else { writer.delete_ids(ids)? })
        })?;
        deleted(py, &done)
    }

    /// Deletes fingerprints with all their ids, after a commit of what was added. With `dry_run` only
    /// counts what would be deleted.
    #[pyo3(signature = (fingerprints, *, dry_run=false))]
    fn delete_fingerprints<'py>(
        &self,
        py: Python<'py>,
        fingerprints: &Bound<'py, PyAny>,
        dry_run: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let values = fingerprints::many(fingerprints)?;
        let done = self.with_writer(py, move |writer, _| {
            Writer::commit_pending(writer, dry_run)?;
            Ok(if dry_run {
                writer.would_delete_fingerprints(&values)?
            } else {
                writer.delete_fingerprints(&values)?
            })
        })?;
        deleted(py, &done)
    }

    /// Removes the segments whose label sorts before this one, such as `2026-09` before `2026-10`,
    /// and returns them.
    fn expire_before<'py>(&self, py: Python<'py>, label: &str) -> PyResult<Bound<'py, PyList>> {
        let done = self.with_writer(py, |writer, _| Ok(writer.expire_before(label)?))?;
        let segments: PyResult<Vec<_>> =
            done.segments.iter().map(|segment| segment_info(py, segment)).collect();
        PyList::new(py, segments?)
    }

    /// Merges segments: `"tier"` those of similar size, `"all"` all, `"one"` into one.
    #[pyo3(signature = (what="tier"))]
    fn compact<'py>(&self, py: Python<'py>, what: &str) -> PyResult<Bound<'py, PyAny>> {
        let what = match what {
            "tier" => Compaction::Tier,
            "all" => Compaction::All,
            "one" => Compaction::One,
            other => {
                let message = format!("what is 'tier', 'all' or 'one', not '{other}'");
                return Err(input_error(py, message));
            }
        };
        let done = self.with_writer(py, |writer, _| Ok(writer.compact(&what)?))?;
        let fields = (
            done.merged,
            done.made,
            done.read_len,
            done.written_len,
            done.deleted_fingerprints,
            done.deleted_ids,
        );
        py.import("fpstore._types")?.getattr("Compacted")?.call1(fields)
    }

    /// Takes all segments of other stores, or single segment files, in one step. They are copied
    /// and checked.
    fn import_<'py>(&self, py: Python<'py>, sources: Vec<PathBuf>) -> PyResult<Bound<'py, PyAny>> {
        let done = self.with_writer(py, |writer, _| Ok(writer.import(&sources)?))?;
        let fields = (done.segments, done.fingerprints, done.file_len);
        py.import("fpstore._types")?.getattr("Imported")?.call1(fields)
    }

    /// Records that were added and not committed.
    #[getter]
    fn pending(&self) -> PyResult<u64> {
        let state = self.state();
        state.check_usable()?;
        Ok(if let State::Open(writer) = &*state { writer.pending_count() } else { 0 })
    }

    /// The store with all commits so far.
    #[getter]
    fn store(&self) -> PyResult<Store> {
        let state = self.state();
        state.check_usable()?;
        match &*state {
            State::Open(writer) => Ok(Store::new(writer.store().clone())),
            _ => Err(state_error("the writer is closed")),
        }
    }

    /// Commits, merges if `compact`, closes the writer, and opens the store.
    fn finish(&self, py: Python<'_>) -> PyResult<Store> {
        let writer = self.take_writer()?;
        *self.state() = State::Closed;
        let finished = run_shared(py, &self.reporter, &self.shared, move |_| Ok(writer.finish()?));
        Ok(Store::new(finished?))
    }

    /// Closes the writer. What was not committed is forgotten.
    fn close(&self) {
        *self.state() = State::Closed;
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
        let is_closed = matches!(*self.state(), State::Closed);
        if kind.is_none() && is_usable.is_ok() {
            self.finish(py)?;
        }
        self.close();
        // What was not committed must not pass for what was.
        if kind.is_none() && !is_closed { is_usable } else { Ok(()) }
    }

    fn __repr__(&self) -> String {
        let state = match &*self.state() {
            State::Open(writer) => format!("{} records pending", writer.pending_count()),
            State::Used => "working".to_owned(),
            State::Failed => "failed".to_owned(),
            State::Closed => "closed".to_owned(),
        };
        format!("<fpstore.Writer '{}': {state}>", self.path.display())
    }
}

/// Copies a store as it is, or one `segment` of it, to a new directory. With `link` its files get
/// second names instead: a snapshot that takes milliseconds and no space, for a job that must see
/// one state while the store goes on changing. That needs one file system.
///
/// >>> len(fpstore.export(store, folder / "copy.fps"))
/// 3
/// >>> len(fpstore.export(store, folder / "tonight.fps", link=True))
/// 3
#[pyfunction]
#[pyo3(signature = (store, path, *, segment=None, link=false))]
pub(crate) fn export(
    py: Python<'_>,
    store: &Store,
    path: PathBuf,
    segment: Option<u64>,
    link: bool,
) -> PyResult<Store> {
    let from = store.get()?;
    let made = run(py, &Reporter::default(), |_| {
        let done = match link {
            true => export_linked(&from, &path, segment)?,
            false => export_store(&from, &path, segment)?,
        };
        Ok(fpstore::Store::open(done.path)?)
    })?;
    Ok(Store::new(made))
}
