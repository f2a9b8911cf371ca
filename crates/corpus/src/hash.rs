//! Step 1: reads the documents of each batch of files into a spool.

use std::collections::BTreeMap;
use std::io::Write;

use fpstore_documents::{
    Admission, Document, DocumentFiles, DocumentOptions, DocumentSummary, IdNotes,
};
use fpstore_text::sketch;

use super::address::address_digest;
use super::error::Result;
use super::event::Event;
use super::job::{FEATURES, Job, PART};
use super::spool::{
    Counts, Empties, Entry, SpoolFile, Spools, write_end, write_entry, write_start,
};
use super::work::Work;
use fpstore::join::confirm::feature_digest;
use fpstore_base::IoError;
use fpstore_base::watch::Observer;

pub(super) fn run(work: &Work<'_>, job: &Job) -> Result<Spools> {
    let names: Vec<_> = (0..work.batches.len()).map(|at| format!("{PART}{at}")).collect();
    if job.is_resumed() {
        let done = names.iter().filter(|name| job.has(name)).count();
        work.tell(Event::Resumed { done, count: names.len() });
    }
    let start = || -> Result<_> {
        let left_out = job.left_out()?.into_iter().map(u64::from);
        let spools = Spools::new(left_out, work.copies_files());
        let observer = work.settings.resources.observer.clone();
        Ok((spools.observed(observer), IdNotes::default()))
    };
    let mut starts = vec![0];
    for batch in &work.batches {
        let len = work.files.part(batch.clone()).total_len().unwrap_or(0);
        starts.push(starts[starts.len() - 1] + len);
    }
    let total = work.files.total_len();
    let (mut spools, mut ids) = start()?;
    while let Some(name) = names.get(spools.batch_count()) {
        let at = spools.batch_count();
        let features = format!("{FEATURES}{at}");
        let is_kept =
            || if job.is_resumed() { job.is_sound(&features) } else { job.has(&features) };
        let is_new = !job.has(name) || work.keeps_features() && !is_kept();
        if is_new {
            let observer = observer(work, starts[at], total);
            let summary = match work.keeps_features() {
                true => job.save(&features, |out| {
                    read_batch(work, job, at, name, observer, |features| {
                        let written = out.write_all(bytemuck::cast_slice(features));
                        Ok(written.map_err(IoError::of("write", job.folder().path()))?)
                    })
                })?,
                false => read_batch(work, job, at, name, observer, |_| Ok(()))?,
            };
            work.tell(Event::Read(&of_part(summary, at)));
        }
        let (folder, name) = (job.folder().clone(), name.clone());
        let file = SpoolFile { folder, mark: job.mark(&name), name };
        match spools.push(file, &mut ids) {
            // After damage, a spool of an earlier run is discarded and written again.
            Err(error) if error.is_interruption() => return Err(error),
            Err(_) if !is_new => {
                job.discard(&names[at])?;
                (spools, ids) = start()?;
            }
            pushed => pushed?,
        }
    }
    Ok(spools)
}

/// Reads the documents of a batch into a new spool, and passes the features of each document to
/// `keep`.
fn read_batch(
    work: &Work<'_>,
    job: &Job,
    at: usize,
    name: &str,
    observer: Option<Observer>,
    mut keep: impl FnMut(&[u64]) -> Result<()>,
) -> Result<DocumentSummary> {
    let files = work.files.part(work.batches[at].clone());
    let options = work.options.clone().observer(observer);
    // A closure, so that the path is built only for an error and not for each entry.
    let cannot = |source| IoError::of("write", job.path(name))(source);
    job.save(name, |out| {
        write_start(out).map_err(cannot)?;
        let mut empties: BTreeMap<(u32, Option<String>), u64> = BTreeMap::new();
        let summary = read(work, &files, &options, |document, digest, sketch| {
            let entry = match entry_of(work, &document, digest, &sketch)? {
                Ok(Some(entry)) => entry,
                Ok(None) => {
                    let source = work.fields.source(&document).map(String::from);
                    *empties.entry((file_of(&document)?, source)).or_default() += 1;
                    return Ok(Admission::Taken);
                }
                Err(reason) => return Ok(Admission::Refused { reason }),
            };
            write_entry(out, &entry).map_err(cannot)?;
            keep(document.features)?;
            Ok(Admission::Taken)
        })?;
        let DocumentSummary { document_count, empty_count, damaged_count, .. } = summary;
        let bad_count = summary.skipped_count;
        let counts = Counts { document_count, empty_count, bad_count, damaged_count };
        let empties = empties.into_iter();
        let empties = empties.map(|((file, source), count)| Empties { file, source, count });
        let empties: Vec<Empties> = empties.collect();
        write_end(out, counts, &empties, &summary.unread).map_err(cannot)?;
        Ok(summary)
    })
}

