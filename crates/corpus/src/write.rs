//! Step 3: copies the files without the dropped documents.

use fpstore_base::IoError;
use std::collections::HashSet;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::{io, iter};

use fpstore_documents::{
    Decided, DocumentFile, DocumentFormat, NewField, RecordDecisions, RecordFate,
};

use super::clusters::ClusterSizes;
use super::copied::{NewOutput, OutputPath, copy_file, list_files, on_threads};
use super::decide::Decisions;
use super::dropped::{Dropped, DroppedList, OtherIds};
use super::error::{Error, Result};
use super::event::Event;
use super::job::{Job, Output};
use super::number::Number;
use super::passages::PassageCopier;
use super::spool::{RecordOf, Spools};
use super::targets::Targets;
use super::work::Work;
use fpstore_base::source::Compression;
use fpstore_base::watch::{Phase, Watch};
use fpstore_base::{Id, Interrupted};
use fpstore_disk as disk;
use fpstore_disk::Digest;

/// The output number of the list of kept files.
const KEPT_FILES: usize = usize::MAX;

/// The result of writing the outputs.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// The numbers of the files that could not be copied, each reported by an event. If there are
    /// any, the outputs are not complete.
    pub(super) failed: Vec<u32>,
    /// The numbers of documents with removed passages that were changed or annotated, and that were
    /// removed as a whole.
    pub(super) of_passages: (u64, u64),
}

/// Writes all missing outputs, and makes them durable.
pub(super) fn run(
    work: &Work<'_>,
    job: &Job,
    spools: &Spools,
    decisions: &Decisions,
    targets: &Targets,
) -> Result<Written> {
    let dropped = &decisions.dropped;
    let others = match &work.settings.annotate {
        Some(_) => OtherIds::read(spools, dropped)?,
        None => OtherIds::default(),
    };
    let copier = Copier {
        work,
        job,
        spools,
        dropped,
        decisions: decisions.digest,
        targets,
        others,
        new_fields: work.settings.new_fields(),
        sizes: (work.settings.cluster_size.is_some())
            .then(|| ClusterSizes::new(dropped, &decisions.spared)),
        passages: PassageCopier::of(work),
        watch: work.watch(Phase::Copy, work.files.total_len()),
        failed: Mutex::default(),
        dropped_files: Mutex::default(),
    };
    let threads = work.settings.resources.threads;
    on_threads(threads, spools.batch_count(), |batch| copier.copy_batch(batch))?;
    let mut failed =
        std::mem::take(&mut *copier.failed.lock().unwrap_or_else(PoisonError::into_inner));
    if failed.is_empty() {
        copier.write_kept_files()?;
        // A store may record the documents only after the names of their outputs are durable.
        targets.sync_folders()?;
    }
    failed.sort_unstable();
    let of_passages = copier.passages.as_ref().map_or((0, 0), PassageCopier::counts);
    Ok(Written { failed, of_passages })
}

/// Copies files; shared by all threads.
struct Copier<'a> {
    work: &'a Work<'a>,
    job: &'a Job,
    spools: &'a Spools,
    dropped: &'a DroppedList,
    /// The digest of the decisions that determine the copies.
    decisions: Digest,
    targets: &'a Targets,
    others: OtherIds,
    new_fields: Vec<NewField>,
    /// The sizes of clusters, if they are needed.
    sizes: Option<ClusterSizes<'a>>,
    /// The copier for removed passages; `None` if whole documents are removed.
    passages: Option<PassageCopier<'a>>,
    watch: Watch,
    /// The numbers of files that could not be copied.
    failed: Mutex<Vec<u32>>,
    /// The numbers of files that are a single document, which is dropped.
    dropped_files: Mutex<HashSet<usize>>,
}

