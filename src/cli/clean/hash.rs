//! Step 1: the documents of each batch of files to a spool.

use std::io::Write;
use std::ops::Range;

use anyhow::Context;
use fpstore::join::confirm::feature_digest;
use fpstore_text::{Admission, Document, DocumentFiles, DocumentOptions, DocumentSummary, sketch};

use super::super::confirm::outline;
use super::super::documents::report;
use super::Work;
use super::job::{Job, PART};
use super::spool::{Counts, Entry, Spools, write_end, write_entry, write_start};

/// A batch of files is full when it has this many bytes or files. After a crash, the files of one
/// batch are read again.
const BATCH_LEN: u64 = 64 << 20;
const BATCH_COUNT: usize = 4096;

pub(super) fn run(work: &Work<'_>, job: &Job) -> anyhow::Result<Spools> {
    let batches = &work.batches;
    let paths: Vec<_> = (0..batches.len()).map(|at| job.path(&format!("{PART}{at}"))).collect();
    let done = paths.iter().filter(|path| path.exists()).count();
    if job.is_resumed() && !work.args.quiet {
        message!("going on with unfinished work: {done} of {} parts are read", batches.len());
    }
    let total = work.files.total_len();
    let mut before = 0;
    for (at, (batch, path)) in batches.iter().zip(&paths).enumerate() {
        let files = work.files.part(batch.clone());
        if !path.exists() {
            let observer = work.monitor.observer_of_part(before, total);
            job.save(&format!("{PART}{at}"), |out| {
                write_start(out)?;
                let options = work.options.clone().observer(observer);
                let mut write = |document: Document<'_>, digest, sketch: Vec<u8>| {
                    take(work, out, document, digest, sketch)
                };
                let sketch_len = work.documents.sketch_len();
                let summary = if needs_features(work) {
                    files.read_features(work.documents.hasher()?, &options, None, |document| {
                        let (digest, features) =
                            (feature_digest(document.features), document.features);
                        // Outlines compare new documents alone, sketches also stored ones.
                        let sketch = match sketch_len {
                            0 => outline(features),
                            len => sketch(features, len),
                        };
                        write(document, digest, sketch)
                    })
                } else {
                    let mut write = |document: Document<'_>| write(document, 0, Vec::new());
                    work.documents.read_plain(&files, &options, &mut write)
                }?;
                work.monitor.suspend(|| report(&shown(&summary, at)));
                let DocumentSummary { document_count, empty_count, skipped_count, .. } = summary;
                Ok(write_end(
                    out,
                    Counts { document_count, empty_count, bad_count: skipped_count },
                )?)
            })?;
        }
        before += files.total_len().unwrap_or(0);
    }
    Spools::open(paths)
}

/// Whether the features of documents are needed, and not just their fingerprints.
fn needs_features(work: &Work<'_>) -> bool {
    work.args.confirm.confirm.is_some() || work.documents.sketch_len() > 0
}

fn take(
    work: &Work<'_>,
    out: &mut impl Write,
    document: Document<'_>,
    digest: u64,
    sketch: Vec<u8>,
) -> anyhow::Result<Admission> {
    let merit = match work.args.keep.merit(&document) {
        Ok(merit) => merit,
        Err(reason) => return Ok(Admission::Refused { reason }),
    };
    let Some(fingerprint) = document.fingerprint else { return Ok(Admission::Taken) };
    let entry = Entry {
        file: u32::try_from(document.place.file).context("more than 2^32 files")?,
        record: document.place.record(),
        fingerprint,
        digest,
        merit,
        feature_count: u32::try_from(document.features.len())?,
        id: document.id.to_id(),
        sketch,
    };
    write_entry(out, &entry).context("cannot write the list of documents")?;
    Ok(Admission::Taken)
}

/// What is to be said of a batch: the files that were passed over are the same for all.
fn shown(summary: &DocumentSummary, batch: usize) -> DocumentSummary {
    let mut shown = summary.clone();
    if batch > 0 {
        shown.passed_over = Default::default();
    }
    shown
}

/// The files, in batches.
pub(super) fn batches(files: &DocumentFiles, options: &DocumentOptions) -> Vec<Range<usize>> {
    let mut batches: Vec<Range<usize>> = Vec::new();
    let mut len = 0;
    for number in 0..files.len() {
        match batches.last_mut() {
            Some(batch) if len < BATCH_LEN && batch.len() < BATCH_COUNT => batch.end += 1,
            _ => {
                batches.push(number..number + 1);
                len = 0;
            }
        }
        let file = files.get(number, options);
        len += file.and_then(|file| file.file_len()).unwrap_or(0);
    }
    batches
}
