//! `fpstore expire`: removes whole segments by their label.

use clap::Args;
use fpstore::writer::{Expired, Expiry};
use fpstore::{Error, Writer, WriterOptions};

use crate::cli::args::resources::QuietArgs;
use crate::cli::output::text::{bytes, counted};
use crate::cli::session::command::{ExitStatus, StorePlace};
use crate::cli::session::wait::{WaitArgs, announcer};

const LONG_ABOUT: &str = "\
Remove whole segments by their label. Segments without a label stay. Readers that have removed \
segments open keep them until they refresh.

--older-than AGE removes segments whose label is a date that passed more than AGE ago: a day \
(2026-11-05, also with a time behind it, or 20261105), a week (2026-W45), a month (2026-11) or a \
year. 'add --label today' gives such labels. Today is the day in UTC; segments with other labels \
stay.

--before LABEL removes segments whose label sorts before LABEL, byte by byte. Labels that sort \
before it must be of the same form, or one must begin as the other: 30d or 2026/11/01 are of \
another form than 2026-11-05, and remove nothing.

If no segment would stay, nothing is removed without --all.";

const AFTER_HELP: &str = "\
Examples:
  fpstore expire --older-than 30d --dry-run -s pages.fps
  fpstore expire --before 2026-01 -s pages.fps

Exit status: 0 done, even if there was nothing to remove; 2 error.";

/// Remove segments by their label
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub(in crate::cli) struct ExpireArgs {
    /// Remove segments whose label is a date of more than AGE ago: 30d, 6w, 3mo, 1y
    #[arg(long, value_name = "AGE", required_unless_present = "before")]
    older_than: Option<String>,
    /// Remove segments whose label sorts before LABEL
    #[arg(long, value_name = "LABEL", conflicts_with = "older_than")]
    before: Option<String>,
    /// Remove them even if no segment stays
    #[arg(long)]
    all: bool,
    /// Only print what would be removed
    #[arg(long, short_alias = 'n')]
    dry_run: bool,
    #[command(flatten)]
    store: StorePlace,
    #[command(flatten)]
    wait: WaitArgs,
    #[command(flatten)]
    quiet: QuietArgs,
}

pub(in crate::cli) fn run(args: &ExpireArgs) -> anyhow::Result<ExitStatus> {
    let expiry = match (&args.older_than, &args.before) {
        (Some(age), _) => Expiry::older_than(age)?,
        (None, label) => Expiry::before(label.as_deref().unwrap_or_default()),
    };
    let expiry = expiry.all(args.all);
    let refused = |error: Error| {
        let is_refused = matches!(error, Error::InvalidOptions { .. });
        let error = anyhow::Error::from(error);
        if is_refused { error.context(args.store.path().display().to_string()) } else { error }
    };
    let expired = if args.dry_run {
        args.store.open()?.expiring(&expiry).map_err(refused)?
    } else {
        let options = WriterOptions::default().wait(args.wait.duration()).observer(announcer());
        Writer::with_options(args.store.path(), options)?.expire(&expiry).map_err(refused)?
    };
    if !args.quiet.is_on() {
        report(&expired, &expiry, args.dry_run);
    }
    Ok(ExitStatus::Done)
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
