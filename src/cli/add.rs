//! `fpstore add`: more records for a store that is there.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use fpstore::{BuildReport, Writer, WriterOptions};

use super::budget::BudgetArg;
use super::build::{IdsArg, estimate, inputs, report_skipped, scheme_of};
use super::documents::{self, DocumentArgs, Documents};
use super::effort::{EffortArgs, Work};
use super::follow::{self, FollowArgs};
use super::join_input::ReadArgs;
use super::output::{bytes, counted};
use super::{StoreArg, Verdict};

const LONG_ABOUT: &str = "\
Add records to a store, as one new segment that appears whole or not at all. Readers go on meanwhile, and see the new \
records when they open the store, or refresh it.

The inputs are those of 'build'. Fingerprints must be made as those of the store are: say --recipe as for 'build' where \
they are no ready-made ones. With --docs and nothing else the recipe of the store is taken.

The segment gets the tables of the largest one; if it has more than twice as many fingerprints, the fastest ones for its data. \
Before and after, segments are merged that have become many and small, unless --no-compact; see 'fpstore compact'.

--follow reads lines from standard input for as long as they come, commits them --batch-count at a time or every \
--batch-seconds, and prints for each commit how many records are durable so far and the generation of the store.";

const AFTER_HELP: &str = "\
Examples:
  fpstore add today.tsv.zst -s pages.fps --label 2026-11-21
  crawler | fpstore add --follow -s pages.fps --batch-count 1000 --batch-seconds 5

Exit status: 0 done, 2 could not.";

/// Add records to a store
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub(super) struct AddArgs {
    /// Input files; standard input if none or -
    files: Vec<PathBuf>,
    #[command(flatten)]
    store: StoreArg,
    /// What the new segment is called, such as 2026-11; 'expire' goes by it
    #[arg(long, value_name = "LABEL", default_value = "")]
    label: String,
    /// The tables of the new segment: auto, a name or a file of masks; default: see above
    #[arg(long, value_name = "SCHEME")]
    scheme: Option<String>,
    /// With --scheme auto: the distance that queries will mostly ask for; default: that of the store
    #[arg(short, value_parser = clap::value_parser!(u32).range(0..=64))]
    k: Option<u32>,
    /// With --scheme auto: space for the tables, as 12GB or 16B/fp
    #[arg(long, value_name = "BYTES")]
    budget: Option<BudgetArg>,
    /// What ids to keep; auto takes u64 if every id is a canonical decimal
    #[arg(long, value_enum, default_value = "auto")]
    ids: IdsArg,
    #[command(flatten)]
    read: ReadArgs,
    /// Leave the segments as they are
    #[arg(long)]
    no_compact: bool,
    #[command(flatten)]
    follow: FollowArgs,
    #[command(flatten)]
    effort: EffortArgs,
    /// Say nothing but errors
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    documents: DocumentArgs,
}

pub(super) fn run(args: &AddArgs) -> anyhow::Result<Verdict> {
    let store = args.store.open()?;
    let documents = args.documents.prepare_for(&store, args.read.skip_bad)?;
    if args.follow.is_on() && documents.as_ref().is_some_and(Documents::are_given) {
        bail!("--follow takes fingerprints; pipe texts through 'fpstore simhash' first");
    }
    let k = args.k.unwrap_or(store.tuned_k());
    drop(store);
    let files = if args.follow.is_on() { Vec::new() } else { inputs(&args.files)? };
    let work = Work::start(&args.effort, args.quiet)?;
    let mut options = WriterOptions::default().label(&args.label).compact(!args.no_compact);
    options.ids = args.ids.into();
    options.recipe = Some(documents.as_ref().map_or(fpstore::Recipe::external(), |of| of.recipe()));
    if args.scheme.is_some() || args.k.is_some() || args.budget.is_some() {
        let scheme = args.scheme.as_deref().unwrap_or("auto");
        options.scheme = Some(scheme_of(scheme, k, args.budget)?);
    }
    args.effort.limit(&mut options, &work);
    let mut writer = Writer::with_options(&args.store.store, options)?;
    if args.follow.is_on() {
        return follow::add(&args.follow, &args.files, writer, &args.read, &work, args.quiet);
    }
    let read = match documents.filter(Documents::are_given) {
        Some(documents) => documents
            .push_all(&files, &work, |fingerprint, id| writer.push(fingerprint, id))
            .map(|summary| work.aside(|| documents::report(&summary))),
        None => read_fingerprints(args, &files, &mut writer, &work),
    };
    read.inspect_err(|_| work.lost(writer.pending_count()))?;
    let committed = writer.commit()?;
    // From here on they are there, whatever becomes of merging.
    let store = writer.finish().inspect_err(|_| {
        work.done();
        let count = counted(committed.report.record_count, "record was", "records were");
        say!("fpstore: {count} added, but merging segments failed");
    })?;
    work.done();
    if !args.quiet {
        report(&store.info(), &committed.report);
    }
    Ok(Verdict::Yes)
}

fn read_fingerprints(
    args: &AddArgs,
    files: &[PathBuf],
    writer: &mut Writer,
    work: &Work,
) -> anyhow::Result<()> {
    let input = args.read.options();
    if let Some(expected) = estimate(files, &input)? {
        writer.expect(&expected, !args.effort.skip_space_check)?;
    }
    for file in files {
        let summary = writer.read_and_show(file, &input, |_| {})?;
        work.aside(|| report_skipped(file, &summary));
    }
    Ok(())
}

fn report(info: &fpstore::StoreInfo, done: &BuildReport) {
    if done.record_count == 0 {
        say!("fpstore: the input holds no fingerprints; nothing was changed");
        return;
    }
    let seconds: f64 = done.phases.iter().map(|(_, time)| time.as_secs_f64()).sum();
    say!(
        "fpstore: {}: {} added, {}, in {seconds:.2} s",
        info.path.display(),
        counted(done.record_count, "record", "records"),
        counted(done.fingerprint_count, "fingerprint", "fingerprints"),
    );
    say!(
        "fpstore:   now {}, {}, {} in {}",
        counted(info.fingerprint_count(), "fingerprint", "fingerprints"),
        counted(info.id_count(), "id", "ids"),
        bytes(info.file_len()),
        counted(info.segments.len() as u64, "segment", "segments"),
    );
}
