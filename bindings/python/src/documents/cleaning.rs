//! The function `clean`: files of documents without near-duplicates.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use fpstore::WriterOptions;
use fpstore::options::{COUNT, PER_CLUSTER};
use fpstore_corpus::{
    Account, Cleaner, DocumentSource, Error, Event, KeepRules, LossLimit, PassageFate, Reasons,
};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use super::given::{Documents, Readable, of_row};
use super::labels::labels_of;
use super::overview::overview_of;
use super::removed::RemovedRows;
use super::rows::rows_of;
use crate::errors::{Failure, chained, input_error, warn};
use crate::input::arguments::{path_or_none, text, text_or_none};
use crate::input::whole::{Bytes, Whole, wide};
use crate::lent::{Lent, Words};
use crate::notebook::Page;
use crate::options::{Limits, checked, distance_of, wait_of};
use crate::store::{Given, stores_or_none};
use crate::text::hasher_of;
use crate::tuple_class::{TYPES, told};
use crate::work::{Reporter, Shared, run_change, run_shared};

/// Copies files of documents without near-duplicates: kept documents are copied byte for byte, as
/// by the command `fpstore clean`. No input is changed. Of a table it makes the same decisions: the
/// answer then has `keep`, a mask of the rows, and `rows`, with the document that each removed row
/// is near.
///
/// `inputs` are `Documents`, a path or paths, or a table such as a data frame. `output` is a
/// folder, or a file for one input file; without it nothing is written. The same call resumes an
/// interrupted job.
///
/// Which documents are near-duplicates:
///
/// - `confirm` is the minimum Jaccard similarity of the features, 0.8 if neither it nor `k` is
///   given. With `k` alone, or with a store without sketches, the fingerprints decide.
/// - `confirm_contains` is the minimum share of the features that the kept document must have, too.
/// - `url_field` is the field of addresses: of one address only the best document is kept.
/// - `pairs` are judged pairs, which override the other rules: a file as `fpstore evaluate` reads
///   it, or a table of two ids and a label.
/// - `judge` is the list of reasons for removal, all or some of `"address,bytes,text,near"`.
///
/// Which documents are kept:
///
/// - `keep` is `"first"`, `"last"`, `"longest"`, `"newest:FIELD"`, `"best:FIELD"` or
///   `"source:A,B"`, or several rules with commas between them; later rules decide ties of earlier
///   ones. `source_field` is the field of sources.
/// - `per_cluster` is the maximum number of documents kept from a cluster.
/// - `target` is the number of documents to keep: the threshold starts at its strictest value and
///   is relaxed, equally for all documents, until this many are left. If the given threshold leaves
///   more, it is an error and nothing is written.
/// - `max_loss` is the maximum share of removed documents, of all, of a file and of a source. If it
///   is exceeded, `TooMuchLostError` is raised before anything is written.
///
/// Outputs:
///
/// - `annotate` removes nothing: each document gets a field of this name, with the id of the
///   document that it duplicates, or null.
/// - `cluster_size` is the name of a field for the number of documents in the original cluster.
/// - `passages` is `"cut"`, `"annotate"` or `"drop:PART"`, the treatment of removed passages in the
///   output, if `Documents` have a `unit`.
/// - `replace` lets outputs be replaced.
///
/// With a `store`, documents near a stored one are removed, and documents near a new one only with
/// `within`. The recipe and `k` are those in the store.
///
/// - `add` adds the kept documents to the store, all or none.
/// - `run` is the name of the job in the store, which prevents adding it twice: a call with a known
///   run changes nothing. Without an `output`, and with `commit`, it raises `KnownRunError`, because
///   all documents would be found in the store.
/// - `commit=False` is the safe order for a table: nothing is added before `cleaned.commit()`, or
///   before the end of a `with` block without an exception, so the caller writes the kept rows
///   first. The store is locked until then. Repeated after a commit, the answer has
///   `was_added_before`: what was written is complete. `KnownRunError` is then raised only if the
///   table has a document that is near none in the store, so that it is not the table of that run.
/// - Several stores are compared with, and nothing is added. For a stored document, `other_store`
///   of `removed` and `near_store` of `rows` are the name of its store.
///
/// The answer has the counts, the losses and largest clusters in `overview`, and `removed`, with
/// one row for each removed document, whose ids are texts. Each row takes memory. With `manifest`
/// it also has a dictionary of the settings, the counts, and the SHA-256 of all input and output
/// files, which are read again for it. `page` is the size of a sample of removed documents, shown
/// with the kept ones on a page for a browser; 0 makes no page.
///
/// >>> lines = [f'{{"id": "{name}", "text": "one two three four"}}\n' for name in "ab"]
/// >>> _ = (folder / "all.jsonl").write_text("".join(lines))
/// >>> cleaned = fpstore.clean(folder / "all.jsonl", folder / "clean.jsonl")
/// >>> cleaned.kept, cleaned.near_new, list(cleaned.removed["id"])
/// (1, 1, ['b'])
/// >>> (folder / "clean.jsonl").read_text() == lines[0]
/// True
/// >>> import pandas
/// >>> frame = pandas.DataFrame({"text": ["one two three four", "other words", "one two three four"]})
/// >>> frame[fpstore.clean(frame).keep]["text"].tolist()
/// ['one two three four', 'other words']
#[pyfunction]
#[pyo3(signature = (
    inputs, output=None, *, recipe=None, confirm=None, confirm_contains=None, k=None, judge=None,
    pairs=None, passages=None, url_field=None, keep="first", source_field=None, target=None,
    max_loss=None, store=None, within=false, add=false, label="", run=None, commit=true,
    annotate=None, per_cluster=1, cluster_size=None, manifest=false, page=0, replace=false,
    text_field=None, id_field=None, threads=None, memory=None, temp_dir=None, wait=0.0, progress=None
))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
pub(crate) fn clean<'py>(
    py: Python<'py>,
    inputs: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = path_or_none)] output: Option<PathBuf>,
    recipe: Option<&Bound<'py, PyAny>>,
    confirm: Option<f64>,
    confirm_contains: Option<f64>,
    k: Option<Whole>,
    #[pyo3(from_py_with = text_or_none)] judge: Option<&str>,
    pairs: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = text_or_none)] passages: Option<&str>,
    #[pyo3(from_py_with = text_or_none)] url_field: Option<String>,
    #[pyo3(from_py_with = text)] keep: &str,
    #[pyo3(from_py_with = text_or_none)] source_field: Option<String>,
    target: Option<u64>,
    #[pyo3(from_py_with = share_or_none)] max_loss: Option<LossLimit>,
    #[pyo3(from_py_with = stores_or_none)] store: Option<Given>,
    within: bool,
    add: bool,
    #[pyo3(from_py_with = text)] label: &str,
    #[pyo3(from_py_with = text_or_none)] run: Option<String>,
    commit: bool,
    #[pyo3(from_py_with = text_or_none)] annotate: Option<String>,
    #[pyo3(from_py_with = wide)] per_cluster: i128,
    #[pyo3(from_py_with = text_or_none)] cluster_size: Option<String>,
    manifest: bool,
    #[pyo3(from_py_with = wide)] page: i128,
    replace: bool,
    text_field: Option<&Bound<'py, PyAny>>,
    id_field: Option<&Bound<'py, PyAny>>,
    threads: Option<Whole>,
    memory: Option<Bytes>,
    #[pyo3(from_py_with = path_or_none)] temp_dir: Option<PathBuf>,
    wait: Option<f64>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    if !add && (run.is_some() || !label.is_empty()) {
        return Err(input_error(py, "run and label are of what is added; give add=True"));
    }
    if !add && !commit {
        return Err(input_error(py, "commit=False delays an addition; give add=True"));
    }
    let (stored, names) = store.map(|Given { store, names }| (store, names)).unzip();
    let names = names.flatten();
    if let (true, Some(names)) = (add, &names) {
        return Err(input_error(py, format!("add: {}", names.one_alone())));
    }
    let documents = Documents::of_fields(inputs, text_field, id_field)?;
    let documents = documents.get();
    if documents.is_table() {
        let of_files = [
            ("output", output.is_some()),
            ("annotate", annotate.is_some()),
            ("cluster_size", cluster_size.is_some()),
            ("manifest", manifest),
        ];
        if let Some((name, _)) = of_files.iter().find(|(_, is_given)| *is_given) {
            let message = format!("{name} is for files; of a table the answer has the rows");
            return Err(input_error(py, message));
        }
    }
    let hasher = hasher_of(recipe, stored.as_ref())?;
    let k = k.map(|k| distance_of(py, k)).transpose()?;
    let keep = rules_of(py, keep)?;
    let judge = reasons_of(py, judge)?;
    let passages = passages.map(str::parse::<PassageFate>).transpose();
    let passages = passages.map_err(|error| input_error(py, format!("passages: {error}")))?;
    let pairs = pairs.map(labels_of).transpose()?;
    let page = checked(py, &COUNT, page)? as usize;
    let per_cluster = u32::try_from(checked(py, &PER_CLUSTER, per_cluster)?)?;
    let limits = Limits::new(py, threads, memory, temp_dir)?;
    let add = add.then(|| WriterOptions::default().label(label).run(run));
    let wait = wait_of(py, wait)?;
    let is_usual = confirm.is_none() && k.is_none() && judge.is_none_or(|reasons| reasons.near);
    if let Some(store) = stored.as_ref().filter(|store| is_usual && store.sketch_len() == 0) {
        warn_of_fingerprints(py, store)?;
    }
    let reporter = Reporter::new(progress)?;
    let (shared, faults) = (Arc::new(Shared::default()), Mutex::new(Vec::new()));
    let is_change = output.is_some() || add.is_some();
    let fields = keep.field_names(source_field.as_deref(), url_field.as_deref());
    let title = documents.title();
    let readable = documents.readable(py, &limits.given(&shared), fields)?;
    let Readable { paths, options, table } = &readable;
    let work = |shared: &Arc<Shared>| -> Result<_, Failure> {
        let resources = limits.given(shared);
        let options = options.clone().observer(resources.observer.clone());
        let is_added = add.is_some();
        let add = add.map(|options| options.wait(wait).resources(resources.clone()));
        let tell = |event: Event<'_>| {
            faults.lock().unwrap_or_else(PoisonError::into_inner).extend(faults_of(event));
        };
        let cleaner = |add: Option<WriterOptions>, against: Option<fpstore::Store>| Cleaner {
            output: output.clone(),
            replace,
            against,
            within,
            // The documents of a known run are only looked up.
            target: target.filter(|_| add.is_some() || !is_added),
            max_loss: max_loss.filter(|_| add.is_some() || !is_added),
            add,
            k,
            confirm,
            confirm_contains,
            judge,
            pairs: pairs.clone(),
            passages,
            url_field: url_field.clone(),
            keep: keep.clone(),
            source_field: source_field.clone(),
            annotate: annotate.clone(),
            per_cluster,
            cluster_size: cluster_size.clone(),
            resources: resources.clone(),
            listener: Some(&tell),
            ..Cleaner::new(DocumentSource::of_texts(hasher.clone(), options.clone()), paths)
        };
        let mut removed = RemovedRows::new(names.as_ref());
        let (mut rows, mut html, mut addition) = (None, None, None);
        let (mut account, mut overview, mut proof) = (Account::default(), None, None);
        let begun = match cleaner(add, stored.clone()).begin() {
            Err(Error::KnownRun { run, store }) if !commit => {
                let newest = fpstore::Store::open(&store)?;
                let known = Error::KnownRun { run, store };
                let Some(cleaning) = cleaner(None, Some(newest)).begin()? else {
                    return Err(known.into());
                };
                let found = cleaning.run()?.finish()?;
                if found.kept_count > found.spared_count {
                    return Err(known.into());
                }
                None
            }
            begun => begun?,
        };
        match begun {
            Some(cleaning) => {
                let cleaned = cleaning.run()?;
                cleaned.for_each_removed(|row| removed.push(&row))?;
                let mut found = cleaned.overview()?;
                readable.rename(&mut found.losses);
                if manifest {
                    proof = Some(cleaned.manifest(&found, &[])?.to_json());
                }
                if page > 0 {
                    html = Some(cleaned.page(&found, page, &title)?);
                }
                overview = Some(found);
                if let Some(table) = table {
                    rows = Some(rows_of(&cleaned, table, names.as_ref())?);
                }
                account = cleaned.account();
                addition = Some(cleaned.into_addition());
                if commit && let Some(addition) = addition.take() {
                    addition.commit(&tell)?;
                }
            }
            None => account.was_added_before = true,
        }
        Ok((account, overview, removed.finish()?, rows, proof, html, addition))
    };
    let work = |shared: &Arc<Shared>| work(shared).map_err(|failure| of_row(failure, &readable));
    let (account, overview, removed, rows, proof, html, addition) = match is_change {
        true => run_change(py, &reporter, &shared, work)?,
        false => run_shared(py, &reporter, &shared, work)?,
    };
    let faults = faults.into_inner().unwrap_or_else(PoisonError::into_inner);
    let counts = [
        account.kept_count,
        account.near_new_count,
        account.near_stored_count,
        account.spared_count,
        account.empty_count,
        account.bad_count,
        account.added_count,
        account.file_count,
        account.uncopied_count,
        account.left_out_count,
    ];
    let mut fields = Vec::new();
    for count in counts {
        fields.push(count.into_bound_py_any(py)?);
    }
    fields.push(account.was_added_before.into_bound_py_any(py)?);
    fields.push(faults.into_bound_py_any(py)?);
    fields.push(removed.into_bound_py_any(py)?);
    let overview = overview.map(|overview| overview_of(py, &overview)).transpose()?;
    fields.push(overview.into_bound_py_any(py)?);
    fields.push(rows.into_bound_py_any(py)?);
    for count in [account.changed_count, account.dropped_count] {
        fields.push(count.into_bound_py_any(py)?);
    }
    let proof =
        proof.map(|proof| py.import("json")?.call_method1("loads", (proof,))).transpose()?;
    fields.push(proof.into_bound_py_any(py)?);
    fields.push(html.map(Page).into_bound_py_any(py)?);
    let addition = addition.map(|addition| {
        let count = account.added_count;
        let lost = if count > 0 { |_: &mut _| true } else { |_: &mut _| false };
        Addition { count, lent: Lent::new(WORDS, reporter, shared, addition).noticed(lost) }
    });
    fields.push(addition.into_bound_py_any(py)?);
    told(py, TYPES, "Cleaned", PyTuple::new(py, fields)?)
}

