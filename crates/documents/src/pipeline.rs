//! The pipeline from inputs to results: one thread reads, several work, and the caller receives the
//! results in order.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::files::{DocumentFiles, DocumentPlace};
use super::options::DocumentOptions;
use super::reading::{PlaceFilter, Reader};
use super::ready::{Ready, ReadyForm};
use super::repeated_ids::IdNotes;
use super::summary::DocumentSummary;
use super::task::{
    self, BothTask, CountTask, Failure, Finished, HashTask, MapTask, Processed, ReadyTask, Task,
    TextTask,
};
use crate::error::{Error, LikelyFields, Result};
use fpstore_base::parallel::Parallel;
use fpstore_base::watch::{Phase, Watch};
use fpstore_base::{Fingerprint, IdRef, Radix};
use fpstore_text::{DfBuilder, TextDigests, TextHasher, Tokenizer};

/// The longest wait for a result before the observer is called again.
const PATIENCE: Duration = Duration::from_millis(100);

/// A document and its fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Document<'a> {
    /// The place of the document.
    pub place: DocumentPlace,
    /// The id of the document.
    pub id: IdRef<'a>,
    /// The fingerprint, or `None` if the document has no features.
    pub fingerprint: Option<Fingerprint>,
    /// The hashes of the document's distinct features, ascending, if requested. The Jaccard
    /// similarity of two documents is the similarity of these sets.
    pub features: &'a [u64],
    /// Length in bytes of the text in UTF-8; 0 if the file contains features instead of texts.
    pub text_len: u64,
    /// Digests of the text, if [`DocumentOptions::digests`] is set and there is a text.
    pub digests: Option<TextDigests>,
    /// The values of the fields of [`DocumentOptions::fields`]; `None` for missing fields.
    pub fields: &'a [Option<String>],
}

/// Whether the caller accepted a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The document was taken.
    Taken,
    /// The caller rejected the document: count the record as bad.
    Refused {
        /// The reason of the caller.
        reason: String,
    },
}

/// Computes the fingerprints of all documents in the files and folders `paths`, and calls `take`
/// with them in order. `-` is standard input; files with the extensions `.gz` and `.zst` are
/// decompressed.
///
/// Documents are read one after the other and hashed on several threads; about 64 MiB of them are
/// in memory at a time. A plain file that is a single document is read piece by piece.
///
/// A text id that is empty, too long, or contains NUL, CR or LF makes its record bad, and so does
/// [`Admission::Refused`] from `take`.
///
/// # Errors
///
/// * [`Error::BadInput`] with name and place of the first bad record, unless bad records are
///   skipped.
/// * [`Error::BadFile`] if a whole file is bad, such as a table without the expected columns; with
///   [`DocumentOptions::skip_bad`] only if the user named the file, and it was not found in a
///   folder.
/// * [`Error::InvalidInputs`] if two files would get the same id, or if files of folders are
///   selected and there is no folder.
/// * [`Error::UnclearFields`] if the fields are not named and cannot be determined.
/// * [`Error::WrongContent`] if a file contains texts but the recipe is for given features, or
///   features but the recipe is for texts.
/// * [`Error::UnknownFormat`] if this build cannot read the format of a file.
/// * [`Error::Io`] if an input cannot be read or decompressed.
/// * [`Error::Interrupted`] if the observer ends the work.
/// * Any error from `take`.
///
/// # Examples
///
/// ```
/// use fpstore_documents::{Admission, DocumentOptions, Error, hash_documents};
/// use fpstore_text::{TextHasher, TextRecipe};
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
    take: impl FnMut(Document<'_>) -> Result<Admission, E>,
) -> Result<DocumentSummary, E> {
    DocumentFiles::find(paths, options)?.hash(hasher, options, take)
}

