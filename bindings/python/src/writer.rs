//! The class `Writer`, which changes stores, and the function `export`, which copies segments.

use std::path::PathBuf;
use std::sync::Arc;

use fpstore::options::MAX_RATE;
use fpstore::writer::{
    CheckedWriter, Compaction, Deleted, Expiry, NewRecord, export as export_store, export_linked,
};
use fpstore::{Error, Fingerprint, IdRef, Recipe, WriterOptions};
use fpstore_text::TextHasher;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::adding::{Adder, Adding, add};
use crate::answer_columns::{common_id_kind, id_kind};
use crate::checked::CheckedRows;
use crate::errors::{Failure, chained, input_error};
use crate::id_rule::IdRule;
use crate::input::arguments::{path, path_or_none, paths, text, text_or_none};
use crate::input::batches::Batches;
use crate::input::fingerprints;
use crate::input::ids::{self, Ids};
use crate::input::whole::{Bytes, Whole};
use crate::lent::{Lent, Words};
use crate::options::{Limits, choice, count, distance_of, wait_of};
use crate::recipes::common;
use crate::rows::Rows;
use crate::store::info::segment_info;
use crate::store::{Store, one_store};
use crate::text::{hasher_of, recipe_text_of};
use crate::tuple_class::answer;
use crate::work::{Reporter, Shared, run_change, run_shared};

/// Changes a store. Only one writer can be open for a store; readers see each change after a
/// refresh.
///
/// Leaving a `with` block commits the added records and merges small segments; leaving it with an
/// exception discards uncommitted records.
///
/// Parameters
/// ----------
/// path : path
///     The directory of the store.
/// label : str, optional
///     The label of new segments, by which they can expire.
/// recipe : Recipe or str, optional
///     The recipe of the store, given with the word lists and tables that it needs to hash
///     documents.
/// id_type : str, default "auto"
///     By default new ids must have the kind of the ids in the store; `"int"` or `"str"` converts
///     them.
/// compact : bool, default True
///     Whether small segments are merged after a commit.
#[doc = parameters!(max_rate threads memory temp_dir wait progress)]
///
/// Raises
/// ------
/// LockedError
///     Another process or writer is changing the store.
///
/// Examples
/// --------
/// >>> made = fpstore.build(folder / "grows.fps", [1], ["one"])
/// >>> with fpstore.Writer(folder / "grows.fps") as writer:
/// ...     writer.add([2], ["two"])
/// ...     writer.delete_ids(["one"]).found
/// 1
/// 1
/// >>> made.refresh(), len(made)
/// (True, 1)
#[pyclass(frozen, module = "fpstore")]
pub(crate) struct Writer(Adder<Open>);

/// The name of a writer in messages.
const WORDS: Words = Words { noun: "writer", loss: "records that were not committed are lost" };

/// An open writer of the Rust crate, with its rule for ids.
struct Open {
    checked: CheckedWriter,
    rule: IdRule,
}

impl Adding for Open {
    type Target = fpstore::Writer;

    fn admit(&mut self, ids: Option<&Ids>) -> Result<(), Failure> {
        self.rule.check(ids)?;
        self.rule = self.rule.after(ids);
        Ok(())
    }

    fn agree(&mut self, recipe: Recipe) -> Result<(), Failure> {
        common(self.checked.writer()?.store().recipe(), Some(recipe)).map(drop)
    }

    fn hasher(&mut self, recipe: Option<&Bound<'_, PyAny>>) -> Result<(TextHasher, u8), Failure> {
        let store = self.checked.writer()?.store();
        Ok((hasher_of(recipe, Some(store))?, store.sketch_len()))
    }

    fn target(&mut self) -> Result<&mut fpstore::Writer, Failure> {
        Ok(self.checked.writer()?)
    }

    fn push(
        target: &mut fpstore::Writer,
        fingerprint: Fingerprint,
        id: Option<IdRef<'_>>,
        sketch: &[u8],
    ) -> fpstore::Result<()> {
        match id {
            Some(id) => target.push_sketched(fingerprint, id, sketch),
            None => target.push_bare(fingerprint),
        }
    }
}

impl Open {
    /// The number of uncommitted records, both of `add` and of `check_and_add`.
    fn pending_count(&mut self) -> u64 {
        let unchecked = self.checked.writer().map_or(0, |writer| writer.pending_count());
        self.checked.pending().len() as u64 + unchecked
    }

