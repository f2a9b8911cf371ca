//! Steps shared by the commands that add records to a store: checks for a repeated run and for a
//! repeated input, and the merging of segments.

use std::path::Path;

use fpstore::{Error, Fingerprint, Id, IdRef, Store};
use fpstore_base::chain;
use fpstore_corpus::Error::KnownRun;

use crate::output::text::counted;
use crate::session::command::ExitStatus;
use crate::session::monitor::{INTERRUPTED, Monitor};

/// How many records of an input are looked up, to detect an input that was added before.
const LOOKED_AT: usize = 1000;

/// Whether a run with this name already added records to the store. If so, prints a message, unless
/// `quiet`.
pub(crate) fn is_known_run(store: &Store, run: Option<&str>, quiet: bool) -> bool {
    let known = run.filter(|run| store.has_run(run));
    if let (Some(run), false) = (known, quiet) {
        let store = store.info().path;
        message!(
            "{}: run {run} has added its records before; nothing was changed",
            store.display()
        );
    }
    known.is_some()
}

/// For a command with `--run` that also writes `outputs`: `None` if its run is new to the store,
/// otherwise the result of the command, which cannot be repeated, because all its records are now
/// stored. If all outputs exist as files, they are complete, and nothing is left to do; a missing
/// output is an error, because it cannot be written again.
pub(crate) fn known_run<'a>(
    stored: Option<&Store>,
    run: Option<&str>,
    mut outputs: impl Iterator<Item = &'a Path>,
    quiet: bool,
) -> Option<anyhow::Result<ExitStatus>> {
    let (stored, run) = (stored?, run?);
    if !stored.has_run(run) {
        return None;
    }
    let Some(missing) = outputs.find(|path| !path.is_file()) else {
        return is_known_run(stored, Some(run), quiet).then_some(Ok(ExitStatus::Done));
    };
    // The error names a missing file, but not standard output.
    let missing = Some(missing.to_path_buf()).filter(|path| path.as_os_str() != "-");
    Some(Err(KnownRun { run: run.into(), store: stored.info().path, missing }.into()))
}

/// Converts the result of [`fpstore::Writer::finish`]. If the records were added but merging
/// segments failed, prints a warning and returns `None`, because an error would make scripts add
/// the records again; if a signal stopped the merge, the process exits.
pub(crate) fn merged(
    finished: Result<Store, Error>,
    monitor: &Monitor,
) -> anyhow::Result<Option<Store>> {
    match finished {
        Err(error @ Error::Unmerged { .. }) => {
            monitor.finish();
            warn_unmerged(&error);
            monitor.check().inspect_err(|_| std::process::exit(INTERRUPTED.into()))?;
            Ok(None)
        }
        finished => Ok(Some(finished?)),
    }
}

/// Prints why segments were not merged, and the command to merge them.
pub(crate) fn warn_unmerged(error: &Error) {
    let why = chain(error);
    message!("warning: {why}; 'fpstore compact' merges them");
}

/// The first records of an input, to detect an input that was added before.
#[derive(Default)]
pub(crate) struct FirstRecords {
    records: Vec<(Fingerprint, Option<Id>)>,
    /// Whether the input has more records than `records`.
    has_more: bool,
}

/// How many records of an input the store already contained.
pub(crate) struct Repeated {
    count: u64,
    is_least: bool,
}

impl FirstRecords {
    /// Keeps a record, unless [`LOOKED_AT`] records are already kept. Returns whether it was kept.
    pub(crate) fn push(&mut self, fingerprint: Fingerprint, id: Option<IdRef<'_>>) -> bool {
        self.has_more |= self.records.len() == LOOKED_AT;
        if !self.has_more {
            self.records.push((fingerprint, id.map(IdRef::to_id)));
        }
        !self.has_more
    }

    /// The number of kept records that the store contains; `None` if it contains less than nine
    /// tenths of them.
    pub(crate) fn stored_in(&self, store: &Store) -> Option<Repeated> {
        let records = self.records.iter().map(|(value, id)| (*value, id.as_ref().map(Id::as_ref)));
        let count = store.count_stored(records).unwrap_or(0);
        let is_most = count > 0 && count * 10 >= self.records.len() as u64 * 9;
        is_most.then_some(Repeated { count, is_least: self.has_more })
    }
}

impl Repeated {
    /// Prints the number of repeated records, and how to avoid them.
    pub(crate) fn report(&self) {
        message!(
            "  {}{} of the input {} already in the store: answers give such a record once, but it \
             takes room twice; to keep one record of each id, use --replace; to make a repeated \
             command do nothing, use --run NAME",
            if self.is_least { "at least " } else { "" },
            counted(self.count, "record", "records"),
            if self.count == 1 { "was" } else { "were" },
        );
    }
}
