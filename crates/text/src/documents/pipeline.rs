//! From inputs to results: one thread reads, several work, the caller takes results in order.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::DocumentOptions;
use super::folders::PassedOver;
use super::inputs::{Input, Inputs, inputs};
use super::reading::{DocumentPlace, Reader};
use super::task::{self, BothTask, CountTask, Failure, Finished, HashTask, Task, TextTask};
use crate::error::{Error, Result};
use crate::hasher::TextHasher;
use crate::recipe::Tokenizer;
use crate::resources::df::DfBuilder;
use fpstore_base::parallel::Parallel;
use fpstore_base::watch::{Phase, Watch};
use fpstore_base::{Fingerprint, Id, IdRef};

/// The number of bad records and of documents without features that a summary names.
const SHOWN_MAX: usize = 10;
/// The longest wait for a result before the observer is called again.
const PATIENCE: Duration = Duration::from_millis(100);

/// A document and its fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HashedDocument<'a> {
    /// The id.
    pub id: IdRef<'a>,
    /// The fingerprint, or `None` if the document has no features.
    pub fingerprint: Option<Fingerprint>,
}

/// The answer of a caller to a document that it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The document was taken.
    Taken,
    /// The caller cannot use the id, so the record is a bad one.
    BadId {
        /// What is wrong with the id.
        reason: String,
    },
}

/// Counts of documents and bad records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DocumentSummary {
    /// Documents with a fingerprint.
    pub document_count: u64,
    /// Documents without features, which have no fingerprint.
    pub empty_count: u64,
    /// The ids of the first ten of these.
    pub empty: Vec<Id>,
    /// Bad records that were skipped.
    pub skipped_count: u64,
    /// The faults of the first ten, with the names of their inputs and their places.
    pub skipped: Vec<String>,
    /// Files in folders of which all or the rest could not be read, and were skipped.
    pub bad_file_count: u64,
    /// The faults of the first ten, with their names.
    pub bad_files: Vec<String>,
    /// Files in folders that were not looked at.
    pub passed_over: PassedOver,
}

/// Makes fingerprints of all documents in the files and folders `paths`, and gives them to `take`
/// in order. `-` is standard input; files whose names end in `.gz` or `.zst` are decompressed.
///
/// Documents are read one after the other and hashed by several threads; about 64 MiB of them are
/// in memory at a time. A document in a plain file of its own is not held whole.
///
/// A text id that is empty, too long, or holds NUL, CR or LF makes its record a bad one, and so
/// does [`Admission::BadId`] from `take`.
///
/// # Errors
///
/// * [`Error::BadInput`] with name and place of the first bad record, unless they are skipped.
/// * [`Error::BadFile`] if a whole file is bad, such as a table without the columns; with
///   [`DocumentOptions::skip_bad`] only if it was named, and not found in a folder.
/// * [`Error::InvalidInputs`] if two files would get the same id, or if files of folders are
///   chosen and there is no folder.
/// * [`Error::WrongContent`] if the recipe is for given features and a file holds texts, or the
///   other way round.
/// * [`Error::UnknownFormat`] if this build cannot read the format of a file.
/// * [`Error::Io`] if an input cannot be read or decompressed.
/// * [`Error::Interrupted`] if the observer ends the work.
/// * Any error from `take`.
///
/// # Examples
///
/// ```
/// use fpstore_text::{Admission, DocumentOptions, Error, TextHasher, TextRecipe, hash_documents};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("docs.jsonl");
///
/// std::fs::write(&path, "{\"id\":\"a\",\"text\":\"one two three\"}\n{\"id\":\"b\",\"text\":\"\"}\n")?;
/// let hasher = TextHasher::new(&TextRecipe::default())?;
/// let mut fingerprints = Vec::new();
/// let options = DocumentOptions::default();
/// let summary = hash_documents(&[path], &hasher, &options, |document| {
///     fingerprints.extend(document.fingerprint);
///     Ok::<_, Error>(Admission::Taken)
/// })?;
/// assert_eq!((summary.document_count, summary.empty_count), (1, 1));
/// # Ok(()) }
/// ```
pub fn hash_documents<E: From<Error>>(
    paths: &[PathBuf],
    hasher: &TextHasher,
    options: &DocumentOptions,
    mut take: impl FnMut(HashedDocument<'_>) -> Result<Admission, E>,
) -> Result<DocumentSummary, E> {
    let task_hasher = hasher.clone();
    let make_task = move || HashTask(task_hasher.clone());
    run(paths, takes_features(hasher), options, make_task, |id, fingerprint, summary| {
        let document = HashedDocument { id: id.as_ref(), fingerprint };
        admit(id, fingerprint.is_some(), summary, || take(document))
    })
}

/// A document, its fingerprint and its features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DocumentFeatures<'a> {
    /// The id.
    pub id: IdRef<'a>,
    /// The fingerprint, or `None` if the document has no features.
    pub fingerprint: Option<Fingerprint>,
    /// The hashes of its distinct features, ascending. The Jaccard similarity of two documents is
    /// that of these sets.
    pub features: &'a [u64],
}

