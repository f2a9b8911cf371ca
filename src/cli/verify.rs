//! `fpstore verify`: checks a store against its format, and its answers against a scan.

use clap::Args;

use super::command::{ExitStatus, Run, StorePlace};
use super::output::counted;

const LONG_ABOUT: &str = "\
Check every rule and every checksum of a store, that all tables of a segment hold the same set, \
and that sample queries get the answers of a scan.

Reads the whole store. Prints each fault with its file and place. Exit status: 0 sound, 1 \
damaged, 2 error.";

const AFTER_HELP: &str = "\
Examples:
  fpstore verify -s pages.fps
  fpstore verify --sample 1000";

/// Check a store against every rule of its format, and sample queries against a scan
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub(super) struct VerifyArgs {
    #[command(flatten)]
    store: StorePlace,
    /// The number of stored, flipped and random fingerprints to query and compare with a scan
    #[arg(long, value_name = "N", default_value_t = 100,
          value_parser = clap::value_parser!(u64).range(0..=1_000_000))]
    sample: u64,
    /// Print nothing if the store is sound
    #[arg(short, long)]
    quiet: bool,
}

impl Run for VerifyArgs {
    fn run(&self) -> anyhow::Result<ExitStatus> {
        run(self)
    }
}

fn run(args: &VerifyArgs) -> anyhow::Result<ExitStatus> {
    let report = fpstore::verify(args.store.path(), args.sample)?;
    for fault in &report.faults {
        message!("{fault}");
    }
    let store = args.store.path().display();
    if !report.is_sound() {
        let count = counted(report.faults.len() as u64, "fault", "faults");
        message!("{store} is damaged: {count}; build it again or restore a copy");
        return Ok(ExitStatus::Negative);
    }
    if !args.quiet {
        message!(
            "{store} is sound: {}, {}, {}, {} answered like a scan",
            counted(report.segment_count, "segment", "segments"),
            counted(report.page_count, "page", "pages"),
            counted(report.value_count, "value", "values"),
            counted(report.sample_count, "sample", "samples"),
        );
    }
    Ok(ExitStatus::Done)
}