impl Copier<'_> {
    /// Copies the files of a batch.
    fn copy_batch(&self, batch: usize) -> Result<()> {
        if let Some(passages) = &self.passages {
            return self.copy_batch_of_passages(passages, batch);
        }
        let mut records = self.spools.records_of(batch)?;
        // The fate of bad records, and of documents without fingerprint.
        let other = self.fate(None);
        for number in self.work.batches[batch].clone() {
            let Some(copy) = self.targets.copy_of(number) else { continue };
            let Some(file) = self.work.files.get(number, &self.work.options) else { continue };
            if self.spools.leaves_out(number) || self.is_written(number, copy.path)? {
                self.watch.tick(file.file_len().unwrap_or(0))?;
                continue;
            }
            let mut fault = None;
            let mut decisions = iter::from_fn(|| match records.next_of(number) {
                Ok(document) => document.map(|RecordOf { record, digest, number, .. }| {
                    Ok(Decided { record, digest, fate: self.fate(Some(number)) })
                }),
                Err(error) => {
                    fault = Some(error);
                    Some(Err(io::ErrorKind::Other.into()))
                }
            });
            let copied = self.copy(number, &file, copy, (&mut decisions, &other));
            // An error of the spool is no fault of the input file, so it ends the work.
            fault.map_or(Ok(()), Err)?;
            self.note_failure(number, &file, copied)?;
        }
        // Reads the spool to its end, where its digest is checked.
        records.next_of(usize::MAX).map(drop)
    }

    /// Copies the files of a batch without their removed passages, or writes their attributes.
    fn copy_batch_of_passages(&self, passages: &PassageCopier<'_>, batch: usize) -> Result<()> {
        let removed = passages.removed(self.spools, self.dropped, batch, &self.watch)?;
        for number in self.work.batches[batch].clone() {
            let Some(file) = self.work.files.get(number, &self.work.options) else { continue };
            if self.spools.leaves_out(number) {
                self.watch.tick(file.file_len().unwrap_or(0))?;
                continue;
            }
            let written = match self.targets.copy_of(number) {
                Some(copy) if passages.annotates() => self
                    .compression_of_attributes(&file, copy.path)
                    .and_then(|compression| {
                        passages.annotate(number, &removed, (copy, compression))
                    })
                    .and_then(|new| self.publish(number, new, copy.path)),
                Some(copy) => passages.decide(number, &removed).and_then(|decided| {
                    if self.is_written(number, copy.path)? {
                        return Ok(());
                    }
                    let mut decisions = decided.into_iter().map(Ok);
                    self.copy(number, &file, copy, (&mut decisions, &RecordFate::Keep))
                }),
                None => passages.decide(number, &removed).map(|decided| {
                    if decided.iter().any(|it| it.fate == RecordFate::Drop) {
                        let files = self.dropped_files.lock();
                        files.unwrap_or_else(PoisonError::into_inner).insert(number);
                    }
                }),
            };
            self.note_failure(number, &file, written)?;
        }
        Ok(())
    }

    /// The compression of the attributes of a file. The attributes of a JSON Lines file have the
    /// name and the compression of a copy; for other formats the extension of `to` decides.
    fn compression_of_attributes(
        &self,
        file: &DocumentFile<'_>,
        to: &Path,
    ) -> Result<Option<Compression>> {
        match file.format() {
            DocumentFormat::JsonLines => self.targets.compression_of(file),
            _ => Ok(Compression::of(to)),
        }
    }

    /// Records the failure to copy a file that was found in a folder; returns other errors.
    fn note_failure(
        &self,
        number: usize,
        file: &DocumentFile<'_>,
        copied: Result<()>,
    ) -> Result<()> {
        match copied {
            Err(Error::Text(error)) if file.is_left_out(&self.work.options, &error) => {
                let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
                failed.push(number as u32);
                drop(failed);
                self.work.tell(Event::NotCopied(&error.into()));
                Ok(())
            }
            copied => copied,
        }
    }

    /// The length and the digest of a file, if it exists.
    fn digest_of(&self, path: &Path) -> Result<Option<(u64, Digest)>> {
        let look = || self.watch.look().map_err(io::Error::other);
        disk::digest_of(path, look).map_err(|error| match Interrupted::is_in(&error) {
            true => Interrupted.into(),
            false => IoError::of("read", path)(error).into(),
        })
    }

    /// Whether an earlier run wrote this output with the same decisions, and the file is unchanged.
    fn is_written(&self, number: usize, path: &Path) -> Result<bool> {
        let Some(output) = self.job.output(number) else { return Ok(false) };
        let found = self.digest_of(path)?;
        Ok(output.decisions == self.decisions && found == Some((output.len, output.digest)))
    }

    /// Gives a complete output its final name. An existing file is replaced if it is an earlier
    /// output of this job, or if the settings allow it.
    fn publish(&self, number: usize, new: NewOutput, to: &Path) -> Result<()> {
        let cannot = || IoError::of("write", to);
        let (file, out) = new;
        let (len, digest) = out.written();
        let found = self.digest_of(to)?;
        let earlier = self.job.output(number).map(|output| (output.len, output.digest));
        if found.is_some_and(|found| found != (len, digest) && earlier != Some(found))
            && !self.work.settings.replace
        {
            let adds = self.work.settings.add.is_some();
            return Err(Error::Exists { path: to.into(), adds });
        }
        self.job.note_output(number, Output { len, digest, decisions: self.decisions })?;
        Ok(file.publish_for_now().map_err(cannot())?)
    }

    /// Copies a file, with `fates` for its records.
    fn copy(
        &self,
        number: usize,
        file: &DocumentFile<'_>,
        to: OutputPath<'_>,
        fates: (&mut RecordDecisions<'_>, &RecordFate),
    ) -> Result<()> {
        let (options, new_fields) = (&self.work.options, &self.new_fields);
        let to_compressed = (to, self.targets.compression_of(file)?);
        let new = copy_file(file, to_compressed, options, new_fields, &self.watch, fates)?;
        self.publish(number, new, to.path)
    }

    /// The fate of a document; `None` is a bad record, or a document without fingerprint.
    fn fate(&self, number: Option<Number>) -> RecordFate {
        let annotate = &self.work.settings.annotate;
        let dropped = number.and_then(|number| self.dropped.get(number));
        if dropped.is_some() && annotate.is_none() {
            return RecordFate::Drop;
        }
        if self.new_fields.is_empty() {
            return RecordFate::Keep;
        }
        let mut values = Vec::new();
        if annotate.is_some() {
            values.push(dropped.map(|dropped| self.other_id(dropped)));
        }
        if let Some(sizes) = &self.sizes {
            let size = number.map(|number| match dropped {
                Some(dropped) => sizes.of_dropped(dropped),
                None => sizes.of_kept(number),
            });
            values.push(size.map(Id::U64));
        }
        RecordFate::Mark(values)
    }

    /// The id of the document kept instead of a dropped one.
    fn other_id(&self, dropped: &Dropped) -> Id {
        // A stored document may have no id.
        self.others.get(dropped).cloned().unwrap_or(Id::Text("".into()))
    }

    /// Writes the list of kept files that are single documents. A file that could not be read is
    /// not listed: the account counts it as skipped.
    fn write_kept_files(&self) -> Result<()> {
        let Some(to) = self.targets.kept_files() else { return Ok(()) };
        if self.is_written(KEPT_FILES, to.path)? {
            return Ok(());
        }
        let files = (0..self.work.files.len())
            .filter(|&at| self.targets.copy_of(at).is_none() && !self.spools.leaves_out(at));
        let mut is_dropped = vec![false; self.work.files.len()];
        match &self.passages {
            Some(_) => {
                let files = self.dropped_files.lock().unwrap_or_else(PoisonError::into_inner);
                files.iter().for_each(|&number| is_dropped[number] = true);
            }
            None => self.spools.each(|number, entry| {
                is_dropped[entry.file as usize] |= self.dropped.get(number).is_some();
                Ok(())
            })?,
        }
        let kept = files.filter(|&number| !is_dropped[number]);
        let kept = kept.filter_map(|number| self.work.files.get(number, &self.work.options));
        let new = list_files(kept, to)?;
        self.publish(KEPT_FILES, new, to.path)
    }
}
