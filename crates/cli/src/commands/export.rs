//! `fpstore export`: copies or links segments to a new store.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use fpstore::writer::{export, export_linked};

use crate::args::resources::QuietArgs;
use crate::output::text::{bytes, counted, stdout};
use crate::session::command::ExitStatus;
use crate::session::stores::StorePlace;

const LONG_ABOUT: &str = "\
Copy segments to a new store in a directory of its own, with labels and deletions. 'import' \
reads the directory, and also single segment files without deletions.";

const AFTER_HELP: &str = "\
Examples:
  fpstore export -o shipped.fps -s pages.fps
  fpstore export --segment-number 7 -o seven.fps
  fpstore export --hard-link -o tonight.fps -s pages.fps

Exit status: 0 done; 2 error.";

/// Copy segments to a new store
#[derive(Args, Debug)]
#[command(
    long_about = LONG_ABOUT,
    after_help = AFTER_HELP,
    mut_arg("quiet", |arg| arg.help("Print nothing"))
)]
pub(crate) struct ExportArgs {
    /// Directory of the new store
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Copy only the segment with this number; see 'info'
    #[arg(long, alias = "segment", value_name = "N")]
    segment_number: Option<u64>,
    /// Hard-link the files instead of copying them, which takes no space
    ///
    /// Jobs can read the snapshot while the store changes. Both need one file system.
    #[arg(long, alias = "link")]
    hard_link: bool,
    #[command(flatten)]
    store: StorePlace,
    #[command(flatten)]
    quiet: QuietArgs,
}

pub(crate) fn run(args: &ExportArgs) -> anyhow::Result<ExitStatus> {
    let export = if args.hard_link { export_linked } else { export };
    let done = export(&args.store.open()?, &args.output, args.segment_number)?;
    if !args.quiet.is_on() {
        let mut out = stdout();
        for file in &done.files {
            writeln!(out, "{}", file.display())?;
        }
        out.flush()?;
        message!(
            "{} {}, {}",
            counted(done.files.len() as u64, "segment", "segments"),
            if args.hard_link { "linked" } else { "copied" },
            bytes(done.file_len),
        );
        if done.with_deletions > 0 {
            message!(
                "{} with deletions: import the directory, not single files, or compact first",
                counted(done.with_deletions, "segment", "segments"),
            );
        }
    }
    Ok(ExitStatus::Done)
}
