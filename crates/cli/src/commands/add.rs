//! `fpstore add`: adds records to a store.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use fpstore::writer::{Committed, SharedWriter};
use fpstore::{BuildOptions, Builder, Error, Recipe, Store, Writer, WriterOptions};

use crate::args::documents::{self, DocumentArgs};
use crate::args::inputs::{ReadArgs, check_open, estimate, inputs, report_skipped};
use crate::args::pictures::PictureArgs;
use crate::args::resources::WriteArgs;
use crate::args::scheme_arg::SchemeArgs;
use crate::args::segment_args::{IdTypeArgs, LabelArgs, RunArgs};
use crate::output::text::{bytes, counted};
use crate::run::adding::{FirstRecords, is_known_run, merged};
use crate::run::follow::{self, FollowArgs};
use crate::session::command::ExitStatus;
use crate::session::document_reader::Documents;
use crate::session::monitor::Monitor;
use crate::session::stores::StoreArg;

const LONG_ABOUT: &str = "\
Add records to a store, as one new segment that appears completely or not at all. Readers are \
not blocked; they see the new records when they open or refresh the store.

The inputs are the same as for 'build'. Their fingerprints must have the recipe of the store: give \
--recipe as for 'build', unless the store contains ready-made fingerprints. --docs without --recipe \
uses the recipe of the store. The new segment gets the tables of the largest segment or, if it has \
more than twice as many fingerprints, the fastest tables for its data. Afterwards small segments are \
merged, unless --no-compact is given; see 'fpstore compact'.

--replace is for pages that were crawled again: stored records with the ids of new records are deleted \
in the same step. If new records share an id, the last one counts. The new records are kept in memory. \
--run NAME makes a job safe to repeat: the store keeps the last 1024 names, in the step that adds the \
records, and a run with a known name changes nothing.

--follow reads lines of fingerprints, or with --docs lines of documents, from standard input until \
it ends. It commits --batch-count records at a time, or the records of --batch-seconds, and prints \
for each commit the number of durable records and the generation of the store; see 'fpstore help \
streams'. If its output is closed, it adds the records read so far, prints a message, and ends with \
status 2. A bad line is reported on standard error and skipped; without --skip-bad the status is then \
2.";

const AFTER_HELP: &str = "\
Examples:
  fpstore add today.tsv.zst -s pages.fps --label 2026-11 --run 2026-11-22 --replace
  crawler | fpstore add --follow --docs -s pages.fps --batch-count 1000 --batch-seconds 5

Exit status: 0 done; 2 error.";

/// Add records to a store
#[derive(Args, Debug)]
#[command(
    long_about = LONG_ABOUT,
    after_help = AFTER_HELP,
    mut_arg("run", |arg| arg.conflicts_with("follow")),
    mut_args = |arg| match arg.get_id().as_str() {
        "images" => arg.conflicts_with("follow"),
        // The short help fits one screen, and an addition rarely needs these options.
        "threads" | "memory" => arg.hide_short_help(true),
        _ => arg,
    }
)]
pub(crate) struct AddArgs {
    /// Input files; standard input if none or -
    files: Vec<PathBuf>,
    #[command(flatten)]
    store: StoreArg,
    /// Create the store if it does not exist
    ///
    /// An empty store is created once the inputs are open, then the records are added. If adding
    /// fails, the empty store is kept, and the next command can add to it. The store is tuned for
    /// -k, or for the default distance of 'build'.
    #[arg(long)]
    create: bool,
    #[command(flatten)]
    label: LabelArgs,
    /// Replace stored records that have the ids of new records, in the same step
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    scheme: SchemeArgs,
    #[command(flatten)]
    ids: IdTypeArgs,
    #[command(flatten)]
    read: ReadArgs,
    /// Do not merge segments
    #[arg(long)]
    no_compact: bool,
    #[command(flatten)]
    follow: FollowArgs,
    #[command(flatten)]
    work: WriteArgs,
    #[command(flatten)]
    documents: DocumentArgs,
    #[command(flatten)]
    pictures: PictureArgs,
}

