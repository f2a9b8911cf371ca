//! `fpstore compact`: few segments from many, without what was deleted.

use bytesize::ByteSize;
use clap::Args;
use fpstore::{Compaction, Compactor, WriterOptions};

use super::budget::BudgetArg;
use super::build::scheme_of;
use super::effort::{EffortArgs, Work};
use super::output::{bytes, counted};
use super::{StoreArg, Verdict};

const LONG_ABOUT: &str = "\
Merge segments, and leave behind what was deleted. Readers and a writer go on meanwhile: what is added stays as it is, what \
is deleted is gone, and 'add' leaves merging to this. One process compacts at a time. An interrupted compaction leaves the store \
as it was, with the merges that were done.

--tier, the default, merges neighbours of one label: tiers are powers of ten of records, and what a tier holds is merged once \
it comes to 3, 6 or 10 times that many; ten are one of the next tier. Segments of which more than half is deleted are written \
anew. So the segments of a label stay about log(n) many, and a record is written about twice for each power of ten. --all makes one segment of all neighbours of one label. --one makes one of all; as it \
expires as a whole, it gets the greatest label, or none if any segment has none.";

const AFTER_HELP: &str = "\
Examples:
  fpstore compact -s pages.fps
  fpstore compact --all --memory 2GiB --max-rate 20MB/s -s pages.fps

Exit status: 0 done, also if there was nothing to do, 2 if it could not.";

/// Merge segments, and leave behind what was deleted
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub(super) struct CompactArgs {
    /// Merge what is due by the size-tiered rule (the default)
    #[arg(long)]
    tier: bool,
    /// Merge all neighbours of one label
    #[arg(long, conflicts_with = "tier")]
    all: bool,
    /// Merge everything into one segment, whatever the labels
    #[arg(long, conflicts_with_all = ["tier", "all"])]
    one: bool,
    #[command(flatten)]
    store: StoreArg,
    /// Read and write no faster than this, such as 20MB/s; segments and temporary files count
    #[arg(long, value_name = "RATE", value_parser = rate)]
    max_rate: Option<u64>,
    /// The tables of merged segments: auto, a name or a file of masks; default: those of the largest segment
    #[arg(long, value_name = "SCHEME")]
    scheme: Option<String>,
    /// With --scheme auto: the distance that queries will mostly ask for; default: that of the store
    #[arg(short, requires = "scheme", value_parser = clap::value_parser!(u32).range(0..=64))]
    k: Option<u32>,
    /// With --scheme auto: space for the tables, as 12GB or 16B/fp
    #[arg(long, value_name = "BYTES", requires = "scheme")]
    budget: Option<BudgetArg>,
    #[command(flatten)]
    effort: EffortArgs,
    /// Say nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

/// Bytes a second, with or without a '/s' after them.
fn rate(text: &str) -> Result<u64, String> {
    let size: ByteSize = text.strip_suffix("/s").unwrap_or(text).parse()?;
    match size.as_u64() {
        0 => Err("expected more than nothing a second".into()),
        rate => Ok(rate),
    }
}

pub(super) fn run(args: &CompactArgs) -> anyhow::Result<Verdict> {
    let store = args.store.open()?;
    let work = Work::start(&args.effort, args.quiet)?;
    let mut options = WriterOptions::default();
    options.max_rate = args.max_rate;
    if let Some(scheme) = &args.scheme {
        let k = args.k.unwrap_or(store.tuned_k());
        options.scheme = Some(scheme_of(scheme, k, args.budget)?);
    }
    drop(store);
    args.effort.limit(&mut options, &work);
    let mut compactor = Compactor::with_options(&args.store.store, options)?;
    let what = match (args.all, args.one) {
        (true, _) => Compaction::All,
        (_, true) => Compaction::One,
        _ => Compaction::Tier,
    };
    let before = compactor.store().info();
    let labels: std::collections::BTreeSet<&str> =
        before.segments.iter().map(|segment| segment.label.as_str()).collect();
    let done = compactor.compact(&what)?;
    let info = compactor.store().info();
    work.done();
    if args.quiet {
        return Ok(Verdict::Yes);
    }
    if done.overtaken > 0 {
        say!(
            "fpstore: {} begun anew, as what was merged had gone or changed meanwhile",
            counted(done.overtaken, "merge was", "merges were")
        );
    }
    if done.merged == 0 {
        let count = counted(info.segments.len() as u64, "segment", "segments");
        say!("fpstore: nothing to do: {count}, {}", bytes(info.file_len()));
        return Ok(Verdict::Yes);
    }
    if let (true, Some(only)) = (args.one && labels.len() > 1, info.segments.first()) {
        let label = match only.label.as_str() {
            "" => "no label, so it does not expire".to_string(),
            label => format!("the label '{label}'"),
        };
        say!(
            "fpstore: {} became one segment with {label}",
            counted(labels.len() as u64, "label", "labels")
        );
    }
    say!(
        "fpstore: {} ({}) merged into {} ({}); {} and {} that were deleted are gone",
        counted(done.merged, "segment", "segments"),
        bytes(done.read_len),
        counted(done.made, "one", "other ones").replace("1 one", "one"),
        bytes(done.written_len),
        counted(done.dropped_fingerprints, "fingerprint", "fingerprints"),
        counted(done.dropped_ids, "id", "ids"),
    );
    say!(
        "fpstore:   now {}, {}",
        counted(info.segments.len() as u64, "segment", "segments"),
        bytes(info.file_len()),
    );
    Ok(Verdict::Yes)
}
