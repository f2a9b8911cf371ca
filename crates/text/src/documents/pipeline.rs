//! From inputs to results: one thread reads, several work, the caller takes results in order.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::DocumentOptions;
use super::inputs::{Input, inputs};
use super::reading::{DocumentPlace, Reader};
use super::task::{self, CountTask, Failure, Finished, HashTask, Task};
use crate::error::{Error, Result};
use crate::hasher::SimHasher;
use crate::recipe::Tokenizer;
use crate::resources::df::DfBuilder;
use fpstore_base::parallel::Parallel;
use fpstore_base::watch::{Phase, Watch};
use fpstore_base::{Fingerprint, Id, IdRef, InputPlace};

/// The number of bad records and of documents without features that a summary names.
const SHOWN_MAX: usize = 10;
/// Bytes of documents that are in memory at a time, as long as no single one is larger.
const IN_FLIGHT_LEN: usize = 64 << 20;
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
/// use fpstore_text::{Admission, DocumentOptions, Error, SimHasher, TextRecipe, hash_documents};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("docs.jsonl");
///
/// std::fs::write(&path, "{\"id\":\"a\",\"text\":\"one two three\"}\n{\"id\":\"b\",\"text\":\"\"}\n")?;
/// let hasher = SimHasher::new(&TextRecipe::default())?;
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
    hasher: &SimHasher,
    options: &DocumentOptions,
    mut take: impl FnMut(HashedDocument<'_>) -> Result<Admission, E>,
) -> Result<DocumentSummary, E> {
    let task_hasher = hasher.clone();
    let make_task = move || HashTask(task_hasher.clone());
    run(paths, hasher, options, make_task, |id, fingerprint, summary| {
        if let IdRef::Text(text) = id.as_ref()
            && let Some(reason) = IdRef::fault_of_text(text)
        {
            return Ok(Admission::BadId { reason: reason.into() });
        }
        let admission = take(HashedDocument { id: id.as_ref(), fingerprint })?;
        if admission == Admission::Taken {
            summary.count(id, fingerprint.is_some());
        }
        Ok(admission)
    })
}

/// Counts in how many of all documents in the files and folders `paths` each feature occurs.
///
/// # Errors
///
/// As [`hash_documents`].
pub fn count_document_frequencies(
    paths: &[PathBuf],
    hasher: &SimHasher,
    options: &DocumentOptions,
    builder: &mut DfBuilder,
) -> Result<DocumentSummary> {
    let (task_hasher, hash) = (hasher.counting(), hasher.recipe().hash);
    let make_task = move || CountTask { hasher: task_hasher.clone(), hash };
    run(paths, hasher, options, make_task, |id, hashes, summary| {
        builder.add_hashes(&hashes);
        summary.count(id, !hashes.is_empty());
        Ok(Admission::Taken)
    })
}

fn run<T: Task, E: From<Error>>(
    paths: &[PathBuf],
    hasher: &SimHasher,
    options: &DocumentOptions,
    make_task: impl Fn() -> T + Send + Sync + 'static,
    mut take: impl FnMut(&Id, T::Output, &mut DocumentSummary) -> Result<Admission, E>,
) -> Result<DocumentSummary, E> {
    let inputs = Arc::new(inputs(paths)?);
    let options = Arc::new(options.clone());
    let total = inputs.iter().map(|input| input.len).sum();
    let watch = Watch::new(options.observer.clone(), Phase::Documents, total);
    let takes_features = hasher.recipe().tokenizer == Tokenizer::Given;

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
    // The reader may be waiting for standard input when the caller ends, so its thread is detached.
    let mut results = Parallel::new(options.threads).bytes(IN_FLIGHT_LEN).run(read, work);
    let mut summary = DocumentSummary::default();
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
        let name = inputs.get(place.input).map_or("input", |input| input.name.as_str());
        let reason = match failure {
            Failure::Bad(reason) => reason,
            // A wait for the file was ended: it is not a bad one.
            Failure::Unreadable(Error::Interrupted) => return Err(Error::Interrupted),
            Failure::Unreadable(error) if !options.skip_bad => return Err(error),
            Failure::Unreadable(Error::Io { doing, source, .. }) => {
                format!("cannot {doing} it: {source}")
            }
            Failure::Unreadable(error) => error.to_string(),
        };
        if !options.skip_bad {
            let place = place.at.unwrap_or(InputPlace::Byte(0));
            return Err(Error::BadInput { name: name.into(), place, reason });
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
}
