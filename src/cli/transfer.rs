//! `fpstore import` and `fpstore export`: segments from elsewhere, and to go elsewhere.

use std::path::PathBuf;

use clap::Args;
use fpstore::{Writer, WriterOptions, export};

use super::output::{bytes, counted};
use super::{StoreArg, Verdict};

const IMPORT_ABOUT: &str = "\
Take segments that were built elsewhere: segment files, or stores, of which all segments are taken with labels and deletions. They are \
copied into the store and checked front to back, their recipe must be that of the store, and all of them appear at once or none does. \
A segment that the store has already is refused.";

const IMPORT_HELP: &str = "\
Examples:
  fpstore import part-*.fps -s pages.fps
  fpstore import other.fps/segment-0000000000000001.fps --label 2026-11

Exit status: 0 done, 2 could not.";

/// Take segments that were built elsewhere
#[derive(Args, Debug)]
#[command(long_about = IMPORT_ABOUT, after_help = IMPORT_HELP)]
pub(super) struct ImportArgs {
    /// Segment files, or stores
    #[arg(value_name = "SEGMENT", required = true)]
    sources: Vec<PathBuf>,
    #[command(flatten)]
    store: StoreArg,
    /// What they are called here; default: what they are called in their store
    #[arg(long, value_name = "LABEL", default_value = "")]
    label: String,
    /// Say nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

const EXPORT_ABOUT: &str = "\
Copy segments to a new store in a directory of its own, with labels and deletions: the unit of distribution. 'import' takes it as \
a whole; its segment files, where nothing is deleted of them, can also be shipped one by one.";

const EXPORT_HELP: &str = "\
Examples:
  fpstore export -o shipped.fps -s pages.fps
  fpstore export --segment 7 -o seven.fps

Exit status: 0 done, 2 could not.";

/// Copy segments to a new store
#[derive(Args, Debug)]
#[command(long_about = EXPORT_ABOUT, after_help = EXPORT_HELP)]
pub(super) struct ExportArgs {
    /// The directory to make
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Only the segment with this number, see 'info'
    #[arg(long, value_name = "N")]
    segment: Option<u64>,
    #[command(flatten)]
    store: StoreArg,
    /// Print nothing
    #[arg(short, long)]
    quiet: bool,
}

pub(super) fn run_import(args: &ImportArgs) -> anyhow::Result<Verdict> {
    let options = WriterOptions::default().label(&args.label).compact(false);
    let mut writer = Writer::with_options(&args.store.store, options)?;
    let done = writer.import(&args.sources)?;
    if !args.quiet {
        say!(
            "fpstore: {}: {} taken, {}, {}",
            args.store.store.display(),
            counted(done.segments, "segment", "segments"),
            counted(done.fingerprints, "fingerprint", "fingerprints"),
            bytes(done.file_len),
        );
    }
    Ok(Verdict::Yes)
}

pub(super) fn run_export(args: &ExportArgs) -> anyhow::Result<Verdict> {
    let done = export(&args.store.open()?, &args.output, args.segment)?;
    if !args.quiet {
        let mut out = super::output::stdout();
        for file in &done.files {
            use std::io::Write;
            writeln!(out, "{}", file.display())?;
        }
        std::io::Write::flush(&mut out)?;
        say!(
            "fpstore: {} copied, {}",
            counted(done.files.len() as u64, "segment", "segments"),
            bytes(done.file_len),
        );
        if done.with_deletions > 0 {
            say!(
                "fpstore: {} with deletions: import the directory, not single files, or compact first",
                counted(done.with_deletions, "segment", "segments"),
            );
        }
    }
    Ok(Verdict::Yes)
}
