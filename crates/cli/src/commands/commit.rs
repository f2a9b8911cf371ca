//! `fpstore commit`: makes a store from segment files written by tasks, or adds them to a store.

use std::path::PathBuf;

use clap::Args;
use fpstore::SegmentReceipt;
use fpstore::writer::{CommitOptions, SegmentsCommitted, commit, read_receipts};

use crate::args::resources::QuietArgs;
use crate::args::segment_args::{LabelArgs, RunArgs};
use crate::output::text::{bytes, counted};
use crate::session::command::ExitStatus;
use crate::session::stores::StoreArg;
use crate::session::wait::{WaitArgs, announcer};

const LONG_ABOUT: &str = "\
Add segment files to the store, all of them in one step, or none. A missing store is created. The \
files are segments of 'build --segment-file', or files with their receipts. With a receipt, the segment \
file must be unchanged.

Before the first file is added, all are checked: headers, recipes, digests. They are hard-linked into \
the store, not copied, unless the store is on another file system. The segments are ordered \
by name. A repeated commit changes nothing and prints a message; after a compaction it is recognized \
only by --run.";

const AFTER_HELP: &str = "\
Examples:
  seq 0 7 | xargs -P 4 -I{} sh -c 'fpstore build part-{}.tsv --segment-file {}.fps > {}.receipt'
  fpstore commit *.receipt -s pages.fps --remove

Exit status: 0 done; 2 error.";

/// Make a store from segment files written by tasks
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub(crate) struct CommitArgs {
    /// Segment files, or files with their receipts
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    store: StoreArg,
    #[command(flatten)]
    label: LabelArgs,
    #[command(flatten)]
    run: RunArgs,
    /// Remove the files once they are in the store
    #[arg(long)]
    remove: bool,
    #[command(flatten)]
    wait: WaitArgs,
    #[command(flatten)]
    quiet: QuietArgs,
}

pub(crate) fn run(args: &CommitArgs) -> anyhow::Result<ExitStatus> {
    let mut receipts: Vec<SegmentReceipt> = Vec::new();
    for file in &args.files {
        receipts.extend(read_receipts(file)?);
    }
    let options = CommitOptions::default()
        .label(args.label.label())
        .run(args.run.run.clone())
        .remove(args.remove)
        .wait(args.wait.duration())
        .observer(announcer());
    let done = commit(&args.store.store, &receipts, &options)?;
    if !args.quiet.is_on() {
        report(args, &done);
    }
    Ok(ExitStatus::Done)
}

fn report(args: &CommitArgs, done: &SegmentsCommitted) {
    let store = args.store.store.display();
    if let (true, Some(run)) = (done.known_run, &args.run.run) {
        message!("{store}: run {run} was committed before, nothing was changed");
        return;
    }
    message!(
        "{store}: {} added, {}, {}; generation {}",
        counted(done.added, "segment", "segments"),
        counted(done.fingerprints, "fingerprint", "fingerprints"),
        bytes(done.file_len),
        done.generation,
    );
    let say = |count: u64, what: &str| {
        if count > 0 {
            message!("{} {what}", counted(count, "segment", "segments"));
        }
    };
    say(done.repeated, "already there, left out");
    say(done.differing, "of these have another label, or deleted records, and were not changed");
    say(done.empty, "without fingerprints left out");
    say(done.copied, "copied: the store and the files are on different file systems");
    if done.tables_differ {
        message!(
            "the segments have different tables, so each share of 'pairs' reads everything; build \
             all of them with the same --scheme"
        );
    }
}
