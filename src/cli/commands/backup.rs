//! `fpstore backup`: makes a folder hold the state of the store, and copies what it lacks.

use std::path::PathBuf;

use clap::Args;
use fpstore::writer::{BackupOptions, backup};

use crate::cli::args::resources::{ProgressArgs, QuietArgs, rate};
use crate::cli::output::text::{bytes, counted};
use crate::cli::session::command::{ExitStatus, StoreArg};
use crate::cli::session::wait::WaitArgs;

const LONG_ABOUT: &str = "\
Make FOLDER hold the state of the store, also while others write to it. Only segments that FOLDER \
lacks are copied; each copy is checked completely. FOLDER is a store of the same id and generation, \
which can be read at any time: it changes in one step, when all files are there.

Files that the new state does not need are removed from FOLDER, so it holds one state; for several, \
use several folders, or keep each with 'export --link'. To restore a store, copy FOLDER. A FOLDER \
with another store, or with a later state, is refused.

An interrupted backup keeps what it has copied, and the next one goes on.";

const AFTER_HELP: &str = "\
Examples:
  fpstore backup /mnt/backup/pages.fps -s pages.fps
  fpstore backup /mnt/backup/pages.fps -s pages.fps --max-rate 50MB/s --verify

Exit status: 0 done; 2 error, FOLDER is as before.";

/// Copy the state of the store to a folder, which takes only what it lacks
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub(in crate::cli) struct BackupArgs {
    /// The directory of the copy; made if there is none
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    #[command(flatten)]
    store: StoreArg,
    /// Also check the segments that are in FOLDER already, and copy damaged ones again
    #[arg(long)]
    verify: bool,
    /// Copy no faster than this, such as 20MB/s
    #[arg(long, value_name = "RATE", value_parser = rate)]
    max_rate: Option<u64>,
    #[command(flatten)]
    wait: WaitArgs,
    #[command(flatten)]
    progress: ProgressArgs,
    #[command(flatten)]
    quiet: QuietArgs,
}

pub(in crate::cli) fn run(args: &BackupArgs) -> anyhow::Result<ExitStatus> {
    let store = args.store.open()?;
    let monitor = args.progress.monitor(args.quiet.is_on())?;
    let options = BackupOptions::default()
        .verify(args.verify)
        .max_rate(args.max_rate)
        .wait(args.wait.duration())
        .observer(monitor.observer());
    let done = backup(&store, &args.folder, &options)?;
    monitor.finish();
    if !args.quiet.is_on() {
        message!(
            "{} holds generation {}: {} copied, {}; {} there already",
            args.folder.display(),
            done.generation,
            counted(done.copied, "segment", "segments"),
            bytes(done.copied_len),
            done.kept,
        );
    }
    Ok(ExitStatus::Done)
}
