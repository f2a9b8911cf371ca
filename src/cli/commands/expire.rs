//! `fpstore expire`: removes whole segments by their label.

use clap::Args;
use fpstore::writer::Expired;
use fpstore::{Writer, WriterOptions};

use crate::cli::args::resources::QuietArgs;
use crate::cli::output::text::{bytes, counted};
use crate::cli::session::command::{ExitStatus, StoreArg};
use crate::cli::session::wait::{WaitArgs, announcer};

const LONG_ABOUT: &str = "\
Remove all segments whose label sorts before LABEL, byte by byte, so that labels such as 2026-09 \
sort by date. Segments without a label are kept. Readers that have removed segments open keep \
them until they refresh.";

const AFTER_HELP: &str = "\
Examples:
  fpstore expire --before 2026-01 --dry-run -s pages.fps
  fpstore expire --before 2026-01 -s pages.fps

Exit status: 0 done, even if there was nothing to remove; 2 error.";

/// Remove segments by their label
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub(in crate::cli) struct ExpireArgs {
    /// Remove segments whose label sorts before this
    #[arg(long, value_name = "LABEL")]
    before: String,
    /// Only print what would be removed
    #[arg(short = 'n', long)]
    dry_run: bool,
    #[command(flatten)]
    store: StoreArg,
    #[command(flatten)]
    wait: WaitArgs,
    #[command(flatten)]
    quiet: QuietArgs,
}

pub(in crate::cli) fn run(args: &ExpireArgs) -> anyhow::Result<ExitStatus> {
    let expired = if args.dry_run {
        args.store.open()?.expiring_before(&args.before)
    } else {
        let options = WriterOptions::default().wait(args.wait.duration()).observer(announcer());
        Writer::with_options(&args.store.store, options)?.expire_before(&args.before)?
    };
    if !args.quiet.is_on() {
        report(&expired, args);
    }
    Ok(ExitStatus::Done)
}

fn report(expired: &Expired, args: &ExpireArgs) {
    let verb = if args.dry_run { "would be removed" } else { "removed" };
    for segment in &expired.segments {
        message!(
            "segment {}, '{}', {}, {verb}",
            segment.number,
            segment.label,
            counted(segment.fingerprint_count, "fingerprint", "fingerprints"),
        );
    }
    if expired.segments.is_empty() {
        message!("no segment has a label before '{}'", args.before);
        return;
    }
    let len = expired.segments.iter().map(|segment| segment.file_len).sum();
    let count = counted(expired.segments.len() as u64, "segment", "segments");
    message!("{count} {verb}, {}", bytes(len));
}
