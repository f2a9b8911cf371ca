//! One thread reads, several work, and the results come back in the order of the documents.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::documents::walk::{Input, inputs};
use crate::documents::{Body, DocumentFormat, DocumentOptions, FileKind, Item, Place};
use crate::documents::{decode, html, json, lines, plain, rows};
use crate::error::{Error, InputPlace, Result};
use crate::fingerprint::Fingerprint;
use crate::id::{Id, IdRef};
use crate::source;
use crate::text::{DfBuilder, Segment, SimHasher, Weight};

/// How many faults and documents without features a summary shows.
const SHOWN_MAX: usize = 10;
/// A batch goes out when it holds so many documents or bytes.
const BATCH_COUNT: usize = 256;
const BATCH_LEN: usize = 1 << 20;

/// A document that was worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HashedDocument<'a> {
    /// Its id.
    pub id: IdRef<'a>,
    /// Its fingerprint, or none if it has no features.
    pub fingerprint: Option<Fingerprint>,
}

/// What came out of the inputs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DocumentSummary {
    /// Documents with a fingerprint.
    pub document_count: u64,
    /// Documents without features, which have none.
    pub empty_count: u64,
    /// The ids of the first ten of these.
    pub empty: Vec<Id>,
    /// Bad records that were passed over.
    pub skipped_count: u64,
    /// What was wrong with the first ten, with the names of their inputs and their places.
    pub skipped: Vec<String>,
}

