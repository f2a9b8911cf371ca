//! Step 3: copying the files without the dropped documents.

use std::collections::HashMap;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use anyhow::{Context, bail};
use fpstore::{Id, Phase};
use fpstore_base::source::{Compression, Encoder};
use fpstore_base::watch::Watch;
use fpstore_text::{DocumentFile, DocumentFormat, Error as TextError, RecordFate};

use super::super::new_file::NewFile;
use super::Work;
use super::dropped::DroppedList;
use super::job::Job;
use super::report::OtherIds;
use super::spool::Spools;
use super::targets::Targets;

/// The number under which the list of the kept files counts as written.
const KEPT_FILES: usize = usize::MAX;

/// Writes all outputs that are not written yet. Returns how many files could not be copied, which is
/// said of each.
pub(super) fn run(
    work: &Work<'_>,
    job: &Job,
    spools: &Spools,
    dropped: &DroppedList,
    targets: &Targets,
) -> anyhow::Result<u64> {
    let others = match &work.args.annotate {
        Some(_) => OtherIds::read(spools, dropped)?,
        None => OtherIds::default(),
    };
    let copier = Copier {
        work,
        job,
        spools,
        dropped,
        targets,
        others,
        watch: Watch::new(Some(work.monitor.observer()), Phase::Copy, work.files.total_len()),
        next: AtomicUsize::new(0),
        failed: AtomicU64::new(0),
    };
    let threads = match work.resources.threads()? {
        Some(threads) => threads,
        None => std::thread::available_parallelism().map_or(1, usize::from),
    };
    let threads = threads.min(spools.batch_count()).max(1);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| copier.work())).collect();
        // The first error is the cause of the others.
        workers.into_iter().map(|worker| worker.join().expect("no panic")).collect::<Vec<_>>()
    })
    .into_iter()
    .collect::<anyhow::Result<()>>()?;
    copier.write_kept_files()?;
    Ok(copier.failed.into_inner())
}

/// Copies files; shared by all threads.
struct Copier<'a> {
    work: &'a Work<'a>,
    job: &'a Job,
    spools: &'a Spools,
    dropped: &'a DroppedList,
    targets: &'a Targets,
    others: OtherIds,
    watch: Watch,
    /// The next batch.
    next: AtomicUsize,
    failed: AtomicU64,
}