    /// Commits added records, so that a deletion finds them. In a dry run, uncommitted records are
    /// an error.
    fn commit_pending(&mut self, dry_run: bool) -> Result<&mut fpstore::Writer, Failure> {
        if self.pending_count() > 0 {
            if dry_run {
                let message = "added records are not committed yet and cannot be counted; call \
                               commit() first";
                return Err(Failure::Input(message.into()));
            }
            self.checked.commit()?;
        }
        self.target()
    }
}

impl Writer {
    /// Checks and adds all batches, or adds nothing.
    fn check_batches<'py>(
        &self,
        py: Python<'py>,
        open: &mut Open,
        mut batches: Batches<'py>,
        k: Option<u32>,
    ) -> PyResult<Rows> {
        let lent = &self.0.lent;
        let (k, kept) = lent.change_taken(py, open, move |open, _| {
            // Records of `add` are committed first, so that the comparison finds them.
            if open.target()?.pending_count() > 0 {
                open.checked.commit()?;
            }
            let store = open.target()?.store();
            Ok((k.unwrap_or(store.tuned_k()), id_kind(store)))
        })?;
        let (before, rule) = (open.checked.pending().len(), open.rule);
        let mut rows = None;
        let mut check = || -> PyResult<()> {
            while let Some(batch) = batches.next(py)? {
                open.accept(&batch)?;
                let ids = common_id_kind([kept, open.rule.kind()]);
                let rows = rows.get_or_insert_with(|| CheckedRows::new(ids));
                lent.run_taken(py, open, move |open, shared| {
                    rows.check_and_add(&mut open.checked, &batch, k, shared)
                })?;
            }
            Ok(())
        };
        let done = check();
        if done.is_err() {
            open.checked.forget(before..);
            open.rule = rule;
        }
        done?;
        Ok(rows.unwrap_or_else(|| CheckedRows::new(kept)).finish()?)
    }

    /// Replaces the stored records that have the ids of all batches. After an error nothing is
    /// replaced.
    fn replace_batches<'py>(
        &self,
        py: Python<'py>,
        open: &mut Open,
        mut batches: Batches<'py>,
    ) -> PyResult<Deleted> {
        let rule = open.rule;
        let mut records = Vec::new();
        let mut take = || -> PyResult<()> {
            while let Some(batch) = batches.next(py)? {
                open.accept(&batch)?;
                let id = |at: usize| batch.ids.as_ref().map(|ids| ids.get(at).to_id());
                let values = batch.fingerprints.iter().enumerate();
                records.extend(values.map(|(at, &value)| NewRecord::new(value, id(at))));
            }
            Ok(())
        };
        if let Err(error) = take() {
            open.rule = rule;
            return Err(error);
        }
        self.0.lent.change_taken(py, open, move |open, _| {
            let writer = open.commit_pending(false)?;
            Ok(writer.replace(&records)?.replaced)
        })
    }
}

fn deleted<'py>(py: Python<'py>, done: &Deleted) -> PyResult<Bound<'py, PyAny>> {
    answer!(py, "Deleted", done.wanted, done.found, done.fingerprints, done.ids)
}

