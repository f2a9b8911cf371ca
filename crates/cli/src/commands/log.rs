//! `fpstore log`: prints what each kept state of a store added, deleted, merged and expired.

use std::path::PathBuf;

use clap::Args;
use fpstore::Store;
use fpstore::info::Change;

use crate::args::format_args::LinesArgs;
use crate::output::row_writer::RowWriter;
use crate::output::sink::OutputArgs;
use crate::session::command::ExitStatus;
use crate::session::stores::StorePlace;

const LONG_ABOUT: &str = "\
List what a store added, deleted, merged and expired, from one kept state to the next.

A store keeps one state and no history, so each --kept DIR names a copy of an earlier state, as \
'fpstore backup' makes it in a folder of its own. Without any, all of the store counts as added. \
What happened between two states is told as one step; if each generation was kept, each is told.

The columns are generation, the generation before, act (added, deleted, merged, expired, run), \
segments that have it, segments that had it, label, and the live fingerprints and ids of these \
segments: fingerprints now and before, ids now and before. Of merged segments the records are \
compared: the last columns count those that were added and those that were removed meanwhile.";

const AFTER_HELP: &str = "\
Examples:
  fpstore log -s pages.fps --header
  fpstore log --kept monday.fps --kept tuesday.fps -s pages.fps

Exit status: 0 done; 2 error.";

/// List what each kept state added, deleted, merged and expired
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub(crate) struct LogArgs {
    /// A copy of an earlier state of the store; may be repeated
    #[arg(long, value_name = "DIR")]
    kept: Vec<PathBuf>,
    #[command(flatten)]
    store: StorePlace,
    #[command(flatten)]
    format: LinesArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(args: &LogArgs) -> anyhow::Result<ExitStatus> {
    let mut states = vec![args.store.open()?];
    for kept in &args.kept {
        states.push(Store::open(kept)?);
    }
    let changes = Store::log(&states)?;
    let mut rows = RowWriter::new::<Change>(args.format.layout(), args.output.open()?, &[])?;
    for change in &changes {
        rows.push(change)?;
    }
    rows.finish()?;
    Ok(ExitStatus::Done)
}
