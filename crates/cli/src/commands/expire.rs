//! `fpstore expire`: removes whole segments by their label.

use anyhow::anyhow;
use clap::Args;
use fpstore::info::SegmentInfo;
use fpstore::writer::{Expired, Expiry};
use fpstore::{Error, Writer, WriterOptions};

use crate::args::resources::QuietArgs;
use crate::output::text::{bytes, counted};
use crate::session::command::ExitStatus;
use crate::session::stores::StorePlace;
use crate::session::wait::{WaitArgs, announcer};

const LONG_ABOUT: &str = "\
Remove whole segments by their label. Segments without a label are kept. Readers that have opened \
removed segments keep them until they refresh.

--older-than AGE removes segments whose label is a date that passed more than AGE ago: a day \
(2026-11-05, also followed by a time, or 20261105), a week (2026-W45), a month (2026-11) or a year. \
'add --label today' sets such labels. Today is the day in UTC. Segments with other labels are kept, \
and their number is printed.

--before LABEL removes segments whose label sorts before LABEL, byte by byte. Labels that sort \
before it must have the same form, or one must be a prefix of the other: 30d and 2026/11/01 have \
another form than 2026-11-05, and remove nothing.

Without --all, a command that would remove all records removes nothing.";

const AFTER_HELP: &str = "\
Examples:
  fpstore expire --older-than 30d --dry-run -s pages.fps
  fpstore expire --before 2026-01 -s pages.fps

Exit status: 0 done, even if there was nothing to remove; 2 error.";

/// Remove segments by their label
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub(crate) struct ExpireArgs {
    /// Remove segments whose label is a date of more than AGE ago: 30d, 6w, 3mo, 1y
    #[arg(long, value_name = "AGE", required_unless_present = "before")]
    older_than: Option<String>,
    /// Remove segments whose label sorts before LABEL
    #[arg(long, value_name = "LABEL", conflicts_with = "older_than")]
    before: Option<String>,
    /// Allow the removal of all records
    #[arg(long)]
    all: bool,
    /// Print what would be removed and change nothing
    #[arg(long, short_alias = 'n')]
    dry_run: bool,
    #[command(flatten)]
    store: StorePlace,
    #[command(flatten)]
    wait: WaitArgs,
    #[command(flatten)]
    quiet: QuietArgs,
}

pub(crate) fn run(args: &ExpireArgs) -> anyhow::Result<ExitStatus> {
    let expiry = match (&args.older_than, &args.before) {
        (Some(age), _) => Expiry::older_than(age)?,
        (None, label) => Expiry::before(label.as_deref().unwrap_or_default()),
    };
    let expiry = expiry.all(args.all);
    let refused = |error: Error| match error {
        // The error of the library names the library's option `all`: print `--all` instead.
        Error::InvalidOptions { reason } => {
            anyhow!(
                "{}: {}",
                args.store.path().display(),
                reason.replace("'all' allows", "--all allows")
            )
        }
        error => error.into(),
    };
    let (expired, segments) = if args.dry_run {
        let store = args.store.open()?;
        (store.expiring(&expiry).map_err(refused)?, store.info().segments)
    } else {
        let options = WriterOptions::default().wait(args.wait.duration()).observer(announcer());
        let mut writer = Writer::with_options(args.store.path(), options)?;
        (writer.expire(&expiry).map_err(refused)?, writer.store().info().segments)
    };
    if !args.quiet.is_on() {
        report(&expired, &expiry, args.dry_run);
        report_passed_over(&segments, &expiry);
    }
    Ok(ExitStatus::Done)
}

/// Prints which segments were skipped: no label, or a label of another form than the given one.
fn report_passed_over(segments: &[SegmentInfo], expiry: &Expiry) {
    let passed_over = segments.iter().filter(|segment| expiry.passes_over(segment));
    let (bare, other): (Vec<_>, Vec<_>) = passed_over.partition(|segment| segment.label.is_empty());
    let mut parts = Vec::new();
    if !bare.is_empty() {
        let count = counted(bare.len() as u64, "segment", "segments");
        parts.push(format!("{count} without a label"));
    }
    if let Some(first) = other.first() {
        let count = counted(other.len() as u64, "segment", "segments");
        parts.push(format!("{count} with a label of another form, such as '{}'", first.label));
    }
    if !parts.is_empty() {
        message!("skipped: {}", parts.join(", "));
    }
}

fn report(expired: &Expired, expiry: &Expiry, dry_run: bool) {
    let verb = if dry_run { "would be removed" } else { "removed" };
    for segment in &expired.segments {
        message!(
            "segment {}, '{}', {}, {verb}",
            segment.number,
            segment.label,
            counted(segment.fingerprint_count, "fingerprint", "fingerprints"),
        );
    }
    if expired.segments.is_empty() {
        message!("no segment has a label {}", expiry.description());
        return;
    }
    let len = expired.segments.iter().map(|segment| segment.file_len).sum();
    let count = counted(expired.segments.len() as u64, "segment", "segments");
    message!("{count} {verb}, {}", bytes(len));
}