impl Copier<'_> {
    /// Copies the files of one batch after the other.
    fn work(&self) -> anyhow::Result<()> {
        loop {
            let batch = self.next.fetch_add(1, Ordering::Relaxed);
            if batch >= self.spools.batch_count() {
                return Ok(());
            }
            self.copy_batch(batch).inspect_err(|_| {
                // Nobody needs to begin another one.
                self.next.store(usize::MAX / 2, Ordering::Relaxed);
            })?;
        }
    }

    fn copy_batch(&self, batch: usize) -> anyhow::Result<()> {
        let mut fates: HashMap<usize, HashMap<u64, u32>> = HashMap::new();
        self.spools.each_of(batch, |number, entry| {
            if self.dropped.get(number).is_some() {
                fates.entry(entry.file as usize).or_default().insert(entry.record, number);
            }
            Ok(())
        })?;
        let none = HashMap::new();
        for number in self.work.batches[batch].clone() {
            let Some(copy) = self.targets.copy_of(number) else { continue };
            let Some(file) = self.work.files.get(number, &self.work.options) else { continue };
            if self.job.is_written(number) {
                self.watch.tick(file.file_len().unwrap_or(0)).map_err(TextError::from)?;
                continue;
            }
            let fates = fates.get(&number).unwrap_or(&none);
            match self.copy(&file, copy, fates) {
                Ok(()) => self.job.set_written(number)?,
                Err(error)
                    if self.work.args.skip_bad() && file.is_found() && is_of_input(&error) =>
                {
                    self.failed.fetch_add(1, Ordering::Relaxed);
                    self.work.monitor.suspend(|| message!("{error:#}; it was not copied"));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Copies a file without its dropped records, which are named by their numbers in the file.
    fn copy(
        &self,
        file: &DocumentFile<'_>,
        to: &Path,
        dropped: &HashMap<u64, u32>,
    ) -> anyhow::Result<()> {
        let cannot = || format!("cannot write {}", to.display());
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).with_context(cannot)?;
        }
        let replaced = fs::metadata(to).ok();
        let new = NewFile::create(to.into(), replaced).with_context(cannot)?;
        let compression = match file.format() {
            DocumentFormat::Parquet => None,
            _ => Compression::of_file(file.path()).map_err(TextError::from)?,
        };
        let buffer = BufWriter::with_capacity(1 << 18, new.file().with_context(cannot)?);
        let has_members = file.format() == DocumentFormat::Warc;
        let mut out = Output::new(compression, has_members, buffer).with_context(cannot)?;
        let mark_field = self.work.args.annotate.as_deref();
        let mut decide = |record: u64| {
            let number = dropped.get(&record);
            Ok(match (mark_field, number) {
                (None, None) => RecordFate::Keep,
                (None, Some(_)) => RecordFate::Drop,
                (Some(_), number) => RecordFate::Mark(number.map(|&number| self.other_id(number))),
            })
        };
        let options = &self.work.options;
        let copied = file.copy_records(options, mark_field, &self.watch, &mut out, &mut decide);
        if let Some(failed) = out.failed.take() {
            return Err(failed).with_context(cannot);
        }
        copied?;
        out.finish().and_then(|mut buffer| buffer.flush()).with_context(cannot)?;
        new.publish().with_context(cannot)
    }

    /// The id of the document that is there instead of a dropped one.
    fn other_id(&self, number: u32) -> Id {
        let other = self.dropped.get(number).and_then(|dropped| self.others.get(dropped));
        // A stored document without an id.
        other.cloned().unwrap_or(Id::Text("".into()))
    }

    /// Writes the list of the files that are documents and are kept.
    fn write_kept_files(&self) -> anyhow::Result<()> {
        let Some(path) = &self.targets.kept_files else { return Ok(()) };
        if self.job.is_written(KEPT_FILES) {
            return Ok(());
        }
        let files = (0..self.work.files.len()).filter(|&at| self.targets.copy_of(at).is_none());
        let mut is_dropped = vec![false; self.work.files.len()];
        self.spools.each(|number, entry| {
            is_dropped[entry.file as usize] |= self.dropped.get(number).is_some();
            Ok(())
        })?;
        let cannot = || format!("cannot write {}", path.display());
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).with_context(cannot)?;
        }
        let new = NewFile::create(path.clone(), fs::metadata(path).ok()).with_context(cannot)?;
        let mut out = BufWriter::new(new.file().with_context(cannot)?);
        for number in files.filter(|&number| !is_dropped[number]) {
            let Some(file) = self.work.files.get(number, &self.work.options) else { continue };
            let name = file.path().as_os_str().as_encoded_bytes();
            if name.contains(&b'\n') {
                bail!("the name {:?} has a line end, so it cannot be in a list", file.path());
            }
            out.write_all(name).and_then(|()| out.write_all(b"\n")).with_context(cannot)?;
        }
        out.flush().with_context(cannot)?;
        drop(out);
        new.publish().with_context(cannot)?;
        self.job.set_written(KEPT_FILES)
    }
}

/// Whether an error is one of the file that is read, so that others can be copied.
fn is_of_input(error: &anyhow::Error) -> bool {
    use TextError::{BadFile, BadInput, Io};
    matches!(error.downcast_ref(), Some(Io { .. } | BadFile { .. } | BadInput { .. }))
}

/// The file that is written. Remembers its error, which is not one of the file that is read.
struct Output<W: Write> {
    compression: Option<Compression>,
    /// Whether a flush ends a member of the compressed file.
    has_members: bool,
    /// One of both is there.
    encoder: Option<Encoder<W>>,
    between: Option<W>,
    failed: Option<io::Error>,
}

impl<W: Write> Output<W> {
    fn new(compression: Option<Compression>, has_members: bool, to: W) -> io::Result<Self> {
        let (encoder, between) = match has_members {
            true => (None, Some(to)),
            false => (Some(Encoder::new(compression, to)?), None),
        };
        Ok(Output { compression, has_members, encoder, between, failed: None })
    }

    fn encoder(&mut self) -> io::Result<&mut Encoder<W>> {
        if let Some(to) = self.between.take() {
            self.encoder = Some(Encoder::new(self.compression, to)?);
        }
        self.encoder.as_mut().ok_or_else(|| io::Error::other("it has failed before"))
    }

    fn end_member(&mut self) -> io::Result<()> {
        if let Some(encoder) = self.encoder.take() {
            self.between = Some(encoder.finish()?);
        }
        Ok(())
    }

    fn finish(mut self) -> io::Result<W> {
        self.end_member()?;
        self.between.ok_or_else(|| io::Error::other("it has failed before"))
    }

    fn note<T>(&mut self, done: io::Result<T>) -> io::Result<T> {
        done.map_err(|error| {
            let kind = error.kind();
            self.failed = Some(error);
            kind.into()
        })
    }
}

impl<W: Write> Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let done = self.encoder().and_then(|encoder| encoder.write(bytes));
        self.note(done)
    }

    fn flush(&mut self) -> io::Result<()> {
        let done = match self.has_members {
            true => self.end_member(),
            false => self.encoder().and_then(Encoder::flush),
        };
        self.note(done)
    }
}