#[pymethods]
impl Writer {
    #[new]
    #[pyo3(signature = (
        path, *, label="", recipe=None, id_type="auto", compact=true, max_rate=None, threads=None,
        memory=None, temp_dir=None, wait=0.0, progress=None
    ))]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = path)] path: PathBuf,
        #[pyo3(from_py_with = text)] label: &str,
        recipe: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = text)] id_type: &str,
        compact: bool,
        max_rate: Option<Bytes>,
        threads: Option<Whole>,
        memory: Option<Bytes>,
        #[pyo3(from_py_with = path_or_none)] temp_dir: Option<PathBuf>,
        wait: Option<f64>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let limits = Limits::new(py, threads, memory, temp_dir)?;
        let shared = Arc::new(Shared::default());
        let reporter = Reporter::new(progress)?.phases(5);
        let asked = IdRule::named(py, id_type)?;
        let given = recipe.map(|recipe| recipe.clone().unbind());
        let recipe = recipe.map(recipe_text_of).transpose()?;
        let options = WriterOptions::default()
            .label(label)
            .recipe(recipe)
            .compact(compact)
            .max_rate(count(py, &MAX_RATE, max_rate)?)
            .wait(wait_of(py, wait)?)
            .resources(limits.given(&shared));
        let at = path.clone();
        let open = run_shared(py, &reporter, &shared, move |_| {
            let kept = fpstore::Store::open(&at).map(|store| id_kind(&store))?;
            // New ids have the kind of the ids in the store.
            let rule = asked.beside(kept);
            let mut checked = CheckedWriter::new(at, options.ids(rule.policy()));
            checked.writer()?;
            Ok(Open { checked, rule })
        })?;
        let lent = Lent::new(WORDS, reporter, shared, open);
        let lent = lent.noticed(|open| open.pending_count() > 0);
        Ok(Writer(Adder { path, recipe: given, limits, lent }))
    }

    /// Adds records. They are part of the store after the next commit.
    ///
    /// Parameters
    /// ----------
    /// fingerprints, ids
    ///     The same as for `Builder.add`.
    ///
    /// Returns
    /// -------
    /// int
    ///     The number of records.
    #[pyo3(signature = (fingerprints, ids=None))]
    fn add(
        &self,
        fingerprints: &Bound<'_, PyAny>,
        ids: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<usize> {
        add(&self.0.lent, fingerprints, ids)
    }

    /// Adds documents: the recipe of the store makes their fingerprints.
    ///
    /// Parameters
    /// ----------
    /// inputs : Documents, path, list of paths, or table
    ///
    /// Returns
    /// -------
    /// fpstore.types.DocumentsAdded
    fn add_documents<'py>(&self, inputs: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.0.add_documents(inputs)
    }

    /// Adds each record without a near record in the store, among uncommitted records, or earlier
    /// in this call. Added records are durable after a commit. After a failed commit they are still
    /// pending, and the next commit tries again. If this call fails, it adds nothing.
    ///
    /// Parameters
    /// ----------
    /// fingerprints, ids
    ///     The same as for `Builder.add`.
    #[doc = parameters!(k_store)]
    ///
    /// Returns
    /// -------
    /// Rows
    ///     For each record whether it was `added`, and if not, the nearest record: `near`,
    ///     `near_id` and `distance`.
    ///
    /// Examples
    /// --------
    /// >>> made = fpstore.build(folder / "checked.fps", [])
    /// >>> with fpstore.Writer(made.path) as writer:
    /// ...     rows = writer.check_and_add([5, 4, 0xFF00], ["a", "b", "c"], k=1)
    /// >>> rows["added"]
    /// array([ True, False,  True])
    /// >>> rows.to_pylist()[1]
    /// (False, 5, 'a', 1)
    #[pyo3(signature = (fingerprints, ids=None, k=None))]
    fn check_and_add(
        &self,
        py: Python<'_>,
        fingerprints: &Bound<'_, PyAny>,
        ids: Option<&Bound<'_, PyAny>>,
        k: Option<Whole>,
    ) -> PyResult<Rows> {
        let k = k.map(|k| distance_of(py, k)).transpose()?;
        let batches = Batches::of(fingerprints, ids)?;
        let mut open = self.0.lent.take(py)?;
        let rows = self.check_batches(py, &mut open, batches, k);
        self.0.lent.give_back(open)?;
        rows
    }

    /// Makes one segment of the added records: from then on they are durable, and readers find
    /// them. Then merges segments if `compact`.
    ///
    /// Like all calls that change a store, a commit returns its result even if Ctrl-C or an error
    /// of `progress` came too late to stop it: the interrupt is raised right after the call, the
    /// error goes to `sys.unraisablehook`. After an error other than `InEffectError` the store is
    /// unchanged, and the records of `add` are discarded: add them again.
    ///
    /// Returns
    /// -------
    /// fpstore.types.Committed
    ///     Its field `unmerged` is the reason, if merging failed.
    ///
    /// Raises
    /// ------
    /// InEffectError
    ///     The change took effect although an error followed.
    fn commit<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let done = self.0.lent.run(py, |open, _| Ok(open.checked.commit()?))?;
        let report = &done.report;
        let unmerged = done.unmerged.as_deref().map(|error| chained(error));
        let (records, fingerprints) = (report.record_count, report.fingerprint_count);
        answer!(py, "Committed", done.generation, done.segment, records, fingerprints, unmerged)
    }

    /// Deletes the stored records with the given ids and adds these records, in one step and
    /// durably. Commits added records first. Reads all ids of the store, so replace many records in
    /// one call.
    ///
    /// Parameters
    /// ----------
    /// fingerprints, ids
    ///     The same as for `Builder.add`. Of several records with one id, the last record is kept.
    ///
    /// Returns
    /// -------
    /// fpstore.types.Deleted
    ///     The counts of the deleted records.
    ///
    /// Examples
    /// --------
    /// >>> made = fpstore.build(folder / "changing.fps", [5, 6], ["a", "b"])
    /// >>> with fpstore.Writer(made.path) as writer:
    /// ...     done = writer.replace([0xFF00, 7], ["a", "c"])
    /// >>> done.found
    /// 1
    /// >>> made.refresh(), [list(found) for found in made.find(["a", "b", "c"])]
    /// (True, [[65280], [6], [7]])
    fn replace<'py>(
        &self,
        py: Python<'py>,
        fingerprints: &Bound<'py, PyAny>,
        ids: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let batches = Batches::of(fingerprints, Some(ids))?;
        let mut open = self.0.lent.take(py)?;
        let done = self.replace_batches(py, &mut open, batches);
        self.0.lent.give_back(open)?;
        deleted(py, &done?)
    }

    /// Deletes ids from all segments. Commits added records first.
    ///
    /// Parameters
    /// ----------
    /// ids : array or list
    #[doc = parameters!(dry_run)]
    ///
    /// Returns
    /// -------
    /// fpstore.types.Deleted
    #[pyo3(signature = (ids, *, dry_run=false))]
    fn delete_ids<'py>(
        &self,
        py: Python<'py>,
        ids: &Bound<'py, PyAny>,
        dry_run: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let ids = ids::many(ids)?;
        let done = self.0.lent.run(py, move |open, _| {
            let writer = open.commit_pending(dry_run)?;
            let ids = ids.iter();
            Ok(if dry_run { writer.would_delete_ids(ids)? } else { writer.delete_ids(ids)? })
        })?;
        deleted(py, &done)
    }

    /// Deletes fingerprints with all their ids. Commits added records first.
    ///
    /// Parameters
    /// ----------
    /// fingerprints : array, list or Column
    #[doc = parameters!(dry_run)]
    ///
    /// Returns
    /// -------
    /// fpstore.types.Deleted
    #[pyo3(signature = (fingerprints, *, dry_run=false))]
    fn delete_fingerprints<'py>(
        &self,
        py: Python<'py>,
        fingerprints: &Bound<'py, PyAny>,
        dry_run: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let values = fingerprints::many(fingerprints)?;
        let done = self.0.lent.run(py, move |open, _| {
            let writer = open.commit_pending(dry_run)?;
            Ok(if dry_run {
                writer.would_delete_fingerprints(&values)?
            } else {
                writer.delete_fingerprints(&values)?
            })
        })?;
        deleted(py, &done)
    }

    /// Removes segments with expired labels.
    ///
    /// Parameters
    /// ----------
    #[doc = parameters!(expire dry_run)]
    ///
    /// Returns
    /// -------
    /// list of fpstore.types.SegmentInfo
    #[pyo3(signature = (before=None, *, older_than=None, all=false, dry_run=false))]
    fn expire<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = text_or_none)] before: Option<&str>,
        #[pyo3(from_py_with = text_or_none)] older_than: Option<&str>,
        all: bool,
        dry_run: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let expiry = match (before, older_than) {
            (Some(label), None) => Expiry::before(label),
            (None, Some(age)) => Expiry::older_than(age).map_err(Failure::from)?,
            _ => return Err(input_error(py, "give either before or older_than")),
        };
        let expiry = expiry.all(all);
        let done = self.0.lent.run(py, |open, _| {
            let writer = open.target()?;
            Ok(if dry_run { writer.store().expiring(&expiry)? } else { writer.expire(&expiry)? })
        })?;
        let segments: PyResult<Vec<_>> =
            done.segments.iter().map(|segment| segment_info(py, segment)).collect();
        PyList::new(py, segments?)
    }

    /// Merges segments of the store.
    ///
    /// Parameters
    /// ----------
    #[doc = parameters!(what)]
    ///
    /// Returns
    /// -------
    /// fpstore.types.Compacted
    #[pyo3(signature = (what="tier"))]
    fn compact<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = text)] what: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let what: Compaction = choice(py, "what", what)?;
        let done = self.0.lent.run(py, |open, _| Ok(open.target()?.compact(&what)?))?;
        answer!(
            py,
            "Compacted",
            done.merged,
            done.made,
            done.read_len,
            done.written_len,
            done.deleted_fingerprints,
            done.deleted_ids
        )
    }

    /// Copies all segments of other stores, or single segment files, into the store in one step,
    /// after checking them.
    ///
    /// Parameters
    /// ----------
    /// sources : list of paths
    ///
    /// Returns
    /// -------
    /// fpstore.types.Imported
    fn import_<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = paths)] sources: Vec<PathBuf>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let done = self.0.lent.run(py, |open, _| Ok(open.target()?.import(&sources)?))?;
        answer!(py, "Imported", done.segments, done.fingerprints, done.file_len)
    }

    /// The number of uncommitted records.
    #[getter]
    fn pending(&self) -> PyResult<u64> {
        self.0.lent.look(Open::pending_count)
    }

    /// The open store, with all commits so far.
    #[getter]
    fn store(&self) -> PyResult<Store> {
        let store = self.0.lent.look(|open| open.target().map(|writer| writer.store().clone()))?;
        Ok(Store::new(store?))
    }

    /// Commits, merges if `compact`, closes the writer, and opens the store.
    ///
    /// Returns
    /// -------
    /// Store
    ///
    /// Raises
    /// ------
    /// UnmergedError
    ///     The records were added, but merging failed.
    fn finish(&self, py: Python<'_>) -> PyResult<Store> {
        let path = self.0.path.clone();
        let finish = move |open: Open, _: &_| match open.checked.finish() {
            // The records are added; the next writer continues merging.
            Err(Error::Unmerged { source }) if matches!(*source, Error::Interrupted) => {
                fpstore::Store::open(path).map_err(|_| Error::Unmerged { source }.into())
            }
            finished => Ok(finished?),
        };
        Ok(Store::new(self.0.lent.finish(py, "is closed", finish)?))
    }

    /// Closes the writer. Uncommitted records are discarded.
    fn close(&self) {
        self.0.lent.end("is closed");
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*raised))]
    fn __exit__(&self, py: Python<'_>, raised: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.0.lent.leave(raised, || self.finish(py).map(drop))
    }

    fn __repr__(&self) -> String {
        let state = self.0.lent.shown(|open| format!("{} records pending", open.pending_count()));
        format!("<fpstore.Writer '{}': {state}>", self.0.path.display())
    }
}

