//! `fpstore verify`: is the store sound, and does it answer as a scan would.

use clap::Args;

use super::output::grouped;
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
    #[arg(long, value_name = "N", default_value_t = 100)]
    sample: u64,
    /// Say nothing of a sound store
    #[arg(short, long)]
    quiet: bool,
}

pub(super) fn run(args: &VerifyArgs) -> anyhow::Result<Verdict> {
    let report = fpstore::verify(&args.store.store, args.sample)?;
    for fault in &report.faults {
        eprintln!("fpstore: {fault}");
    }
    let store = args.store.store.display();
    if !report.is_sound() {
        let count = grouped(report.faults.len() as u64);
        eprintln!("fpstore: {store} is damaged: {count} faults; build it anew or restore a copy");
        return Ok(Verdict::No);
    }
    if !args.quiet {
        eprintln!(
            "fpstore: {store} is sound: {} segments, {} pages, {} values, {} samples as by a scan",
            grouped(report.segment_count),
            grouped(report.page_count),
            grouped(report.value_count),
            grouped(report.sample_count),
        );
    }
    Ok(Verdict::Yes)
}
