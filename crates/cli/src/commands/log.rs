//! `fpstore log`: compares earlier copies of a store with the store, and prints what was added,
//! deleted, merged and expired from each copy to the next.

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
List the additions, deletions, merges and expiries of a store, from one kept state to the next.

A store keeps one state and no history, so each --kept DIR is a copy of an earlier state, such as a \
folder of 'fpstore backup'. Without --kept, the whole store counts as added. All changes between two \
states are one step; with a copy of each generation, each change is a step.

The columns are generation, the generation before, act (added, deleted, merged, expired, run), \
segments after it, segments before it, label, and the live fingerprints and ids of these segments: \
fingerprints now and before, ids now and before. The records of merged segments are compared: the last \
columns count the records added and removed meanwhile.";

const AFTER_HELP: &str = "\
Examples:
  fpstore log -s pages.fps --header
  fpstore log --kept monday.fps --kept tuesday.fps -s pages.fps

Exit status: 0 done; 2 error.";

/// List what was added, deleted, merged and expired between copies of a store
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub(crate) struct LogArgs {
    /// A copy of the store that was made earlier; may be repeated
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
