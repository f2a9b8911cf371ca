//! The function `clean`: removes near-duplicates from files and tables of documents.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use fpstore::WriterOptions;
use fpstore::options::COUNT;
use fpstore_corpus::options::PER_CLUSTER;
use fpstore_corpus::{
    Account, Cleaner, DocumentSource, Error, Event, KeepRules, LossLimit, PassageFate, Reasons,
};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use super::given::{Documents, Readable, of_row};
use super::labels::labels_of;
use super::output::Output;
use super::overview::overview_of;
use super::removed::RemovedRows;
use super::rows::{rest_of, rows_of};
use crate::errors::{Failure, chained, input_error, warn};
use crate::input::arguments::{path_or_none, text, text_or_none};
use crate::input::whole::{Bytes, Whole, wide};
use crate::lent::{Lent, Words};
use crate::notebook::Page;
use crate::options::{Limits, checked, distance_of, wait_of};
use crate::store::{Given, stores_or_none};
use crate::text::hasher_of;
use crate::tuple_class::answer;
use crate::work::{Reporter, Shared, run_change, run_shared};

/// Removes near-duplicate documents, like the command `fpstore clean`. From files, kept documents
/// are copied byte for byte; for a table, the answer contains the mask `keep` of its rows. No input
/// is changed. The same call resumes an interrupted job.
///
/// Parameters
/// ----------
/// inputs : Documents, path, list of paths, or table
///     The documents. Paths can be addresses such as `s3://bucket/name`.
/// output : path, optional
///     Folder of the copies, or a file if there is one input file; both can be at an address. By
///     default no document is written.
/// recipe : Recipe or str, optional
///     The recipe of the fingerprints; by default the recipe of the `store`, or `minhash`.
/// confirm : float, optional
///     Minimum Jaccard similarity of the features of near-duplicates. By default 0.8, unless `k` is
///     given; with `k` alone, or with a store without sketches, the fingerprints decide.
/// confirm_contains : float, optional
///     Minimum share of a removed document's features that the kept document must contain.
/// k : int, optional
///     Maximum distance of the fingerprints of near-duplicates, in bits.
/// judge : str, optional
///     Reasons for removal, all or some of `"address,bytes,text,near"`.
/// pairs : path or table, optional
///     Judged pairs of documents, which override the other rules: a file in the format of `fpstore
///     evaluate`, or a table of two ids and a label.
/// passages : str, optional
///     `"cut"`, `"annotate"` or `"drop:PART"`, the treatment of removed passages, if `Documents`
///     have a `unit`. For a table, `rows` of the answer then contains the remaining texts.
/// url_field : str, optional
///     Field with the address of a document. Only the best document of each address is kept.
/// keep : str, default "first"
///     The document to keep of several near-duplicates: `"first"`, `"last"`, `"longest"`,
///     `"newest:FIELD"`, `"best:FIELD"` or `"source:A,B"`. Of several rules with commas between
///     them, a later rule decides only ties of the rules before it.
/// source_field : str, optional
///     Field with the source of a document.
/// target : int, optional
///     Number of documents to keep: the threshold starts at its strictest value and is relaxed,
///     equally for all documents, until this many are left.
/// max_loss : float or str, optional
///     Maximum share of removed documents, such as `"1%"`, in total, in each file and in each
///     source.
/// store : Store, path or list of paths, optional
///     Documents with a near-duplicate in the store are removed. The store determines the recipe
///     and `k`.
/// within : bool, default False
///     With a `store`: whether near-duplicates among the inputs are removed, too.
/// add : bool, default False
///     Whether the kept documents are added to the store, all or none.
/// label : str, optional
///     The label of the segment with the added documents.
/// run : str, optional
///     A name of the job that is recorded in the store: a call with a recorded name changes
///     nothing. It raises `KnownRunError` if the `output` is missing, or if `commit` is set without
///     an `output`, because all documents would be found in the store.
/// commit : bool, default True
///     `False` adds nothing before `cleaned.commit()`, or before the end of a `with` block without
///     an exception, so the caller can write the kept rows of a table first. The store is locked
///     until then. After a commit, the same call returns `was_added_before`: the earlier output is
///     complete. It raises `KnownRunError` only if the table contains a document without a
///     near-duplicate in the store: then it is not the table of that run.
/// annotate : str, optional
///     Name of a field. No document is removed; each gets this field, with the id of the document
///     that it duplicates, or null.
/// per_cluster : int, default 1
///     Maximum number of documents kept from a cluster.
/// cluster_size : str, optional
///     Name of a field for the number of documents in the original cluster.
/// manifest : bool, default False
///     Whether the answer contains a dictionary of the settings, the counts, and the SHA-256 of all
///     input and output files, which are read again for it.
/// page : int, default 0
///     Number of removed documents on an HTML page, each shown with the kept document; 0 for no
///     page.
/// replace : bool, default False
///     Whether existing outputs are replaced.
/// text_field, id_field : str, optional
///     Fields or columns with the texts and ids, see `Documents`.
#[doc = parameters!(threads memory temp_dir wait progress)]
///
/// Returns
/// -------
/// fpstore.types.Cleaned
///     Memory grows with the number of removed documents.
///
/// Raises
/// ------
/// TooMuchLostError
///     More documents than `max_loss` would be removed. Nothing was written.
/// KnownRunError
///     The store contains the documents of this `run`, and the answer cannot be repeated.
///
/// Warns
/// -----
/// SimilarityWarning
///     The store has no sketches, so fingerprints alone decide.
///
/// Examples
/// --------
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
        return Err(input_error(py, "run and label are for added documents; give add=True"));
    }
    if !add && !commit {
        return Err(input_error(py, "commit=False delays an addition; give add=True"));
    }
    let (stored, names) = store.map(|Given { store, names }| (store, names)).unzip();
    let names = names.flatten();
    if let (true, Some(names)) = (add, &names) {
        return Err(input_error(py, format!("add: {}", names.one_alone())));
    }
    let documents = Documents::of_fields(inputs, text_field, id_field, false)?;
    let documents = documents.get();
    if documents.is_table() {
        let of_files = [
            ("output", output.is_some()),
            ("annotate", annotate.is_some()),
            ("cluster_size", cluster_size.is_some()),
            ("manifest", manifest),
        ];
        if let Some((name, _)) = of_files.iter().find(|(_, is_given)| *is_given) {
            let message = format!("{name} is for files; for a table the result contains the rows");
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
    let add_run_is_given = add && run.is_some();
    let add = add.then(|| WriterOptions::default().label(label).run(run));
    let wait = wait_of(py, wait)?;
    let is_usual = confirm.is_none() && k.is_none() && judge.is_none_or(|reasons| reasons.near);
    if let Some(store) = stored.as_ref().filter(|store| is_usual && store.sketch_len() == 0) {
        warn_of_fingerprints(py, store)?;
    }
    let reporter = Reporter::new(progress)?.phases(3);
    let (shared, faults) = (Arc::new(Shared::default()), Mutex::new(Vec::new()));
    let is_change = output.is_some() || add.is_some();
    let fields = keep.field_names(source_field.as_deref(), url_field.as_deref());
    let title = documents.title();
    let resources = limits.given(&shared);
    let folder = resources.temp_dir.clone().unwrap_or_else(std::env::temp_dir);
    // The remaining passages of a table's rows are read from a temporary output.
    let of_passages = passages.filter(|_| documents.is_table());
    if let Some(fate) = of_passages {
        check_fate_of_rows(py, fate, documents.are_passages(), add.is_some())?;
    }
    let output = match of_passages {
        Some(_) => Output::temporary(&folder, Path::new("rows.jsonl"))?,
        None => Output::of(py, output, replace, add_run_is_given, &folder)?,
    };
    let mut readable = documents.readable_as(py, &resources, fields, |table| {
        if of_passages.is_some() { table.numbered() } else { table }
    })?;
    readable.shown.extend(output.shown());
    let Readable { paths, options, table, .. } = &readable;
    let work = |shared: &Arc<Shared>| -> Result<_, Failure> {
        let resources = limits.given(shared);
        let options = options.clone().observer(resources.observer.clone());
        let is_added = add.is_some();
        let add = add.map(|options| options.wait(wait).resources(resources.clone()));
        let tell = teller(&faults);
        let cleaner = |add: Option<WriterOptions>, against: Option<fpstore::Store>| Cleaner {
            output: output.path.clone(),
            replace,
            against,
            within,
            // If the call adds, but `add` is `None` here, this cleaning only looks up the documents
            // of a known run: no limits apply.
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
            Err(Error::KnownRun { run, store, missing }) if !commit && output.path.is_none() => {
                let newest = fpstore::Store::open(&store)?;
                let known = Error::KnownRun { run, store, missing };
                let Some(cleaning) = cleaner(None, Some(newest)).begin()? else {
                    return Err(known.into());
                };
                let found = cleaning.run()?.finish()?;
                if found.kept_count > found.spared_count {
                    return Err(known.into());
                }
                None
            }
            // The output of a known run is complete: it was published before the addition.
            Err(Error::KnownRun { .. }) if output.is_published => None,
            begun => begun?,
        };
        match begun {
            Some(cleaning) => {
                let cleaned = cleaning.run()?;
                cleaned.for_each_removed(|row| removed.push(&row))?;
                let mut found = cleaned.overview()?;
                readable.rename(&mut found.losses);
                if manifest {
                    proof = Some(readable.shown(cleaned.manifest(&found, &[])?.to_json()));
                }
                if page > 0 {
                    html = Some(readable.shown(cleaned.page(&found, page, &title)?));
                }
                overview = Some(found);
                match (table, &output.path) {
                    (Some(table), Some(path)) => rows = Some(rest_of(table, path)?),
                    (Some(table), None) if !documents.are_passages() => {
                        rows = Some(rows_of(&cleaned, table, names.as_ref())?);
                    }
                    _ => {}
                }
                account = cleaned.account();
                addition = Some(cleaned.into_addition());
                if commit
                    && !output.is_remote()
                    && let Some(addition) = addition.take()
                {
                    addition.commit(&tell)?;
                }
            }
            None => account.was_added_before = true,
        }
        Ok((account, overview, removed.finish()?, rows, proof, html, addition))
    };
    let work = |shared: &Arc<Shared>| work(shared).map_err(|failure| of_row(failure, &readable));
    let (mut account, overview, removed, rows, proof, html, mut addition) = match is_change {
        true => run_change(py, &reporter, &shared, work)?,
        false => run_shared(py, &reporter, &shared, work)?,
    };
    if of_passages.is_some() {
        account.file_count = 0;
    }
    let faults = faults.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut faults: Vec<String> = faults.into_iter().map(|it| readable.shown(it)).collect();
    if output.is_remote() && !account.was_added_before {
        output.publish(py)?;
        if commit && let Some(addition) = addition.take() {
            faults.extend(run_change(py, &reporter, &shared, |_| committed(addition))?);
        }
    }
    let proof =
        proof.map(|proof| py.import("json")?.call_method1("loads", (proof,))).transpose()?;
    let overview = overview.map(|overview| overview_of(py, &overview)).transpose()?;
    let addition = addition.map(|addition| {
        let count = account.added_count;
        let lost = if count > 0 { |_: &mut _| true } else { |_: &mut _| false };
        Addition { count, lent: Lent::new(WORDS, reporter, shared, addition).noticed(lost) }
    });
    answer!(
        py,
        "Cleaned",
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
        account.was_added_before,
        faults,
        removed,
        overview,
        rows,
        account.changed_count,
        account.dropped_count,
        proof,
        html.map(Page),
        addition,
    )
}

/// The kept documents of a cleaning, which `commit` adds to the store.
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
        let faults = self.lent.finish(py, "was committed", |addition, _| committed(addition))?;
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

/// Adds the documents, and returns the messages for the user.
fn committed(addition: fpstore_corpus::Addition) -> Result<Vec<String>, Failure> {
    let faults = Mutex::new(Vec::new());
    addition.commit(&teller(&faults))?;
    Ok(faults.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Refuses options that do not fit the passages of a table.
fn check_fate_of_rows(
    py: Python<'_>,
    fate: PassageFate,
    has_unit: bool,
    is_added: bool,
) -> PyResult<()> {
    let message = match fate {
        PassageFate::Annotate => {
            "passages='annotate' is for files; for a table give 'cut' or 'drop:PART'"
        }
        _ if !has_unit => "passages needs a unit: Documents(table, unit='paragraph')",
        _ if is_added => "passages of a table are not added; add the rows that are left",
        _ => return Ok(()),
    };
    Err(input_error(py, message))
}

/// The maximum share of removed documents: a number, or a text such as `1%`.
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

/// Warns that fingerprints decide, because the store has no sketches for the default similarity.
fn warn_of_fingerprints(py: Python<'_>, store: &fpstore::Store) -> PyResult<()> {
    let (path, k) = (store.info().path, store.tuned_k());
    let message = format!(
        "{} keeps no sketches of its documents, so only fingerprints within {k} bits decide, and \
         some removed documents are not similar: build the store with sketch=True, or give k={k} \
         to decide by fingerprints",
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

/// Adds the faults that events report to `faults`.
pub(super) fn teller(faults: &Mutex<Vec<String>>) -> impl Fn(Event<'_>) + Sync {
    move |event| faults.lock().unwrap_or_else(PoisonError::into_inner).extend(faults_of(event))
}

/// The messages of an event for the user: bad records, files that could not be read or copied,
/// repeated ids, and the reason why segments were not merged.
fn faults_of(event: Event<'_>) -> Vec<String> {
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
            "{unknown} of {count} judged pairs have no effect: an id of theirs is unknown"
        )],
        Event::ManyUnlike(unlike) => vec![unlike.to_string()],
        Event::Unmerged(error) => vec![chained(error)],
        Event::NotRemoved(error) => vec![format!("all is done, but {}", chained(error))],
        _ => Vec::new(),
    }
}