/// The documents of a cleaning that are added to the store by a commit.
#[pyclass(frozen, module = "fpstore")]
pub(crate) struct Addition {
    lent: Lent<fpstore_corpus::Addition>,
    count: u64,
}

const WORDS: Words = Words { noun: "cleaning", loss: "its documents were not added" };

#[pymethods]
impl Addition {
    /// Adds the documents. Returns their number and the messages for the user.
    fn commit(&self, py: Python<'_>) -> PyResult<(u64, Vec<String>)> {
        let faults = self.lent.finish(py, "was committed", |addition, _| {
            let faults = Mutex::new(Vec::new());
            addition.commit(&|event: Event<'_>| {
                faults.lock().unwrap_or_else(PoisonError::into_inner).extend(faults_of(event));
            })?;
            Ok(faults.into_inner().unwrap_or_else(PoisonError::into_inner))
        })?;
        Ok((self.count, faults))
    }

    /// Ends a `with` block: commits unless an exception was raised.
    #[pyo3(signature = (*raised))]
    fn leave(&self, py: Python<'_>, raised: &Bound<'_, PyTuple>) -> PyResult<()> {
        if self.lent.has_ended("was committed") {
            return Ok(());
        }
        self.lent.leave(raised, || self.commit(py).map(drop))
    }
}