/// Makes fingerprints of all documents in the files and folders `paths`, and hands them to `take` in
/// order. `-` is standard input; names that end in `.gz` or `.zst` are decompressed.
///
/// Documents are read one after the other and worked on by several threads; a bounded number of them is in
/// memory. A document in a plain file of its own is not held whole.
///
/// # Errors
///
/// * [`Error::BadInput`] with name and place of the first bad record, unless they are passed over.
///   An [`Error::InvalidId`] from `take` makes its record a bad one.
/// * [`Error::InvalidRecipe`] if the recipe is one for given features and a file holds texts, or the other way round.
/// * [`Error::Io`] if an input cannot be read or decompressed.
/// * Any other error from `take`.
///
/// # Examples
///
/// ```
/// use fpstore::{DocumentOptions, SimHasher, TextRecipe, hash_documents};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("docs.jsonl");
///
/// std::fs::write(&path, "{\"id\":\"a\",\"text\":\"one two three\"}\n{\"id\":\"b\",\"text\":\"\"}\n")?;
/// let hasher = SimHasher::new(&TextRecipe::default())?;
/// let mut fingerprints = Vec::new();
/// let summary = hash_documents(&[path], &hasher, &DocumentOptions::default(), |document| {
///     fingerprints.extend(document.fingerprint);
///     Ok(())
/// })?;
/// assert_eq!((summary.document_count, summary.empty_count), (1, 1));
/// # Ok(()) }
/// ```
pub fn hash_documents(
    paths: &[PathBuf],
    hasher: &SimHasher,
    options: &DocumentOptions,
    mut take: impl FnMut(HashedDocument<'_>) -> Result<()>,
) -> Result<DocumentSummary> {
    let given = hasher.recipe().segment == Segment::Given;
    let mut summary = DocumentSummary::default();
    let workers = || HashWork(hasher.clone());
    run(paths, given, options, &workers, &mut summary, &mut |summary, id, fingerprint| {
        take(HashedDocument { id: id.as_ref(), fingerprint })?;
        count(summary, id, fingerprint.is_some());
        Ok(())
    })?;
    Ok(summary)
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
    let given = hasher.recipe().segment == Segment::Given;
    let mut summary = DocumentSummary::default();
    let workers = || CountWork { hasher: hasher.clone(), text: String::new() };
    run(paths, given, options, &workers, &mut summary, &mut |summary, id, hashes| {
        builder.add_hashes(&hashes);
        count(summary, id, !hashes.is_empty());
        Ok(())
    })?;
    Ok(summary)
}

fn count(summary: &mut DocumentSummary, id: &Id, has_features: bool) {
    if has_features {
        summary.document_count += 1;
        return;
    }
    summary.empty_count += 1;
    if summary.empty.len() < SHOWN_MAX {
        summary.empty.push(id.clone());
    }
}

/// What is done with each document.
trait Work: Send {
    type Out: Send;
    fn whole(&mut self, text: &str) -> Self::Out;
    fn feed(&mut self, part: &str);
    fn finish(&mut self) -> Self::Out;
    fn reset(&mut self);
    fn features(&mut self, features: &json::Features<'_>) -> Self::Out;
}

struct HashWork(SimHasher);

impl Work for HashWork {
    type Out = Option<Fingerprint>;

    fn whole(&mut self, text: &str) -> Self::Out {
        self.0.fingerprint(text)
    }

    fn feed(&mut self, part: &str) {
        self.0.feed(part);
    }

    fn finish(&mut self) -> Self::Out {
        self.0.finish()
    }

    fn reset(&mut self) {
        self.0.reset();
    }

    fn features(&mut self, features: &json::Features<'_>) -> Self::Out {
        let features = features.iter().map(|(name, weight)| (name.as_ref(), *weight));
        self.0.fingerprint_of_features(features)
    }
}

struct CountWork {
    hasher: SimHasher,
    text: String,
}

impl Work for CountWork {
    type Out = Vec<u64>;

    fn whole(&mut self, text: &str) -> Self::Out {
        self.hasher.distinct_features(text)
    }

    fn feed(&mut self, part: &str) {
        self.text.push_str(part);
    }

    fn finish(&mut self) -> Self::Out {
        let hashes = self.hasher.distinct_features(&self.text);
        self.text.clear();
        hashes
    }

    fn reset(&mut self) {
        self.text.clear();
    }

    fn features(&mut self, features: &json::Features<'_>) -> Self::Out {
        let hash = self.hasher.recipe().hash;
        let mut hashes: Vec<u64> = features
            .iter()
            .filter(|(_, weight)| *weight > Weight::ZERO)
            .map(|(name, _)| hash.of(name.as_bytes()))
            .collect();
        hashes.sort_unstable();
        hashes.dedup();
        hashes
    }
}

/// A document that was worked on, or why it could not be.
struct Done<T> {
    place: Place,
    outcome: Result<(Id, T), Fault>,
}

enum Fault {
    /// Something is wrong with the record.
    Bad(String),
    /// The system refused.
    Refused(Error),
}

type Batch<T> = (u64, Vec<T>);
type Take<'t, T> = &'t mut dyn FnMut(&mut DocumentSummary, &Id, T) -> Result<()>;

fn run<W: Work>(
    paths: &[PathBuf],
    given: bool,
    options: &DocumentOptions,
    make_work: &(dyn Fn() -> W + Sync),
    summary: &mut DocumentSummary,
    take: Take<'_, W::Out>,
) -> Result<()> {
    let inputs = inputs(paths)?;
    let thread_count = match options.threads {
        0 => thread::available_parallelism().map_or(1, usize::from),
        count => count,
    };
    // So many batches may be anywhere between reader and taker.
    let batch_count = thread_count * 4;
    let (work_sender, work_receiver) = sync_channel::<Batch<Item>>(batch_count);
    let work_receiver = Mutex::new(work_receiver);
    let (done_sender, done_receiver) = channel::<Batch<Done<W::Out>>>();
    let (credit_sender, credit_receiver) = sync_channel::<()>(batch_count);
    for _ in 0..batch_count {
        let _ = credit_sender.send(());
    }
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut feeder = Feeder::new(work_sender, credit_receiver);
            let read = read_all(&inputs, given, options, &mut feeder);
            feeder.send();
            read
        });
        for _ in 0..thread_count {
            let (work_receiver, done_sender) = (&work_receiver, done_sender.clone());
            scope.spawn(move || {
                let mut work = make_work();
                loop {
                    let received =
                        work_receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok((number, items)) = received else { return };
                    let done = items.into_iter().map(|item| work_on(item, options, &mut work));
                    if done_sender.send((number, done.collect())).is_err() {
                        return;
                    }
                }
            });
        }
        drop(done_sender);
        let taken = take_all(&inputs, options, done_receiver, &credit_sender, summary, take);
        drop(credit_sender);
        // If the taker stopped, the reader stops at its next batch; what it says then is of no interest.
        let read = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        taken.and(read)
    })
}

/// Takes results in order.
fn take_all<T>(
    inputs: &[Input],
    options: &DocumentOptions,
    done: Receiver<Batch<Done<T>>>,
    credit: &SyncSender<()>,
    summary: &mut DocumentSummary,
    take: Take<'_, T>,
) -> Result<()> {
    let mut waiting = BTreeMap::new();
    let mut next = 0;
    for (number, batch) in done {
        waiting.insert(number, batch);
        while let Some(batch) = waiting.remove(&next) {
            next += 1;
            for Done { place, outcome } in batch {
                let fault = match outcome {
                    Ok((id, out)) => match take(summary, &id, out) {
                        Ok(()) => continue,
                        Err(Error::InvalidId { reason }) => Fault::Bad(format!("bad id: {reason}")),
                        Err(error) => return Err(error),
                    },
                    Err(fault) => fault,
                };
                pass_over(inputs, options, place, fault, summary)?;
            }
            let _ = credit.send(());
        }
    }
    Ok(())
}

