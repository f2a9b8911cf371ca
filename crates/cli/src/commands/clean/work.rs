//! Runs the job of `fpstore clean`, and writes its lists and pages.

use std::path::PathBuf;

use anyhow::bail;
use fpstore::Store;
use fpstore::rows::RecordRow;
use fpstore_base::chain;
use fpstore_corpus::{Account, Cleaner, Error, Event, LossRow, PassageFate};

use super::args::CleaningArgs;
use super::overview;
use crate::args::documents::{report, report_repeated_ids};
use crate::output::row_writer::RowWriter;
use crate::output::sink::Sink;
use crate::output::text::{counted, counted_texts};
use crate::run::adding::{known_run, warn_unmerged};
use crate::run::removed::RemovedWriter;
use crate::session::command::ExitStatus;
use crate::session::monitor::Monitor;
use crate::session::stores::StoreNames;

/// Whether documents or passages are compared, and whether duplicates are removed or annotated.
#[derive(Clone, Copy)]
pub(super) struct Fate {
    /// Whether duplicates are annotated instead of removed.
    annotates: bool,
    /// Whether passages are compared instead of documents.
    is_of_passages: bool,
    passages: Option<PassageFate>,
}

impl Fate {
    pub(super) fn of(args: &CleaningArgs, is_of_passages: bool) -> Self {
        let passages = args.passages;
        let annotates = args.annotate.is_some() || passages == Some(PassageFate::Annotate);
        Fate { annotates, is_of_passages, passages }
    }

    /// Formats a number with its noun: "3 documents" or "3 passages".
    pub(super) fn counted(self, count: u64) -> String {
        counted_texts(count, self.is_of_passages)
    }
}

/// A cleaning job, and the lists and pages that the program writes about it.
pub(super) struct Settings {
    pub(super) cleaner: Cleaner<'static>,
    /// The path of the list of kept documents; `-` is standard output. `None`: the documents are
    /// copied instead of listed.
    pub(super) list: Option<PathBuf>,
    pub(super) removed: Option<PathBuf>,
    pub(super) losses: Option<PathBuf>,
    pub(super) manifest: Option<PathBuf>,
    /// The path of the HTML page, the maximum number of removed documents on it, and its title.
    pub(super) html: Option<(PathBuf, usize, String)>,
    pub(super) force: bool,
    pub(super) fate: Fate,
    pub(super) adds: bool,
    /// Whether the command only prints what would be removed.
    pub(super) is_dry: bool,
    /// The store whose documents are compared with the new ones, if any.
    pub(super) stored: Option<Store>,
    /// The names of the stores, if the documents are compared with several stores.
    pub(super) stores: Option<StoreNames>,
    pub(super) run: Option<String>,
    pub(super) quiet: bool,
}

pub(super) fn run(settings: Settings, monitor: &Monitor) -> anyhow::Result<ExitStatus> {
    let Settings {
        cleaner, list, removed, losses, manifest, html, force, stored, run, quiet, ..
    } = settings;
    let page = html.as_ref().map(|(path, ..)| path);
    let lists = list.iter().chain(&removed).chain(&losses).chain(page);
    let lists: Vec<PathBuf> = lists.cloned().collect();
    let tell = |event: Event<'_>| tell(event, monitor, quiet);
    let known = || {
        let outputs = lists.iter().map(PathBuf::as_path);
        known_run(stored.as_ref(), run.as_deref(), outputs, quiet)
    };
    if let Some(done) = settings.is_dry.then(known).flatten() {
        return done;
    }
    let is_listed = list.is_some();
    let cleaning = match (Cleaner { listener: Some(&tell), ..cleaner }).begin() {
        Ok(Some(cleaning)) => cleaning,
        Ok(None) => return known().unwrap_or(Ok(ExitStatus::Done)),
        Err(error @ Error::KnownRun { missing: None, .. }) if is_listed => {
            return known().unwrap_or(Err(error.into()));
        }
        Err(error) => return Err(error.into()),
    };
    let replaces = force || cleaning.is_resumed();
    let sink = |path: Option<PathBuf>| Sink::open_any(path.as_deref(), replaces);
    let opened = || {
        let (list, removed) = (sink(list)?, sink(removed)?);
        let (losses, manifest) = (sink(losses)?, sink(manifest)?);
        let html =
            html.map(|(path, most, title)| anyhow::Ok((Sink::open(&path, replaces)?, most, title)));
        anyhow::Ok((list, removed, losses, manifest, html.transpose()?))
    };
    let (list, removed, losses, manifest, html) = opened().inspect_err(|_| cleaning.give_up())?;
    let (fate, adds) = (settings.fate, settings.adds);
    let is_list = list.is_some() || settings.is_dry;
    let cleaned = cleaning.run().inspect_err(|error| {
        if let (Error::TooMuchLost { overview, .. }, false) = (error, quiet) {
            monitor.suspend(|| overview::report(overview, &|count| fate.counted(count)));
        }
    })?;
    if let Some(out) = list {
        let mut rows = RowWriter::tsv::<RecordRow<'_>>(out)?;
        let width = cleaned.width();
        cleaned.for_each_kept(|fingerprint, id| {
            rows.push(&RecordRow { fingerprint: width.hex(fingerprint), id: Some(id) })
        })?;
        rows.finish()?;
    }
    if let Some(out) = removed {
        let mut rows = RemovedWriter::new(out, settings.stores)?;
        cleaned.for_each_removed(|removed| rows.push(removed))?;
        rows.finish()?;
    }
    let overview = (!quiet || losses.is_some() || manifest.is_some() || html.is_some())
        .then(|| cleaned.overview())
        .transpose()?;
    if let (Some(out), Some(overview)) = (losses, &overview) {
        let mut rows = RowWriter::tsv::<LossRow<'_>>(out)?;
        overview.losses.iter().try_for_each(|loss| rows.push(&loss.row()))?;
        rows.finish()?;
    }
    if let (Some((out, most, title)), Some(overview)) = (html, &overview) {
        out.write_whole(&cleaned.page(overview, most, &title)?)?;
    }
    // The manifest is written last, because it contains the digests of all other outputs.
    if let (Some(out), Some(overview)) = (manifest, &overview) {
        out.write_whole(&cleaned.manifest(overview, &lists)?.to_json())?;
    }
    let account = cleaned.finish()?;
    monitor.finish();
    if let (Some(overview), false) = (&overview, quiet) {
        overview::report(overview, &|count| fate.counted(count));
    }
    if !quiet {
        report_account(&account, fate, adds, is_list);
        if settings.is_dry {
            message!("--dry-run: nothing was copied or added");
        }
    }
    if account.uncopied_count > 0 {
        let of_these = match account.left_out_count {
            0 => "no part of it".into(),
            count => format!("none of the {} before the fault", fate.counted(count)),
        };
        bail!(
            "{} could not be read to the end, see above: {of_these} is in an output{}; the other \
             files are complete",
            counted(account.uncopied_count, "file", "files"),
            if adds { " or in the store" } else { "" }
        );
    }
    Ok(ExitStatus::Done)
}

