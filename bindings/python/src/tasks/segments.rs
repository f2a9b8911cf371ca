//! Writes segments in tasks, and commits all of them in one step.

use std::path::PathBuf;
use std::sync::Arc;

use fpstore::writer::{CommitOptions, commit as commit_all};
use fpstore::{BuildOptions, Builder, SegmentReceipt};
use pyo3::prelude::*;

use super::receipt;
use crate::adding::add;
use crate::build::{LateBuilder, Tables, WORDS};
use crate::errors::input_error;
use crate::id_rule::IdRule;
use crate::input::arguments::{path, path_or_none, text, text_or_none};
use crate::input::whole::{Whole, budget_or_none, wide, wide_bytes};
use crate::lent::Lent;
use crate::options::{Limits, TASK_MEMORY, wait_of};
use crate::text::recipe_text_of;
use crate::tuple_class::answer;
use crate::work::{Reporter, Shared, run_change};

/// Writes one segment as a file, without a store directory or a lock, for a build whose tasks write
/// segments that are committed together. The same records make the same bytes, so a task that runs
/// twice replaces its file with an equal file. All segments of a store have the same recipe.
///
/// Parameters
/// ----------
/// path : path
///     The segment file.
/// fingerprints, ids
///     The same as for `Builder.add`; batches need not fit into memory together.
/// recipe : Recipe, str or None
///     Required; give `None` for ready-made fingerprints.
/// k, scheme, budget, id_type
///     The same as for `Builder`.
/// replace : bool, default True
///     `False` refuses an existing file.
#[doc = parameters!(task_threads task_memory temp_dir)]
///
/// Returns
/// -------
/// Receipt
///
/// Examples
/// --------
/// >>> part = fpstore.tasks.write_segment(folder / "part-0.fps", [1, 2], ["a", "b"], recipe=None)
/// >>> part.fingerprints, part.ids
/// (2, 2)
#[pyfunction]
#[pyo3(signature = (
    path, fingerprints, ids=None, *, recipe, k=None, scheme=None, budget=None, id_type="auto",
    replace=true, threads=1, memory=TASK_MEMORY, temp_dir=None
))]
pub(crate) fn write_segment<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = path)] path: PathBuf,
    fingerprints: &Bound<'py, PyAny>,
    ids: Option<&Bound<'py, PyAny>>,
    recipe: Option<&Bound<'py, PyAny>>,
    k: Option<Whole>,
    #[pyo3(from_py_with = text_or_none)] scheme: Option<&str>,
    #[pyo3(from_py_with = budget_or_none)] budget: Option<String>,
    #[pyo3(from_py_with = text)] id_type: &str,
    replace: bool,
    #[pyo3(from_py_with = wide)] threads: i128,
    #[pyo3(from_py_with = wide_bytes)] memory: i128,
    #[pyo3(from_py_with = path_or_none)] temp_dir: Option<PathBuf>,
) -> PyResult<Bound<'py, PyAny>> {
    let path = std::path::absolute(&path).unwrap_or(path);
    let limits = Limits::new(py, Some(threads.into()), Some(memory.into()), temp_dir)?;
    let shared = Arc::new(Shared::default());
    let recipe = recipe.map(recipe_text_of).transpose()?;
    let scheme = scheme.map(str::to_owned);
    let tables = Tables { k, scheme, budget };
    let options = BuildOptions::default().replace(replace).resources(limits.given(&shared));
    let begin = move |options| Builder::segment_file(&path, options);
    let rule = IdRule::named(py, id_type)?;
    let late = LateBuilder::new(py, options, recipe, tables, rule, begin)?.with_said_recipe();
    let lent = Lent::new(WORDS, Reporter::default(), shared, late);
    add(&lent, fingerprints, ids)?;
    let finish = |late: LateBuilder, _: &_| Ok(late.into_builder()?.finish_segment()?);
    receipt::to_python(py, lent.finish(py, "is finished", finish)?)
}

/// Adds the segments of `receipts` to the store in one step, or makes a store of them. All segments
/// are checked first: each file must match its receipt, and recipes must agree. A repeated call
/// changes nothing: segments that the store contains are recognized by their digests, and a whole
/// job by its name `run`.
///
/// Parameters
/// ----------
/// store : path
/// receipts : iterable of Receipt, tuple or str
///     Receipts, rows of a data frame with the same fields, or texts.
/// label : str, optional
/// run : str, optional
/// remove : bool, default False
///     Whether the segment files are removed from their old paths, if they are on the file system
///     of the store and were therefore linked into it, not copied.
#[doc = parameters!(wait)]
///
/// Returns
/// -------
/// SegmentsCommitted
///
/// Examples
/// --------
/// >>> parts = [fpstore.tasks.write_segment(folder / f"{n}.fps", [n], recipe=None) for n in (1, 2)]
/// >>> fpstore.tasks.commit(folder / "all.fps", parts, label="2026-11", run="crawl-11").added
/// 2
/// >>> fpstore.tasks.commit(folder / "all.fps", parts, run="crawl-11").known_run
/// True
#[pyfunction]
#[pyo3(signature = (store, receipts, *, label="", run=None, remove=false, wait=0.0))]
pub(crate) fn commit<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = path)] store: PathBuf,
    receipts: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = text)] label: &str,
    #[pyo3(from_py_with = text_or_none)] run: Option<&str>,
    remove: bool,
    wait: Option<f64>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut given: Vec<SegmentReceipt> = Vec::new();
    for (at, item) in receipts.try_iter()?.enumerate() {
        let read = receipt::of_python(&item?);
        let named =
            |error: PyErr| input_error(py, format!("receipt number {at}: {}", error.value(py)));
        given.push(read.map_err(named)?);
    }
    let shared = Arc::new(Shared::default());
    let options = CommitOptions::default()
        .label(label)
        .run(run.map(str::to_owned))
        .remove(remove)
        .wait(wait_of(py, wait)?)
        .observer(shared.observer());
    let done = run_change(py, &Reporter::default(), &shared, move |_| {
        Ok(commit_all(store, &given, &options)?)
    })?;
    answer!(
        py,
        "SegmentsCommitted",
        done.generation,
        done.added,
        done.fingerprints,
        done.file_len,
        done.repeated,
        done.empty,
        done.copied,
        done.known_run,
        done.tables_differ,
    )
}