/// As [`hash_documents`], and also gives the features of each document to `take`.
///
/// # Errors
///
/// As [`hash_documents`].
pub fn read_features<E: From<Error>>(
    paths: &[PathBuf],
    hasher: &TextHasher,
    options: &DocumentOptions,
    mut take: impl FnMut(DocumentFeatures<'_>) -> Result<Admission, E>,
) -> Result<DocumentSummary, E> {
    let task_hasher = hasher.counting();
    let make_task = move || BothTask(task_hasher.clone());
    run(paths, takes_features(hasher), options, make_task, |id, (fingerprint, hashes), summary| {
        let document = DocumentFeatures { id: id.as_ref(), fingerprint, features: &hashes };
        admit(id, fingerprint.is_some(), summary, || take(document))
    })
}

/// Gives a document to the caller, unless its id can be stored nowhere, and counts it if it was
/// taken.
fn admit<E>(
    id: &Id,
    has_features: bool,
    summary: &mut DocumentSummary,
    take: impl FnOnce() -> Result<Admission, E>,
) -> Result<Admission, E> {
    if let IdRef::Text(text) = id.as_ref()
        && let Some(reason) = IdRef::fault_of_text(text)
    {
        return Ok(Admission::BadId { reason: reason.into() });
    }
    let admission = take()?;
    if admission == Admission::Taken {
        summary.count(id, has_features);
    }
    Ok(admission)
}

/// Counts in how many of all documents in the files and folders `paths` each feature occurs.
///
/// # Errors
///
/// As [`hash_documents`].
pub fn count_document_frequencies(
    paths: &[PathBuf],
    hasher: &TextHasher,
    options: &DocumentOptions,
    builder: &mut DfBuilder,
) -> Result<DocumentSummary> {
    let (task_hasher, hash) = (hasher.counting(), hasher.recipe().hash);
    let make_task = move || CountTask { hasher: task_hasher.clone(), hash };
    run(paths, takes_features(hasher), options, make_task, |id, hashes, summary| {
        builder.add_hashes(&hashes);
        summary.count(id, !hashes.is_empty());
        Ok(Admission::Taken)
    })
}

/// Gives the texts of all documents in the files and folders `paths` to `take`, in order, as
/// [`hash_documents`] would make fingerprints of them. Of a page in HTML it is the main text.
///
/// # Errors
///
/// As [`hash_documents`]; files of features are refused.
pub fn read_texts<E: From<Error>>(
    paths: &[PathBuf],
    options: &DocumentOptions,
    mut take: impl FnMut(IdRef<'_>, &str) -> Result<(), E>,
) -> Result<DocumentSummary, E> {
    run(paths, false, options, TextTask::default, |id, text, summary| {
        take(id.as_ref(), &text)?;
        summary.document_count += 1;
        Ok(Admission::Taken)
    })
}

fn run<T: Task, E: From<Error>>(
    paths: &[PathBuf],
    takes_features: bool,
    options: &DocumentOptions,
    make_task: impl Fn() -> T + Send + Sync + 'static,
    mut take: impl FnMut(&Id, T::Output, &mut DocumentSummary) -> Result<Admission, E>,
) -> Result<DocumentSummary, E> {
    let Inputs { list: inputs, passed_over } = {
        let inputs = inputs(paths, &options.files)?;
        inputs.check_ids(|input| options.takes_name(input))?;
        inputs
    };
    let inputs = Arc::new(inputs);
    let options = Arc::new(options.clone());
    let total = inputs.iter().map(|input| input.len).sum();
    let watch = Watch::new(options.observer.clone(), Phase::Documents, total);

    let read = {
        let (inputs, options, watch) = (inputs.clone(), options.clone(), watch.clone());
        move |feed: &mut fpstore_base::parallel::Feed<_, _>| {
            let mut push = |batch, len| feed.push(Ok(batch), len);
            let read = Reader::new(&options, watch, &mut push).read_all(&inputs, takes_features);
            if let Err(error) = read {
                let _ = feed.push(Err(error), 0);
            }
        }
    };
    let work = {
        let options = options.clone();
        move || {
            let (options, mut task) = (options.clone(), make_task());
            move |batch: Result<Vec<_>>| -> Result<Vec<Finished<T::Output>>> {
                let run = |document| task::run(document, &options, &mut task);
                Ok(batch?.into_iter().map(run).collect())
            }
        }
    };
    let in_flight_len = usize::try_from(options.in_flight_len).unwrap_or(usize::MAX);
    // The reader may be waiting for standard input when the caller ends, so its thread is detached.
    let mut results = Parallel::new(options.threads).bytes(in_flight_len).run(read, work);
    let mut summary = DocumentSummary { passed_over, ..DocumentSummary::default() };
    loop {
        let batch = match results.next_within(PATIENCE) {
            Ok(Some(batch)) => batch?,
            Ok(None) => return Ok(summary),
            Err(_) => {
                watch.report().map_err(Error::from)?;
                continue;
            }
        };
        for Finished { place, outcome } in batch {
            let failure = match outcome {
                Ok((id, output)) => match take(&id, output, &mut summary)? {
                    Admission::Taken => continue,
                    Admission::BadId { reason } => Failure::Bad(format!("bad id: {reason}")),
                },
                Err(failure) => failure,
            };
            summary.skip(&inputs, &options, place, failure)?;
        }
    }
}

/// Whether the recipe is for features that were made elsewhere.
fn takes_features(hasher: &TextHasher) -> bool {
    hasher.recipe().tokenizer == Tokenizer::Given
}

impl DocumentSummary {
    fn count(&mut self, id: &Id, has_features: bool) {
        if has_features {
            self.document_count += 1;
            return;
        }
        self.empty_count += 1;
        if self.empty.len() < SHOWN_MAX {
            self.empty.push(id.clone());
        }
    }

    /// Counts a bad record, or returns it as an error if bad records are not skipped.
    fn skip(
        &mut self,
        inputs: &[Input],
        options: &DocumentOptions,
        place: DocumentPlace,
        failure: Failure,
    ) -> Result<()> {
        let input = inputs.get(place.input);
        let name = input.map_or("input", |input| input.name.as_str());
        let reason = match failure {
            // A wait for the file was ended: it is not a bad one.
            Failure::File(Error::Interrupted, _) | Failure::Unreadable(Error::Interrupted) => {
                return Err(Error::Interrupted);
            }
            Failure::File(error, count) => {
                self.skip_file(&error, count);
                return Ok(());
            }
            // A page that cannot be read is a bad file of a folder; by name, it is an error.
            Failure::Unreadable(error)
                if options.skip_bad && input.is_some_and(|input| input.is_found) =>
            {
                self.skip_file(&error, 0);
                return Ok(());
            }
            Failure::Unreadable(error) => return Err(error),
            Failure::Bad(reason) => reason,
        };
        if !options.skip_bad {
            return Err(match place.at {
                Some(place) => Error::BadInput { name: name.into(), place, reason },
                None => Error::BadFile { name: name.into(), reason },
            });
        }
        self.skipped_count += 1;
        if self.skipped.len() < SHOWN_MAX {
            self.skipped.push(match place.at {
                Some(at) => format!("{name}: {at}: {reason}"),
                None => format!("{name}: {reason}"),
            });
        }
        Ok(())
    }

    /// Counts a file that cannot be read to its end; `count` of its documents were.
    fn skip_file(&mut self, error: &Error, count: u64) {
        self.bad_file_count += 1;
        if self.bad_files.len() < SHOWN_MAX {
            let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
            let read = match count {
                0 => String::new(),
                1 => "; the document before that was taken".into(),
                count => format!("; the {count} documents before that were taken"),
            };
            self.bad_files.push(format!("{error}{}{read}", cause.unwrap_or_default()));
        }
    }
}
