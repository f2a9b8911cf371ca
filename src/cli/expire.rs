//! `fpstore expire`: whole segments go by their label.

use clap::Args;
use fpstore::{Expired, Writer};

use super::output::{bytes, counted};
use super::{StoreArg, Verdict};

const LONG_ABOUT: &str = "\
Drop all segments whose label sorts before LABEL, byte by byte, so that labels such as 2026-09 sort by date. Segments without a \
label stay. Readers that have them open keep them until they refresh.";

const AFTER_HELP: &str = "\
Examples:
  fpstore expire --before 2026-01 --dry-run -s pages.fps
  fpstore expire --before 2026-01 -s pages.fps

Exit status: 0 if segments were dropped, or would be, 1 if there are none, 2 if it could not.";

/// Drop segments by their label
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub(super) struct ExpireArgs {
    /// Drop what is labelled less than this
    #[arg(long, value_name = "LABEL")]
    before: String,
    /// Only say what would be dropped
    #[arg(short = 'n', long)]
    dry_run: bool,
    #[command(flatten)]
    store: StoreArg,
    /// Say nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

pub(super) fn run(args: &ExpireArgs) -> anyhow::Result<Verdict> {
    let expired = match args.dry_run {
        true => args.store.open()?.expiring_before(&args.before),
        false => Writer::open(&args.store.store)?.expire_before(&args.before)?,
    };
    if !args.quiet {
        report(&expired, args);
    }
    Ok(if expired.segments.is_empty() { Verdict::No } else { Verdict::Yes })
}

fn report(expired: &Expired, args: &ExpireArgs) {
    let verb = if args.dry_run { "would be dropped" } else { "dropped" };
    for segment in &expired.segments {
        say!(
            "fpstore: segment {}, '{}', {}, {verb}",
            segment.number,
            segment.label,
            counted(segment.fingerprint_count, "fingerprint", "fingerprints"),
        );
    }
    if expired.segments.is_empty() {
        say!("fpstore: no segment has a label before '{}'", args.before);
        return;
    }
    let len = expired.segments.iter().map(|segment| segment.file_len).sum();
    let count = counted(expired.segments.len() as u64, "segment", "segments");
    say!("fpstore: {count} {verb}, {}", bytes(len));
}
