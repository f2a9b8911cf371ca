//! One thread reads, several work, and the results come back in the order of the documents.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::documents::reading::{Batch, Feeder, read_all};
use crate::documents::walk::{Input, inputs};
use crate::documents::work::{CountWork, Done, Fault, HashWork, Work, work_on};
use crate::documents::{DocumentOptions, Item, Place};
use crate::error::{Error, InputPlace, Result};
use crate::fingerprint::Fingerprint;
use crate::id::{Id, IdRef};
use crate::text::{DfBuilder, Segment, SimHasher};
use crate::watch::{Phase, Watch};

/// How many faults and documents without features a summary shows.
const SHOWN_MAX: usize = 10;

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
/// * [`Error::Interrupted`] if the observer ends it.
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
    let workers = || CountWork { hasher: hasher.counting() };
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
    let total = inputs.iter().map(|input| input.len).sum();
    let watch = Watch::new(options.observer.clone(), Phase::Documents, total);
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
            let mut feeder = Feeder::new(work_sender, credit_receiver, watch);
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
