//! `fpstore import`: copies segments from other stores into the store.

use std::path::PathBuf;

use clap::Args;
use fpstore::{Writer, WriterOptions};

use crate::args::resources::QuietArgs;
use crate::args::segment_args::LabelArgs;
use crate::output::text::{bytes, counted};
use crate::session::command::ExitStatus;
use crate::session::stores::StoreArg;
use crate::session::wait::{WaitArgs, announcer};

const LONG_ABOUT: &str = "\
Copy segments into the store: segment files, or all segments of stores, with labels and deletions. \
Every copy is checked completely, and must have the recipe of the store. Either all segments appear \
at once or none. A segment that the store already has is refused.";

const AFTER_HELP: &str = "\
Examples:
  fpstore import part-*.fps -s pages.fps
  fpstore import other.fps/segment-0000000000000001.fps --label 2026-11

Exit status: 0 done; 2 error.";

/// Copy segments from other stores into this one
#[derive(Args, Debug)]
#[command(
    long_about = LONG_ABOUT,
    after_help = AFTER_HELP,
    mut_arg("label", |arg| arg.help("Label of the copies [default: the label of each segment in its store]"))
)]
pub(crate) struct ImportArgs {
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

pub(crate) fn run(args: &ImportArgs) -> anyhow::Result<ExitStatus> {
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
            message!("{empty} left out: no fingerprints");
        }
    }
    Ok(ExitStatus::Done)
}