/// Copies a store, or one of its segments, to a new directory.
///
/// Parameters
/// ----------
/// store : Store or path
/// path : path
///     The new directory.
/// segment_number : int, optional
///     The number of the segment; by default all segments are copied.
/// hard_link : bool, default False
///     Whether the files are linked instead of copied: this takes milliseconds and no disk space,
///     for a job that must read one snapshot while the store changes. Both directories must be on
///     one file system.
///
/// Returns
/// -------
/// Store
///
/// Examples
/// --------
/// >>> len(fpstore.export(store, folder / "copy.fps"))
/// 3
/// >>> len(fpstore.export(store, folder / "tonight.fps", hard_link=True))
/// 3
#[pyfunction]
#[pyo3(signature = (store, path, *, segment_number=None, hard_link=false))]
pub(crate) fn export(
    py: Python<'_>,
    #[pyo3(from_py_with = one_store)] store: fpstore::Store,
    #[pyo3(from_py_with = path)] path: PathBuf,
    segment_number: Option<u64>,
    hard_link: bool,
) -> PyResult<Store> {
    let made = run_change(py, &Reporter::default(), &Arc::default(), |_| {
        let done = match hard_link {
            true => export_linked(&store, &path, segment_number)?,
            false => export_store(&store, &path, segment_number)?,
        };
        Ok(fpstore::Store::open(done.path)?)
    })?;
    Ok(Store::new(made))
}