fn pass_over(
    inputs: &[Input],
    options: &DocumentOptions,
    place: Place,
    fault: Fault,
    summary: &mut DocumentSummary,
) -> Result<()> {
    let name = inputs.get(place.input).map_or("input", |input| input.name.as_str());
    let reason = match fault {
        Fault::Bad(reason) => reason,
        Fault::Refused(error) if !options.skip_bad => return Err(error),
        Fault::Refused(Error::Io { doing, source, .. }) => format!("cannot {doing} it: {source}"),
        Fault::Refused(error) => error.to_string(),
    };
    if !options.skip_bad {
        let place = place.at.unwrap_or(InputPlace::Byte(0));
        return Err(Error::BadInput { name: name.into(), place, reason });
    }
    summary.skipped_count += 1;
    if summary.skipped.len() < SHOWN_MAX {
        summary.skipped.push(match place.at {
            Some(at) => format!("{name}: {at}: {reason}"),
            None => format!("{name}: {reason}"),
        });
    }
    Ok(())
}

/// Gathers documents into batches.
struct Feeder {
    sender: SyncSender<Batch<Item>>,
    credit: Receiver<()>,
    batch: Vec<Item>,
    batch_len: usize,
    number: u64,
    /// Whether no one works on what comes.
    stopped: bool,
}

impl Feeder {
    fn new(sender: SyncSender<Batch<Item>>, credit: Receiver<()>) -> Self {
        Feeder { sender, credit, batch: Vec::new(), batch_len: 0, number: 0, stopped: false }
    }

    /// Takes a document, and says whether to go on.
    fn push(&mut self, input: usize, at: Option<InputPlace>, body: Body) -> bool {
        self.batch_len += match &body {
            Body::JsonText(bytes) | Body::JsonFeatures(bytes) | Body::Line(_, bytes) => bytes.len(),
            Body::Row(id, text) => id.len() + text.len(),
            // What is in it is not known; files are best worked on one by one.
            Body::File(..) => BATCH_LEN / 16,
            Body::Bad(_) => 0,
        };
        self.batch.push(Item { place: Place { input, at }, body });
        if self.batch.len() >= BATCH_COUNT || self.batch_len >= BATCH_LEN {
            self.send();
        }
        !self.stopped
    }

    fn send(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        self.batch_len = 0;
        if batch.is_empty() || self.stopped {
            return;
        }
        let sent = self.credit.recv().is_ok() && self.sender.send((self.number, batch)).is_ok();
        self.stopped = !sent;
        self.number += 1;
    }
}

fn read_all(
    inputs: &[Input],
    given: bool,
    options: &DocumentOptions,
    feeder: &mut Feeder,
) -> Result<()> {
    for (number, input) in inputs.iter().enumerate() {
        let mut format = options.format.unwrap_or_else(|| DocumentFormat::of(&input.path));
        if given && format == DocumentFormat::JsonLines && options.format.is_none() {
            format = DocumentFormat::Features;
        }
        if given != (format == DocumentFormat::Features) {
            let reason = match given {
                true => format!(
                    "it takes features that were made elsewhere; {} holds texts",
                    input.name
                ),
                false => format!("it takes texts; {} holds ready features", input.name),
            };
            return Err(Error::InvalidRecipe { reason });
        }
        read_input(number, input, format, inputs.len() > 1, options, feeder)?;
        if feeder.stopped {
            break;
        }
    }
    Ok(())
}

