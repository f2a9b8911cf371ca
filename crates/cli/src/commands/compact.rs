//! `fpstore compact`: merges segments and removes deleted records.

use clap::Args;
use fpstore::info::StoreInfo;
use fpstore::writer::{Compaction, Compactor};
use fpstore::{Store, WriterOptions};

use crate::args::resources::{WriteArgs, rate};
use crate::args::scheme_arg::SchemeArgs;
use crate::output::text::{bytes, counted, grouped};
use crate::session::command::ExitStatus;
use crate::session::stores::StorePlace;

const LONG_ABOUT: &str = "\
Merge segments, and remove deleted records from them. Readers and a writer are not blocked: \
meanwhile records can be added and deleted, and 'add' does not merge. Only one process compacts at a \
time. An interrupted compaction keeps its finished merges.

The options choose the segments to merge:

  --tier     (default) neighbours with one label, by size: segments of 1 000 to 9 999 records form a
             tier, which is merged when it has 3 000, 6 000 and 10 000 records in all; the same for
             each power of ten. A label has about log(n) segments, and a record is written about twice
             for each tier. A segment with more than half of its records deleted is rewritten.
  --all      all neighbouring segments with the same label
  --one      all segments; the result has the greatest label, or none if a segment has none
  --rewrite  each segment by itself";

const AFTER_HELP: &str = "\
Examples:
  fpstore compact -s pages.fps
  fpstore compact --all --dry-run -s pages.fps
  fpstore compact --all --memory 2GiB --max-rate 20MB/s -s pages.fps

Exit status: 0 done, even if there was nothing to do; 2 error.";

/// Merge segments, and remove deleted records
#[derive(Args, Debug)]
#[command(
    long_about = LONG_ABOUT,
    after_help = AFTER_HELP,
    mut_arg("k", |arg| arg.requires("scheme")),
    mut_arg("budget", |arg| arg.requires("scheme"))
)]
pub(crate) struct CompactArgs {
    /// Merge segments of similar size (the default)
    #[arg(long)]
    tier: bool,
    /// Merge all neighbouring segments with the same label
    #[arg(long, conflicts_with = "tier")]
    all: bool,
    /// Merge everything into one segment, with one label
    #[arg(long, conflicts_with_all = ["tier", "all"])]
    one: bool,
    /// Rewrite each segment, for another --scheme or to rebuild damaged tables
    #[arg(long, conflicts_with_all = ["tier", "all", "one"])]
    rewrite: bool,
    /// Print what would be merged and change nothing
    #[arg(long, short_alias = 'n')]
    dry_run: bool,
    #[command(flatten)]
    store: StorePlace,
    /// Read and write segments and temporary files no faster than this, such as 20MB/s
    #[arg(long, value_name = "RATE", value_parser = rate)]
    max_rate: Option<u64>,
    #[command(flatten)]
    scheme: SchemeArgs,
    #[command(flatten)]
    work: WriteArgs,
}

pub(crate) fn run(args: &CompactArgs) -> anyhow::Result<ExitStatus> {
    let store = args.store.open()?;
    let monitor = args.work.monitor()?;
    let mut options = WriterOptions::default().max_rate(args.max_rate);
    if let Some(scheme) = args.scheme.choice_beside(&store)? {
        options = options.scheme(scheme);
    }
    let compaction = match (args.all, args.one, args.rewrite) {
        (true, ..) => Compaction::All,
        (_, true, _) => Compaction::One,
        (.., true) => Compaction::Rewrite,
        _ => Compaction::Tier,
    };
    if args.dry_run {
        if !args.work.is_quiet() {
            report_planned(&store, &compaction);
        }
        return Ok(ExitStatus::Done);
    }
    drop(store);
    let options = args.work.limit(options, &monitor)?;
    let mut compactor = Compactor::with_options(args.store.path(), options)?;
    let before = compactor.store().info();
    let with_records = before.segments.iter().filter(|segment| segment.has_records());
    let labels: std::collections::BTreeSet<&str> =
        with_records.map(|segment| segment.label.as_str()).collect();
    let done = compactor.compact(&compaction)?;
    let info = compactor.store().info();
    monitor.finish();
    if args.work.is_quiet() {
        return Ok(ExitStatus::Done);
    }
    if done.conflicted > 0 {
        message!(
            "{} repeated, because a segment was changed or removed meanwhile",
            counted(done.conflicted, "merge was", "merges were")
        );
    }
    if done.merged == 0 {
        report_nothing(&info);
        return Ok(ExitStatus::Done);
    }
    if let (true, Some(only)) = (args.one && labels.len() > 1, info.segments.first()) {
        let label = match only.label.as_str() {
            "" => "no label, so it does not expire".to_string(),
            label => format!("the label '{label}'"),
        };
        message!(
            "{} became one segment with {label}",
            counted(labels.len() as u64, "label", "labels")
        );
    }
    message!(
        "{} ({}) merged into {} ({}); removed {} and {}",
        counted(done.merged, "segment", "segments"),
        bytes(done.read_len),
        if done.made == 1 { "one".into() } else { grouped(done.made) },
        bytes(done.written_len),
        counted(done.deleted_fingerprints, "deleted fingerprint", "deleted fingerprints"),
        counted(done.deleted_ids, "deleted id", "deleted ids"),
    );
    message!(
        "  now {}, {}",
        counted(info.segments.len() as u64, "segment", "segments"),
        bytes(info.file_len()),
    );
    Ok(ExitStatus::Done)
}

fn report_nothing(info: &StoreInfo) {
    let count = counted(info.segments.len() as u64, "segment", "segments");
    message!("nothing to do: {count}, {}", bytes(info.file_len()));
}

fn report_planned(store: &Store, compaction: &Compaction) {
    let merges = store.compacting(compaction);
    for merge in &merges {
        let label = match merge.label.as_str() {
            "" => String::new(),
            label => format!(" with the label '{label}'"),
        };
        message!(
            "{} ({}) would be merged into one{label}, without {}",
            counted(merge.segments, "segment", "segments"),
            bytes(merge.read_len),
            counted(merge.deleted_fingerprints, "deleted fingerprint", "deleted fingerprints"),
        );
    }
    if merges.is_empty() {
        report_nothing(&store.info());
    }
}