/// The part of the documents that may be lost: a number, or a text such as `1%`.
fn share_or_none(given: &Bound<'_, PyAny>) -> PyResult<Option<LossLimit>> {
    if given.is_none() {
        return Ok(None);
    }
    let limit = match given.cast::<PyString>() {
        Ok(share) => share.to_cow()?.parse().map_err(|error| input_error(given.py(), error))?,
        Err(_) => LossLimit::new(given.extract()?).map_err(Failure::from)?,
    };
    Ok(Some(limit))
}

/// Warns that fingerprints decide where the default is a similarity.
fn warn_of_fingerprints(py: Python<'_>, store: &fpstore::Store) -> PyResult<()> {
    let (path, k) = (store.info().path, store.tuned_k());
    let message = format!(
        "{} keeps no sketches of its documents, so fingerprints within {k} bits decide alone, and \
         some removed documents are not similar: build the store with sketch=True, or give k={k} to \
         decide by fingerprints",
        path.display()
    );
    warn(py, "SimilarityWarning", &message)
}

pub(crate) fn rules_of(py: Python<'_>, keep: &str) -> PyResult<KeepRules> {
    keep.parse().map_err(|error| input_error(py, format!("keep is '{keep}': {error}")))
}

pub(crate) fn reasons_of(py: Python<'_>, judge: Option<&str>) -> PyResult<Option<Reasons>> {
    let judge = judge.map(str::parse::<Reasons>).transpose();
    judge.map_err(|error| input_error(py, format!("judge: {error}")))
}

/// The messages of an event for the user: bad records, files that could not be read or copied,
/// repeated ids, and the reason why segments were not merged.
pub(super) fn faults_of(event: Event<'_>) -> Vec<String> {
    match event {
        Event::Read(summary) => [&summary.skipped[..], &summary.bad_files].concat(),
        Event::NotCopied(error) => {
            vec![format!("{}; it was not copied", chained(error))]
        }
        Event::RepeatedIds(found) => {
            let least = if found.is_least { "at least " } else { "" };
            let first = found.first.as_ref().map(ToString::to_string).unwrap_or_default();
            vec![format!(
                "{least}{} documents have the id of an earlier one, such as '{first}'",
                found.count
            )]
        }
        Event::UnknownPairs { unknown, count } => vec![format!(
            "{unknown} of {count} judged pairs without effect: no document has one of its ids"
        )],
        Event::ManyUnlike(unlike) => vec![unlike.to_string()],
        Event::Unmerged(error) => vec![chained(error)],
        Event::NotRemoved(error) => vec![format!("all is done, but {}", chained(error))],
        _ => Vec::new(),
    }
}