/// Like [`hash_documents`], but also passes the features of each document to `take`.
///
/// # Errors
///
/// The same as [`hash_documents`].
pub fn read_features<E: From<Error>>(
    paths: &[PathBuf],
    hasher: &TextHasher,
    options: &DocumentOptions,
    take: impl FnMut(Document<'_>) -> Result<Admission, E>,
) -> Result<DocumentSummary, E> {
    DocumentFiles::find(paths, options)?.read_features(hasher, options, None, take)
}

/// Reads fingerprints from the field or column [`DocumentOptions::text_field`] of each record, and
/// calls `take` in the same way as [`hash_documents`].
///
/// `form`, a [`Radix`](fpstore_base::Radix) of 64 bits or a [`ReadyForm`], sets the number base of
/// fingerprints in texts. If a value is a number, even a negative one, its bits are the
/// fingerprint. An empty or null field means a document without fingerprint. The text length of
/// [`Document`] is 0.
///
/// # Errors
///
/// The same as [`hash_documents`], and [`Error::BadFile`] if a file has a format without fields.
pub fn read_fingerprints<E: From<Error>>(
    paths: &[PathBuf],
    form: impl Into<ReadyForm>,
    options: &DocumentOptions,
    take: impl FnMut(Document<'_>) -> Result<Admission, E>,
) -> Result<DocumentSummary, E> {
    DocumentFiles::find(paths, options)?.read_fingerprints(form, options, take)
}

impl DocumentFiles {
    /// Like [`read_fingerprints`], but for these files.
    ///
    /// # Errors
    ///
    /// The same as [`read_fingerprints`].
    pub fn read_fingerprints<E: From<Error>>(
        &self,
        form: impl Into<ReadyForm>,
        options: &DocumentOptions,
        mut take: impl FnMut(Document<'_>) -> Result<Admission, E>,
    ) -> Result<DocumentSummary, E> {
        let options = &DocumentOptions { ready: Some(form.into()), ..options.clone() };
        let make_task = ReadyTask::default;
        let work =
            Pipeline { files: self, options, takes_features: false, wanted: None, make_task };
        let mut ids = IdNotes::default();
        let mut doubt = Doubt::default();
        let field = options.text_name();
        let summary = work.run(|place, document, summary| {
            let Processed { id, output: ready, fields, .. } = document;
            doubt.note(&ready, place.file, self, field)?;
            let document = Document {
                place,
                id: id.as_ref(),
                fingerprint: ready.fingerprint,
                features: &[],
                text_len: 0,
                digests: None,
                fields: &fields,
            };
            admit(document, &mut ids, summary, &mut take)
        })?;
        doubt.end(self, field)?;
        Ok(summary)
    }

    /// Like [`hash_documents`], but for these files.
    ///
    /// # Errors
    ///
    /// The same as [`hash_documents`].
    pub fn hash<E: From<Error>>(
        &self,
        hasher: &TextHasher,
        options: &DocumentOptions,
        mut take: impl FnMut(Document<'_>) -> Result<Admission, E>,
    ) -> Result<DocumentSummary, E> {
        let options = &options.clone().of_recipe(hasher.recipe());
        let task_hasher = digesting(hasher.clone(), options);
        let work = Pipeline {
            files: self,
            options,
            takes_features: takes_features(hasher),
            wanted: None,
            make_task: move || HashTask(task_hasher.clone()),
        };
        let mut ids = IdNotes::default();
        work.run(|place, document, summary| {
            let Processed { id, output: (fingerprint, digests), text_len, fields } = document;
            let document = Document {
                place,
                id: id.as_ref(),
                fingerprint,
                features: &[],
                text_len,
                digests,
                fields: &fields,
            };
            admit(document, &mut ids, summary, &mut take)
        })
    }

    /// Like [`read_features`], but for these files. If `wanted` is given, only documents at the
    /// places for which it returns `true` are read.
    ///
    /// # Errors
    ///
    /// The same as [`hash_documents`].
    pub fn read_features<E: From<Error>>(
        &self,
        hasher: &TextHasher,
        options: &DocumentOptions,
        wanted: Option<Arc<PlaceFilter>>,
        mut take: impl FnMut(Document<'_>) -> Result<Admission, E>,
    ) -> Result<DocumentSummary, E> {
        let options = &options.clone().of_recipe(hasher.recipe());
        let task_hasher = digesting(hasher.counting(), options);
        let work = Pipeline {
            files: self,
            options,
            takes_features: takes_features(hasher),
            wanted,
            make_task: move || BothTask(task_hasher.clone()),
        };
        let mut ids = IdNotes::default();
        work.run(|place, document, summary| {
            let Processed { id, output, text_len, fields } = document;
            let (fingerprint, features, digests) = output;
            let document = Document {
                place,
                id: id.as_ref(),
                fingerprint,
                features: &features,
                text_len,
                digests,
                fields: &fields,
            };
            admit(document, &mut ids, summary, &mut take)
        })
    }

    /// Like [`read_texts`], but for these files, and also passes the place of each document. If
    /// `wanted` is given, only documents at the places for which it returns `true` are read.
    ///
    /// # Errors
    ///
    /// The same as [`read_texts`].
    pub fn read_texts<E: From<Error>>(
        &self,
        options: &DocumentOptions,
        wanted: Option<Arc<PlaceFilter>>,
        mut take: impl FnMut(DocumentPlace, IdRef<'_>, &str) -> Result<(), E>,
    ) -> Result<DocumentSummary, E> {
        let make_task = TextTask::default;
        let work = Pipeline { files: self, options, takes_features: false, wanted, make_task };
        work.run(|place, document, summary| {
            take(place, document.id.as_ref(), &document.output)?;
            summary.document_count += 1;
            Ok(Admission::Taken)
        })
    }

    /// Calls `take` with the place and the id of each document, in order, and the result of a
    /// function of its text. `make_map` makes such a function for each worker thread, so that
    /// several threads process the texts, which are not kept afterwards. If `wanted` is given, only
    /// documents at the places for which it returns `true` are read.
    ///
    /// ```
    /// use fpstore_documents::{DocumentFiles, DocumentOptions, Error};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("pages.jsonl");
    /// # std::fs::write(&path, "{\"id\":\"a\",\"text\":\"one two\"}\n")?;
    ///
    /// let options = DocumentOptions::default();
    /// let files = DocumentFiles::find(&[path], &options)?;
    /// let mut lengths = Vec::new();
    /// let make_map = || |text: &str| text.len();
    /// files.map_texts(&options, None, make_map, |_, id, len| {
    ///     lengths.push((id.to_string(), len));
    ///     Ok::<_, Error>(())
    /// })?;
    /// assert_eq!(lengths, [("a".to_string(), 7)]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// The same as [`read_texts`].
    pub fn map_texts<T: Send + 'static, F: FnMut(&str) -> T, E: From<Error>>(
        &self,
        options: &DocumentOptions,
        wanted: Option<Arc<PlaceFilter>>,
        make_map: impl Fn() -> F + Send + Sync + 'static,
        mut take: impl FnMut(DocumentPlace, IdRef<'_>, T) -> Result<(), E>,
    ) -> Result<DocumentSummary, E> {
        let make_task = move || MapTask { text: String::new(), map: make_map() };
        let work = Pipeline { files: self, options, takes_features: false, wanted, make_task };
        work.run(|place, document, summary| {
            let Processed { id, output, .. } = document;
            take(place, id.as_ref(), output)?;
            summary.document_count += 1;
            Ok(Admission::Taken)
        })
    }
}

/// The hasher of a task, with digests if requested.
fn digesting(hasher: TextHasher, options: &DocumentOptions) -> TextHasher {
    if options.digests { hasher.digesting() } else { hasher }
}

/// Passes a document to the caller, and counts it if it was taken.
fn admit<E>(
    document: Document<'_>,
    ids: &mut IdNotes,
    summary: &mut DocumentSummary,
    take: &mut impl FnMut(Document<'_>) -> Result<Admission, E>,
) -> Result<Admission, E> {
    let admission = take(document)?;
    if admission == Admission::Taken {
        summary.count(document.id, document.fingerprint.is_some());
        ids.note(document.id, &mut summary.repeated_ids);
    }
    Ok(admission)
}

/// For each feature, counts the documents in the files and folders `paths` that contain the
/// feature.
///
/// # Errors
///
/// The same as [`hash_documents`].
pub fn count_document_frequencies(
    paths: &[PathBuf],
    hasher: &TextHasher,
    options: &DocumentOptions,
    builder: &mut DfBuilder,
) -> Result<DocumentSummary> {
    let (task_hasher, hash) = (hasher.counting(), hasher.recipe().hash);
    let make_task = move || CountTask { hasher: task_hasher.clone(), hash };
    let files = &DocumentFiles::find(paths, options)?;
    let takes_features = takes_features(hasher);
    let work = Pipeline { files, options, takes_features, wanted: None, make_task };
    work.run(|_, document, summary| {
        builder.add_hashes(&document.output);
        summary.count(document.id.as_ref(), !document.output.is_empty());
        Ok(Admission::Taken)
    })
}

/// Calls `take` with the texts of all documents in the files and folders `paths`, in order, as
/// [`hash_documents`] would hash them. The text of an HTML page is its main text.
///
/// # Errors
///
/// The same as [`hash_documents`]; files of features are refused.
pub fn read_texts<E: From<Error>>(
    paths: &[PathBuf],
    options: &DocumentOptions,
    mut take: impl FnMut(IdRef<'_>, &str) -> Result<(), E>,
) -> Result<DocumentSummary, E> {
    DocumentFiles::find(paths, options)?.read_texts(options, None, |_, id, text| take(id, text))
}

/// The input and the options that control the work.
struct Pipeline<'a, M> {
    files: &'a DocumentFiles,
    options: &'a DocumentOptions,
    /// Whether the recipe is for features made elsewhere.
    takes_features: bool,
    wanted: Option<Arc<PlaceFilter>>,
    make_task: M,
}

impl<M> Pipeline<'_, M> {
    fn run<T: Task, E: From<Error>>(
        self,
        mut take: impl FnMut(
            DocumentPlace,
            Processed<T::Output>,
            &mut DocumentSummary,
        ) -> Result<Admission, E>,
    ) -> Result<DocumentSummary, E>
    where
        M: Fn() -> T + Send + Sync + 'static,
    {
        let Pipeline { files, options, takes_features, wanted, make_task } = self;
        if options.unit.is_some() && (takes_features || options.ready.is_some()) {
            let reason = "only texts have passages; features and ready fingerprints have none";
            return Err(Error::InvalidInputs { reason: reason.into() }.into());
        }
        let options = Arc::new(files.guess.completed(options));
        let watch = Watch::new(options.observer.clone(), Phase::Documents, files.total_len());

        let read = {
            let (files, options, watch) = (files.clone(), options.clone(), watch.clone());
            move |feed: &mut fpstore_base::parallel::Feed<_, _>| {
                let mut push = |batch, len| feed.push(Ok(batch), len);
                let reader = Reader::new(&options, wanted.as_deref(), watch, &mut push);
                let read = reader.read_all(&files, takes_features);
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
                    let batch = batch?;
                    let mut finished = Vec::with_capacity(batch.len());
                    for document in batch {
                        task::run_all(document, &options, &mut task, &mut finished);
                    }
                    Ok(finished)
                }
            }
        };
        let in_flight_len = usize::try_from(options.in_flight_len).unwrap_or(usize::MAX);
        // The reader may be waiting for standard input when the caller ends, so its thread is
        // detached.
        let mut results = Parallel::new(options.threads).bytes(in_flight_len).run(read, work);
        let passed_over = files.passed_over;
        let guess = files.guess.words.clone();
        let mut summary = DocumentSummary { passed_over, guess, ..DocumentSummary::default() };
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
                    Ok(document) => match take(place, document, &mut summary)? {
                        Admission::Taken => continue,
                        Admission::Refused { reason } => Failure::Bad(reason),
                    },
                    Err(failure) => failure,
                };
                summary.skip(files, &options, place, failure)?;
            }
        }
    }
}

/// Whether the recipe is for features made elsewhere.
fn takes_features(hasher: &TextHasher) -> bool {
    hasher.recipe().tokenizer == Tokenizer::Given
}

/// The number of records at the start of a file that decide between hex and decimal fingerprints.
const TOLD_COUNT: u64 = 100;

/// Examines whether the first fingerprints of a file may be both hex and decimal.
#[derive(Default)]
struct Doubt {
    file: usize,
    count: u64,
    plain: u64,
    is_hex: bool,
}

impl Doubt {
    /// Examines a fingerprint.
    ///
    /// # Errors
    ///
    /// [`Error::UnclearFields`] if the texts so far may be hex or decimal, and no more will be
    /// examined.
    fn note(
        &mut self,
        ready: &Ready,
        file: usize,
        files: &DocumentFiles,
        field: &str,
    ) -> Result<()> {
        if file != self.file {
            self.end(files, field)?;
            *self = Doubt { file, ..Doubt::default() };
        }
        self.count += 1;
        self.is_hex |= ready.is_hex == Some(true);
        self.plain += u64::from(ready.is_hex == Some(false));
        // The records of a stream are used as they arrive, so the first two decide.
        let told_count = if files.list[file].len.is_none() { 2 } else { TOLD_COUNT };
        if self.count >= told_count { self.end(files, field) } else { Ok(()) }
    }

    /// Ends the examination of a file, and refuses it if several texts may be both hex and decimal.
    fn end(&mut self, files: &DocumentFiles, field: &str) -> Result<()> {
        if self.is_hex || self.plain < 2 {
            return Ok(());
        }
        let reason = format!(
            "'{field}' has numbers without a letter, which could be hex or decimal (--radix hex or dec)"
        );
        let likely = LikelyFields { radix: Some(Radix::Decimal), ..LikelyFields::default() };
        let name = files.list[self.file].name.clone();
        Err(Error::UnclearFields { name, reason, likely: likely.into() })
    }
}
