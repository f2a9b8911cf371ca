//! `fpstore dedup --docs`: documents in, documents out.
//!
//! The work has four steps, and each leaves files in a [`Job`], so that the same command goes on
//! where an earlier one was stopped:
//!
//! 1. `hash` reads the documents, some files at a time, and keeps a [`spool`] of each such batch:
//!    places, fingerprints and ids.
//! 2. `decide` finds the near documents, and decides which are dropped and why.
//! 3. `write` copies the files without the dropped documents; each appears when it is complete.
//! 4. `report` lists the dropped documents, and adds the others to a store.
//!
//! A document has a number: 0, 1, 2 and so on, in the order of the files, without those that have no
//! features. [`order`] gives it a rank: of near documents the one that ranks first is kept.

mod decide;
mod dropped;
mod features;
mod hash;
mod job;
mod order;
mod report;
mod spool;
mod targets;
mod write;

use std::ops::Range;

use anyhow::bail;
use fpstore::{Store, Writer};
use fpstore_text::{DocumentFiles, DocumentOptions};

use super::add::is_known_run;
use super::command::ExitStatus;
use super::confirm::refuse_pipes;
use super::dedup::DedupArgs;
use super::document_reader::Documents;
use super::inputs::inputs;
use super::monitor::Monitor;
use super::output::counted;
use super::resources::ResourceArgs;
use super::sink::Sink;

use dropped::DroppedList;
use job::Job;
pub(super) use order::KeepRule;
use spool::Spools;
use targets::Targets;

/// All that the steps share.
struct Work<'a> {
    args: &'a DedupArgs,
    documents: &'a Documents,
    options: DocumentOptions,
    files: DocumentFiles,
    /// The files in batches: what is read again after a crash, and what a thread copies at a time.
    batches: Vec<Range<usize>>,
    stored: Option<&'a Store>,
    k: u32,
    resources: ResourceArgs,
    monitor: &'a Monitor,
}

/// The documents, the store that they are compared with, and the distance.
pub(super) struct Inputs<'a> {
    pub(super) documents: &'a Documents,
    pub(super) stored: Option<&'a Store>,
    pub(super) k: u32,
}

/// Locks the store that the kept documents are added to, by a run of this name, if they are.
pub(super) type LockStore<'a> = dyn Fn(&str) -> fpstore::Result<Option<Writer>> + 'a;

pub(super) fn run(
    args: &DedupArgs,
    inputs: Inputs<'_>,
    lock: &LockStore<'_>,
    monitor: &Monitor,
) -> anyhow::Result<ExitStatus> {
    let mut work = Work::new(args, inputs, monitor)?;
    let targets = match (&args.output.output, args.list) {
        (_, true) => None,
        (Some(output), false) => Some(Targets::new(&work, output)?),
        (None, false) => bail!(
            "say with -o where the documents that are kept go: a folder, or a file for one file; \
             --list prints their fingerprints and ids instead"
        ),
    };
    let list = args.list.then(|| args.output.open()).transpose()?;
    let job = match &targets {
        Some(targets) => Job::open(&targets.job_folder(), &work.describe(), args.output.force)?,
        None => Job::scratch(&args.resources.temp_dir())?,
    };
    if let Some(targets) = targets.as_ref().filter(|_| !job.is_resumed()) {
        // A job that has not begun is none.
        let known = |stored: &Store| is_known_run(stored, args.run.as_deref(), args.quiet);
        if work.stored.is_some_and(known) {
            return job.finish().map(|()| ExitStatus::Done);
        }
        targets.check_free(args.output.force).inspect_err(|_| job.give_up())?;
    }
    let run = args.run.as_deref().unwrap_or(job.run());
    // The lock is taken before the store is read, so that no other process adds the same records.
    let writer = lock(run)?;
    let locked = writer.as_ref().map(|writer| writer.store().clone());
    work.stored = locked.as_ref().or(work.stored);
    work.resources = args.resources.beside(job.folder());
    let replaces = args.output.force || job.is_resumed();
    let removed = args.removed.as_deref().map(|path| Sink::open(path, replaces)).transpose()?;

    let spools = hash::run(&work, &job).inspect_err(|_| job.give_up())?;
    let dropped = decide::run(&work, &job, &spools)?;
    let mut failed = 0;
    if let Some(targets) = &targets {
        failed = write::run(&work, &job, &spools, &dropped, targets)?;
    }
    if let Some(list) = list {
        report::write_list(&work, &spools, &dropped, list)?;
    }
    if let Some(removed) = removed {
        report::write_removed(&work, &spools, &dropped, removed)?;
    }
    let is_added = writer.is_some();
    if let Some(writer) = writer {
        report::add(&work, run, &spools, &dropped, writer)?;
    }
    monitor.finish();
    if !args.quiet {
        report_counts(&work, &spools, &dropped, is_added);
    }
    if failed > 0 {
        bail!(
            "{} could not be copied, see above; the others are complete",
            counted(failed, "file", "files")
        );
    }
    job.finish()?;
    Ok(ExitStatus::Done)
}