pub(crate) fn run(args: &AddArgs) -> anyhow::Result<ExitStatus> {
    args.pictures.check(&args.files)?;
    args.follow.check(&args.files)?;
    let files = if args.pictures.are_given() { Vec::new() } else { inputs(&args.files)? };
    let store = match args.store.open() {
        Err(Error::NoStore { .. }) if args.create => created(args, &files)?,
        opened => opened?,
    };
    let documents =
        args.documents.prepare_for(Some(&store), &args.read, args.work.resources.reading()?)?;
    let read = args.read.of_width(store.width())?;
    let scheme = args.scheme.choice_beside(&store)?;
    if is_known_run(&store, args.run.run.as_deref(), args.work.is_quiet()) {
        return Ok(ExitStatus::Done);
    }
    let monitor = args.work.monitor()?;
    let (skips_bad, resources) = (args.read.skips_bad(), &args.work.resources);
    let pictures = args.pictures.prepare(Some(&store), skips_bad, resources, &monitor)?;
    let may_repeat =
        !args.work.is_quiet() && !args.follow.is_on() && !args.replace && args.run.run.is_none();
    drop(store);
    let recipe = match (&pictures, &documents) {
        (Some(pictures), _) => pictures.recipe(),
        (None, Some(documents)) => documents.source.recipe(),
        (None, None) => Recipe::external_of(read.width()),
    };
    let mut options = WriterOptions::default()
        .label(args.label.label())
        .ids(args.ids.id_type)
        .recipe(recipe)
        .run(args.run.run.clone())
        .replace(args.replace)
        .compact(!args.no_compact);
    if let Some(scheme) = scheme {
        options = options.scheme(scheme);
    }
    let options = args.work.limit(options, &monitor)?;
    if args.follow.is_on() {
        let writer = SharedWriter::new(&args.store.store, options);
        let lines = args.documents.lines(&read)?;
        let input = (&lines, documents.filter(Documents::are_given));
        return follow::add(
            &args.follow,
            writer,
            input,
            &monitor,
            (!args.no_compact, args.work.is_quiet()),
        );
    }
    let mut writer = Writer::with_options(&args.store.store, options)?;
    // Another process may have finished the same run while this one waited for the lock.
    if is_known_run(writer.store(), args.run.run.as_deref(), args.work.is_quiet()) {
        return Ok(ExitStatus::Done);
    }
    let mut first = FirstRecords::default();
    let read = match (&pictures, documents.filter(Documents::are_given)) {
        (Some(pictures), _) => pictures
            .push_all(&monitor, args.work.is_quiet(), |fingerprint, id| {
                first.push(fingerprint, Some(id));
                writer.push(fingerprint, id)
            })
            .map(|_| ()),
        (None, Some(documents)) => documents
            .push_all(&files, &monitor, |fingerprint, id, sketch| {
                first.push(fingerprint, Some(id));
                writer.push_sketched(fingerprint, id, sketch)
            })
            .map(|summary| monitor.suspend(|| documents::report(&summary))),
        (None, None) => read_fingerprints(args, &read, &files, (&mut writer, &mut first), &monitor),
    };
    read.inspect_err(|_| monitor.report_loss(writer.pending_count()))?;
    // Checked before the commit, because afterwards the store contains all records.
    let repeated = may_repeat.then(|| first.stored_in(writer.store())).flatten();
    let committed = writer.commit_alone()?;
    let Some(store) = merged(writer.finish(), &monitor)? else { return Ok(ExitStatus::Done) };
    monitor.finish();
    if !args.work.is_quiet() {
        report(&store.info(), &committed);
        if let Some(repeated) = repeated {
            repeated.report();
        }
    }
    Ok(ExitStatus::Done)
}

/// Makes an empty store, after checking that the inputs can be opened. If another process makes it
/// at the same time, that store is used.
fn created(args: &AddArgs, files: &[PathBuf]) -> anyhow::Result<Store> {
    let path = &args.store.store;
    check_open(files, args.documents.are_given())
        .context("no store was created; name it with -s, or by a name that ends in .fps")?;
    let documents = args.documents.prepare(&args.read, args.work.resources.reading()?)?;
    let (recipe, usual_k) = match (args.pictures.of_new(), documents) {
        (Some(pictures), _) => pictures,
        (None, Some(documents)) => (documents.source.recipe(), documents.source.usual_k()),
        (None, None) => {
            let width = args.read.width();
            (Recipe::external_of(width), width.usual_k())
        }
    };
    let scheme = args.scheme.choice(args.scheme.k().unwrap_or(usual_k))?;
    let options =
        BuildOptions::default().recipe(recipe).scheme(scheme).wait(args.work.wait.duration());
    match Builder::with_options(path, options).and_then(Builder::finish) {
        Ok(store) => {
            if !args.work.is_quiet() {
                message!("{}: created, because there was no store", path.display());
            }
            Ok(store)
        }
        Err(Error::StoreExists { .. }) => Ok(args.store.open()?),
        Err(error) => Err(error.into()),
    }
}

fn read_fingerprints(
    args: &AddArgs,
    read: &ReadArgs,
    files: &[PathBuf],
    (writer, first): (&mut Writer, &mut FirstRecords),
    monitor: &Monitor,
) -> anyhow::Result<()> {
    let input = args.documents.lines(read)?;
    if let Some(expected) = estimate(files, &input)? {
        writer.expect(&expected, !args.work.resources.skip_space_check)?;
    }
    for file in files {
        let summary = writer.read_and_inspect(file, &input, |it, id| first.push(it, id))?;
        monitor.suspend(|| report_skipped(file, &summary));
    }
    Ok(())
}

fn report(info: &fpstore::info::StoreInfo, committed: &Committed) {
    let done = &committed.report;
    if done.record_count == 0 {
        message!("the input has no fingerprints; nothing was changed");
        return;
    }
    let seconds: f64 = done.phases.iter().map(|(_, time)| time.as_secs_f64()).sum();
    message!(
        "{}: {} added, {}, in {seconds:.2} s",
        info.path.display(),
        counted(done.record_count, "record", "records"),
        counted(done.fingerprint_count, "fingerprint", "fingerprints"),
    );
    if committed.replaced.ids > 0 {
        message!("  {} replaced", counted(committed.replaced.ids, "record", "records"));
    }
    message!(
        "  now {}, {}, {} in {}",
        counted(info.fingerprint_count(), "fingerprint", "fingerprints"),
        counted(info.id_count(), "id", "ids"),
        bytes(info.file_len()),
        counted(info.segments.len() as u64, "segment", "segments"),
    );
}
