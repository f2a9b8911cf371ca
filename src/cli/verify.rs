//! `fpstore verify`: is the store sound, and does it answer as a scan would.

use clap::Args;

use super::output::counted;
use super::{StoreArg, Verdict};

const LONG_ABOUT: &str = "\
Check every rule and every checksum of a store, that all tables of a segment hold the same set, and \
that sample queries are answered as a scan of the store answers them.

Reads the whole store. Exit status 0 if it is sound, 1 if it is damaged; each fault is printed with \
its file and place.";

/// Check a store against every rule of its format, and sample queries against a scan
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = "Examples:\n  fpstore verify -s pages.fps\n  fpstore verify --sample 1000")]
pub(super) struct VerifyArgs {
    #[command(flatten)]
    store: StoreArg,
    /// How many stored, flipped and random fingerprints to query and compare with a scan
    #[arg(long, value_name = "N", default_value_t = 100,
          value_parser = clap::value_parser!(u64).range(0..=1_000_000))]
    sample: u64,
    /// Say nothing of a sound store
    #[arg(short, long)]
    quiet: bool,
}

pub(super) fn run(args: &VerifyArgs) -> anyhow::Result<Verdict> {
    let report = fpstore::verify(&args.store.store, args.sample)?;
    for fault in &report.faults {
        say!("fpstore: {fault}");
    }
    let store = args.store.store.display();
    if !report.is_sound() {
        let count = counted(report.faults.len() as u64, "fault", "faults");
        say!("fpstore: {store} is damaged: {count}; build it anew or restore a copy");
        return Ok(Verdict::No);
    }
    if !args.quiet {
        say!(
            "fpstore: {store} is sound: {}, {}, {}, {} answered as by a scan",
            counted(report.segment_count, "segment", "segments"),
            counted(report.page_count, "page", "pages"),
            counted(report.value_count, "value", "values"),
            counted(report.sample_count, "sample", "samples"),
        );
    }
    Ok(Verdict::Yes)
}