fn read_input(
    number: usize,
    input: &Input,
    format: DocumentFormat,
    many: bool,
    options: &DocumentOptions,
    feeder: &mut Feeder,
) -> Result<()> {
    let path = input.path.as_path();
    let unreadable = |fault: std::io::Error| match fault.get_ref() {
        Some(inner) if inner.is::<decode::Undecodable>() => Error::BadInput {
            name: input.name.clone(),
            place: InputPlace::Byte(
                inner.downcast_ref::<decode::Undecodable>().map_or(0, |u| u.offset),
            ),
            reason: inner.to_string(),
        },
        _ => {
            Error::Io { doing: source::doing(path), path: input.name.clone().into(), source: fault }
        }
    };
    let open = || {
        let reader = source::open(path)?;
        decode::utf8_reader(reader, options.encoding).map_err(unreadable)
    };
    let line_body = |line: u64, bytes: Vec<u8>| match format {
        DocumentFormat::JsonLines => Body::JsonText(bytes),
        DocumentFormat::Features => Body::JsonFeatures(bytes),
        _ if many => Body::Line(format!("{}:{line}", input.name), bytes),
        _ => Body::Line(line.to_string(), bytes),
    };
    match format {
        DocumentFormat::JsonLines | DocumentFormat::Features | DocumentFormat::Lines => {
            let take = &mut |line: u64, bytes: lines::Line| {
                let at = Some(InputPlace::Line(line));
                match bytes {
                    Ok(bytes) if bytes.iter().all(u8::is_ascii_whitespace) => true,
                    Ok(bytes) => feeder.push(number, at, line_body(line, bytes)),
                    Err(reason) => feeder.push(number, at, Body::Bad(reason)),
                }
            };
            lines::read(open()?, take).map_err(unreadable)
        }
        DocumentFormat::Csv | DocumentFormat::Tsv => {
            let is_tsv = format == DocumentFormat::Tsv;
            let take = &mut |(line, row): rows::Row| {
                let body = match row {
                    Ok((id, text)) => Body::Row(id, text),
                    Err(reason) => Body::Bad(reason),
                };
                feeder.push(number, Some(InputPlace::Line(line)), body)
            };
            let read = rows::read(open()?, is_tsv, &options.id_field, &options.text_field, take);
            read.map_err(|fault| match fault {
                rows::TableFault::Io(fault) => unreadable(fault),
                rows::TableFault::Header(reason) => {
                    let (name, place) = (input.name.clone(), InputPlace::Line(1));
                    Error::BadInput { name, place, reason }
                }
            })
        }
        DocumentFormat::Parquet => {
            #[cfg(feature = "parquet")]
            {
                let (id, text) = (&options.id_field, &options.text_field);
                super::parquet::read(path, &input.name, id, text, &mut |row, fields| {
                    let body = match fields {
                        Ok((id, text)) => Body::Row(id, text),
                        Err(reason) => Body::Bad(reason),
                    };
                    feeder.push(number, Some(InputPlace::Line(row)), body)
                })
            }
            #[cfg(not(feature = "parquet"))]
            {
                let name = &input.name;
                let reason = format!(
                    "{name} is Parquet, which this program was built without (cargo feature 'parquet')"
                );
                Err(Error::InvalidRecipe { reason })
            }
        }
        DocumentFormat::Plain | DocumentFormat::Html => {
            let kind = match format {
                DocumentFormat::Html => FileKind::Html,
                _ => FileKind::Plain,
            };
            let id =
                if path == std::path::Path::new("-") { "-".into() } else { input.name.clone() };
            feeder.push(number, None, Body::File(id, input.path.clone(), kind));
            Ok(())
        }
    }
}

fn work_on<W: Work>(item: Item, options: &DocumentOptions, work: &mut W) -> Done<W::Out> {
    let Item { place, body } = item;
    let outcome = match body {
        Body::JsonText(line) => json::text_of(&line, &options.id_field, &options.text_field)
            .map(|(id, text)| (id, work.whole(&text)))
            .map_err(Fault::Bad),
        Body::JsonFeatures(line) => json::features_of(&line, &options.id_field)
            .map(|(id, features)| (id, work.features(&features)))
            .map_err(Fault::Bad),
        Body::Line(id, line) => decode::utf8_line(&line)
            .map(|text| (Id::Text(id.into()), work.whole(text)))
            .map_err(Fault::Bad),
        Body::Row(id, text) => Ok((Id::Text(id.into()), work.whole(&text))),
        Body::File(id, path, FileKind::Plain) => {
            let read = plain::read(&path, options.encoding, &mut |part| work.feed(part));
            match read {
                Ok(Ok(())) => Ok((Id::Text(id.into()), work.finish())),
                Ok(Err(fault)) => {
                    work.reset();
                    Err(Fault::Bad(fault.to_string()))
                }
                Err(error) => {
                    work.reset();
                    Err(Fault::Refused(error))
                }
            }
        }
        Body::File(id, path, FileKind::Html) => plain::bytes(&path)
            .map_err(Fault::Refused)
            .and_then(|page| html::main_text(&page, options.encoding).map_err(Fault::Bad))
            .map(|text| (Id::Text(id.into()), work.whole(&text))),
        Body::Bad(reason) => Err(Fault::Bad(reason)),
    };
    Done { place, outcome }
}