/// Reads documents, and computes the digests of their features and their sketches if needed.
fn read(
    work: &Work<'_>,
    files: &DocumentFiles,
    options: &DocumentOptions,
    mut take: impl FnMut(Document<'_>, u64, Vec<u8>) -> Result<Admission>,
) -> Result<DocumentSummary> {
    let source = &work.settings.source;
    let sketch_len = source.sketch_len();
    if work.settings.confirm.is_none() && sketch_len == 0 {
        return source.read_plain(files, options, |document| take(document, 0, Vec::new()));
    }
    files.read_features(source.text_hasher()?, options, None, |document| {
        let features = document.features;
        let sketch = if sketch_len > 0 { sketch(features, sketch_len) } else { Vec::new() };
        take(document, feature_digest(features), sketch)
    })
}

/// The entry of a document, `None` if it has no features; or the reason why its record is bad.
fn entry_of<'a>(
    work: &'a Work<'_>,
    document: &'a Document<'a>,
    digest: u64,
    sketch: &'a [u8],
) -> Result<Result<Option<Entry<'a>>, String>> {
    let merits = match work.fields.merits(&work.settings, document) {
        Ok(merits) => merits,
        Err(reason) => return Ok(Err(reason)),
    };
    let address = match work.fields.address(document) {
        Ok(address) => address,
        Err(reason) => return Ok(Err(reason)),
    };
    let Some(fingerprint) = document.fingerprint else { return Ok(Ok(None)) };
    Ok(Ok(Some(Entry {
        file: file_of(document)?,
        record: document.place.record(),
        record_digest: document.place.digest,
        fingerprint,
        digest,
        digests: document.digests,
        address: address.and_then(address_digest),
        merits,
        source: work.fields.source(document),
        feature_count: u32::try_from(document.features.len())
            .map_err(|_| too_many("features of a document"))?,
        id: document.id,
        sketch,
    })))
}

/// The number of the file of a document.
fn file_of(document: &Document<'_>) -> Result<u32> {
    Ok(u32::try_from(document.place.file).map_err(|_| too_many("files"))?)
}

fn too_many(what: &str) -> fpstore::Error {
    fpstore::Error::TooLarge { reason: format!("more than 2^32 {what}") }
}

/// The observer for a batch, which adds `before`, the bytes of the earlier batches, to the
/// progress.
fn observer(work: &Work<'_>, before: u64, total: Option<u64>) -> Option<Observer> {
    let observer = work.settings.resources.observer.as_ref()?;
    Some(observer.of_part(move |mut progress| {
        progress.done += before;
        progress.total = total;
        progress
    }))
}

/// The summary of a batch to report. All batches have the same skipped files, so only the first
/// batch reports them. Ids may repeat between batches, so repeated ids are reported at the end.
fn of_part(mut summary: DocumentSummary, part: usize) -> DocumentSummary {
    summary.repeated_ids = Default::default();
    if part > 0 {
        summary.passed_over = Default::default();
        summary.guess = None;
    }
    summary
}
