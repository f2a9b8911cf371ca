//! `fpstore import` and `fpstore export`: copy segments between stores.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use fpstore::writer::{export, export_linked};
use fpstore::{Writer, WriterOptions};

use crate::cli::args::resources::QuietArgs;
use crate::cli::args::segment_args::LabelArgs;
use crate::cli::output::text::{bytes, counted, stdout};
use crate::cli::session::command::{ExitStatus, StoreArg};
use crate::cli::session::wait::{WaitArgs, announcer};

const IMPORT_ABOUT: &str = "\
Copy segments from elsewhere into the store: segment files, or stores, of which all segments are \
copied with labels and deletions. Every copy is checked completely, and its recipe must be that \
of the store. All segments appear at once or none does. A segment that the store already has is \
refused.";

const IMPORT_HELP: &str = "\
Examples:
  fpstore import part-*.fps -s pages.fps
  fpstore import other.fps/segment-0000000000000001.fps --label 2026-11

Exit status: 0 done; 2 error.";

/// Copy segments from other stores into this one
#[derive(Args, Debug)]
#[command(
    long_about = IMPORT_ABOUT,
    after_help = IMPORT_HELP,
    mut_arg("label", |arg| arg.help("The label of the segments here [default: their label in their store]"))
)]
pub(in crate::cli) struct ImportArgs {
    /// Segment files, or stores
    #[arg(value_name = "SEGMENT", required = true)]
    sources: Vec<PathBuf>,
    #[command(flatten)]
    store: StoreArg,
    #[command(flatten)]
    label: LabelArgs,
    #[command(flatten)]
    wait: WaitArgs,
    #[command(flatten)]
    quiet: QuietArgs,
}

const EXPORT_ABOUT: &str = "\
Copy segments to a new store in a directory of its own, with labels and deletions. 'import' \
reads the directory; it also reads single segment files, as long as they have no deletions.";

const EXPORT_HELP: &str = "\
Examples:
  fpstore export -o shipped.fps -s pages.fps
  fpstore export --segment 7 -o seven.fps
  fpstore export --link -o tonight.fps -s pages.fps

Exit status: 0 done; 2 error.";

/// Copy segments to a new store
#[derive(Args, Debug)]
#[command(
    long_about = EXPORT_ABOUT,
    after_help = EXPORT_HELP,
    mut_arg("quiet", |arg| arg.help("Print nothing"))
)]
pub(in crate::cli) struct ExportArgs {
    /// The directory of the new store
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Copy only the segment with this number; see 'info'
    #[arg(long, value_name = "N")]
    segment: Option<u64>,
    /// Link the files instead of copying them: a snapshot that takes no space
    ///
    /// The store goes on changing, and jobs read the snapshot. Both must lie on one file system.
    #[arg(long)]
    link: bool,
    #[command(flatten)]
    store: StoreArg,
    #[command(flatten)]
    quiet: QuietArgs,
}

pub(in crate::cli) fn run_import(args: &ImportArgs) -> anyhow::Result<ExitStatus> {
    let options = WriterOptions::default()
        .label(args.label.label())
        .compact(false)
        .wait(args.wait.duration())
        .observer(announcer());
    let mut writer = Writer::with_options(&args.store.store, options)?;
    let done = writer.import(&args.sources)?;
    if !args.quiet.is_on() {
        message!(
            "{}: {} imported, {}, {}",
            args.store.store.display(),
            counted(done.segments, "segment", "segments"),
            counted(done.fingerprints, "fingerprint", "fingerprints"),
            bytes(done.file_len),
        );
        if done.empty > 0 {
            let empty = counted(done.empty, "empty segment", "empty segments");
            message!("{empty} left out: without fingerprints there is nothing to take");
        }
    }
    Ok(ExitStatus::Done)
}

pub(in crate::cli) fn run_export(args: &ExportArgs) -> anyhow::Result<ExitStatus> {
    let export = if args.link { export_linked } else { export };
    let done = export(&args.store.open()?, &args.output, args.segment)?;
    if !args.quiet.is_on() {
        let mut out = stdout();
        for file in &done.files {
            writeln!(out, "{}", file.display())?;
        }
        out.flush()?;
        message!(
            "{} {}, {}",
            counted(done.files.len() as u64, "segment", "segments"),
            if args.link { "linked" } else { "copied" },
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