fn report_counts(work: &Work<'_>, spools: &Spools, dropped: &DroppedList, is_added: bool) {
    let counts = spools.counts();
    let left = counts.document_count - dropped.len();
    message!(
        "{}: {} {}, {} {}",
        counted(counts.document_count, "document", "documents"),
        counted(left, "document", "documents"),
        if is_added { "kept and added" } else { "kept" },
        counted(dropped.len(), "document", "documents"),
        if work.args.annotate.is_some() { "marked" } else { "removed" },
    );
    let others = counts.empty_count + counts.bad_count;
    if others > 0 && !work.args.list {
        message!(
            "{} without fingerprint and {} stay as they are, because they cannot be compared",
            counted(counts.empty_count, "document", "documents"),
            counted(counts.bad_count, "bad record", "bad records"),
        );
    }
}

impl<'a> Work<'a> {
    fn new(args: &'a DedupArgs, from: Inputs<'a>, monitor: &'a Monitor) -> anyhow::Result<Self> {
        let Inputs { documents, stored, k } = from;
        let paths = inputs(&args.files)?;
        let options = documents
            .options()
            .rank_field(args.keep.field().map(Into::into))
            .new_field(args.annotate.clone());
        let reads_again = !args.list || args.confirm.confirm.is_some() && stored.is_none();
        if reads_again {
            refuse_pipes(&paths, "dedup --docs")?;
        }
        let files = DocumentFiles::find(&paths, &options)?;
        let batches = hash::batches(&files, &options);
        let resources = args.resources.clone();
        Ok(Work { args, documents, options, files, batches, stored, k, resources, monitor })
    }

    /// All that decides the result: a job goes on only if nothing of it has changed.
    fn describe(&self) -> serde_json::Value {
        let DedupArgs { confirm, keep, annotate, label, .. } = self.args;
        let files: Vec<_> = (0..self.files.len())
            .filter_map(|number| self.files.get(number, &self.options))
            .map(|file| {
                let changed = file.path().metadata().and_then(|it| it.modified()).ok();
                let since = changed.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
                let nanos = since.map(|since| since.as_nanos().to_string());
                (file.name().to_string(), file.file_len(), nanos)
            })
            .collect();
        serde_json::json!({
            "version": env!("CARGO_PKG_VERSION"),
            "recipe": self.documents.recipe().to_string(),
            "reading": format!("{:?}", self.documents.options().threads(0)),
            "k": self.k,
            "confirm": confirm.confirm,
            "keep": keep.to_string(),
            "annotate": annotate,
            "within": self.args.is_within(),
            "against": self.stored.map(|stored| stored.info().path),
            "add": self.args.add,
            "label": label,
            "files": files,
        })
    }
}
