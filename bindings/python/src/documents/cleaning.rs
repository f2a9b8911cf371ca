//! The function `clean`: files of documents without near-duplicates.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use fpstore::WriterOptions;
use fpstore::options::{COUNT, PER_CLUSTER};
use fpstore_corpus::{
    Account, Cleaner, DocumentSource, Event, KeepRules, LossLimit, PassageFate, Reasons,
};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::given::{Documents, Readable, of_row};
use super::labels::labels_of;
use super::overview::overview_of;
use super::removed::RemovedRows;
use super::rows::rows_of;
use crate::errors::{Failure, chained, input_error};
use crate::input::arguments::{path_or_none, text, text_or_none};
use crate::input::whole::{Whole, wide};
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
/// - `pairs` is a file of judged pairs, as `fpstore evaluate` reads it, which override the other
///   rules.
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
///   run changes nothing, and without an `output` it raises `KnownRunError`, because all documents
///   would be found in the store.
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
    max_loss=None, store=None, within=false, add=false, label="", run=None, annotate=None,
    per_cluster=1, cluster_size=None, manifest=false, page=0, replace=false, threads=None,
    memory=None, temp_dir=None, wait=0.0, progress=None
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
    #[pyo3(from_py_with = path_or_none)] pairs: Option<PathBuf>,
    #[pyo3(from_py_with = text_or_none)] passages: Option<&str>,
    #[pyo3(from_py_with = text_or_none)] url_field: Option<String>,
    #[pyo3(from_py_with = text)] keep: &str,
    #[pyo3(from_py_with = text_or_none)] source_field: Option<String>,
    target: Option<u64>,
    max_loss: Option<f64>,
    #[pyo3(from_py_with = stores_or_none)] store: Option<Given>,
    within: bool,
    add: bool,
    #[pyo3(from_py_with = text)] label: &str,
    #[pyo3(from_py_with = text_or_none)] run: Option<String>,
    #[pyo3(from_py_with = text_or_none)] annotate: Option<String>,
    #[pyo3(from_py_with = wide)] per_cluster: i128,
    #[pyo3(from_py_with = text_or_none)] cluster_size: Option<String>,
    manifest: bool,
    #[pyo3(from_py_with = wide)] page: i128,
    replace: bool,
    threads: Option<Whole>,
    memory: Option<Whole>,
    #[pyo3(from_py_with = path_or_none)] temp_dir: Option<PathBuf>,
    wait: Option<f64>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    if !add && (run.is_some() || !label.is_empty()) {
        return Err(input_error(py, "run and label are of what is added; give add=True"));
    }
    let documents = Documents::of(inputs)?;
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
    let (stored, names) = store.map(|Given { store, names }| (store, names)).unzip();
    let names = names.flatten();
    if let (true, Some(names)) = (add, &names) {
        return Err(input_error(py, format!("add: {}", names.one_alone())));
    }
    let hasher = hasher_of(recipe, stored.as_ref())?;
    let k = k.map(|k| distance_of(py, k)).transpose()?;
    let max_loss = max_loss.map(LossLimit::new).transpose().map_err(Failure::from)?;
    let keep = rules_of(py, keep)?;
    let judge = reasons_of(py, judge)?;
    let passages = passages.map(str::parse::<PassageFate>).transpose();
    let passages = passages.map_err(|error| input_error(py, format!("passages: {error}")))?;
    let pairs = pairs.map(|path| labels_of(py, &path)).transpose()?;
    let page = checked(py, &COUNT, page)? as usize;
    let per_cluster = u32::try_from(checked(py, &PER_CLUSTER, per_cluster)?)?;
    let limits = Limits::new(py, threads, memory, temp_dir)?;
    let add = add.then(|| WriterOptions::default().label(label).run(run));
    let wait = wait_of(py, wait)?;
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
        let add = add.map(|options| options.wait(wait).resources(resources.clone()));
        let tell = |event: Event<'_>| {
            faults.lock().unwrap_or_else(PoisonError::into_inner).extend(faults_of(event));
        };
        let cleaner = Cleaner {
            output,
            replace,
            against: stored,
            within,
            add,
            k,
            confirm,
            confirm_contains,
            judge,
            pairs,
            passages,
            url_field,
            keep,
            source_field,
            target,
            max_loss,
            annotate,
            per_cluster,
            cluster_size,
            resources,
            listener: Some(&tell),
            ..Cleaner::new(DocumentSource::of_texts(hasher, options), paths)
        };
        let mut removed = RemovedRows::new(names.as_ref());
        let (mut rows, mut html) = (None, None);
        let (mut account, mut overview, mut proof) = (Account::default(), None, None);
        match cleaner.begin()? {
            Some(cleaning) => {
                let cleaned = cleaning.run()?;
                cleaned.for_each_removed(|row| removed.push(&row))?;
                let found = cleaned.overview()?;
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
                account = cleaned.finish()?;
            }
            None => account.was_added_before = true,
        }
        Ok((account, overview, removed.finish()?, rows, proof, html))
    };
    let work = |shared: &Arc<Shared>| work(shared).map_err(|failure| of_row(failure, &readable));
    let (account, overview, removed, rows, proof, html) = match is_change {
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
    told(py, TYPES, "Cleaned", PyTuple::new(py, fields)?)
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