fn tell(event: Event<'_>, monitor: &Monitor, quiet: bool) {
    match event {
        Event::Resumed { done, count } if !quiet => {
            message!("continuing unfinished work: {done} of {count} parts of the input are read");
        }
        Event::Read(summary) => monitor.suspend(|| report(summary)),
        Event::ManyUnlike(unlike) => monitor.suspend(|| {
            message!(
                "warning: {unlike}; this takes long; text shared by many documents can be cut out \
                 first with --unit and --passages"
            );
        }),
        Event::UnknownPairs { unknown, count } => monitor.suspend(|| {
            let pairs = counted(count, "judged pair", "judged pairs");
            message!("warning: {unknown} of {pairs} without effect: an id in each is unknown");
        }),
        Event::RepeatedIds(found) => monitor.suspend(|| report_repeated_ids(found)),
        Event::NotCopied(error) => {
            monitor.suspend(|| message!("{}; its documents were left out", chain(error)));
        }
        Event::Unmerged(error) => monitor.suspend(|| warn_unmerged(error)),
        Event::NotRemoved(error) => monitor.suspend(|| {
            let why = chain(error);
            message!("warning: all is done, but {why}; the same command removes the leftovers");
        }),
        _ => {}
    }
}

fn report_account(account: &Account, fate: Fate, adds: bool, is_list: bool) {
    let of_kind = |count| fate.counted(count);
    message!(
        "{}: {} {}, {} {}",
        of_kind(account.document_count()),
        of_kind(account.kept_count),
        if adds { "kept and added" } else { "kept" },
        of_kind(account.removed_count()),
        match fate.passages {
            Some(PassageFate::Drop(_)) => "repeated",
            _ if fate.annotates => "marked",
            _ => "removed",
        },
    );
    if let Some(passages) = fate.passages {
        let changed = counted(account.changed_count, "document", "documents");
        let dropped = counted(account.dropped_count, "document", "documents");
        match passages {
            PassageFate::Cut => message!(
                "passages were cut out of {changed}; {dropped} removed completely, because nothing \
                 was left"
            ),
            PassageFate::Drop(_) => message!("{dropped} removed; the others are unchanged"),
            PassageFate::Annotate => {
                let has = if account.changed_count == 1 { "has" } else { "have" };
                message!("{changed} {has} marked passages");
            }
        }
    }
    if is_list {
        return;
    }
    let bad_count = account.bad_count - account.damaged_count;
    let kinds = [
        (account.empty_count, "document without fingerprint", "documents without fingerprint"),
        (bad_count, "bad record", "bad records"),
    ];
    let stay = kinds.iter().filter(|(count, ..)| *count > 0);
    let stay: Vec<String> = stay.map(|(count, one, many)| counted(*count, one, many)).collect();
    if !stay.is_empty() {
        let is_one = account.empty_count + bad_count == 1;
        let (verb, them) =
            if is_one { ("is kept unchanged", "it") } else { ("are kept unchanged", "they") };
        message!("{} {verb}, because {them} cannot be compared", stay.join(" and "));
    }
    if account.damaged_count > 0 {
        let is_one = account.damaged_count == 1;
        let damaged = counted(account.damaged_count, "damaged record", "damaged records");
        message!("{damaged} {} not in the output, see above", if is_one { "is" } else { "are" });
    }
}
