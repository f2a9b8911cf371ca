//! `fpstore verify`: checks that a store is valid, and that sample queries get the answers of a
//! scan.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use fpstore::options::SAMPLES;
use fpstore::writer::{Repair, Salvaged, repair};
use fpstore::{DamagedSegment, VerifyOptions, VerifyReport};

use crate::args::resources::{ProgressArgs, QuietArgs, rate};
use crate::output::sink::Sink;
use crate::output::text::{counted, quoted};
use crate::session::command::ExitStatus;
use crate::session::stores::StorePlace;
use crate::session::wait::WaitArgs;

const LONG_ABOUT: &str = "\
Check every rule and every checksum of a store, that all tables of a segment contain the same set, \
and that sample queries get the answers of a scan.

Reads the whole store. Prints each fault with its file and place, and the damaged segments. On the \
machine of a server, --max-rate keeps the disk free for queries.

--repair writes, for each damaged segment, a new segment with the contents of its sound pages, and a \
manifest of all sound segments, MANIFEST.repaired, next to the manifest of the store. It prints the \
losses and how to use the new manifest; the store itself is not changed. --lost-ids FILE lists the \
documents of damaged segments. If all damage is in tables, and another table of the segment contains the values, \
nothing is lost: 'compact --rewrite' builds these tables again.";

const AFTER_HELP: &str = "\
Examples:
  fpstore verify -s pages.fps
  fpstore verify pages.fps --samples 0 --max-rate 50MB/s
  fpstore verify pages.fps --repair

Exit status: 0 sound; 1 damaged, repaired or not; 2 error.";

/// Check a store against every rule of its format, and sample queries against a scan
#[derive(Args, Debug)]
#[command(
    long_about = LONG_ABOUT,
    after_help = AFTER_HELP,
    mut_arg("quiet", |arg| arg.help("Print nothing if the store is sound"))
)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    store: StorePlace,
    /// Number of sample queries to compare with a scan: stored, changed and random fingerprints
    #[arg(long, value_name = "N", default_value_t = 100,
          value_parser = clap::value_parser!(u64).range(SAMPLES.range()))]
    samples: u64,
    /// Read no faster than this, such as 50MB/s
    #[arg(long, value_name = "RATE", value_parser = rate)]
    max_rate: Option<u64>,
    /// If the store is damaged, save the readable records next to it
    #[arg(long)]
    repair: bool,
    /// If segments are damaged, write their readable ids to FILE, one on each line
    #[arg(long, value_name = "FILE")]
    lost_ids: Option<PathBuf>,
    #[command(flatten)]
    wait: WaitArgs,
    #[command(flatten)]
    progress: ProgressArgs,
    #[command(flatten)]
    quiet: QuietArgs,
}

pub(crate) fn run(args: &VerifyArgs) -> anyhow::Result<ExitStatus> {
    if args.wait.is_given() && !args.repair {
        bail!("--wait is for --repair; verifying does not wait");
    }
    let monitor = args.progress.monitor(args.quiet.is_on())?;
    let lost_ids =
        args.lost_ids.as_deref().map(|path| anyhow::Ok((path, Sink::open(path, false)?)));
    let lost_ids = lost_ids.transpose()?;
    let options = VerifyOptions::default()
        .samples(args.samples)
        .max_rate(args.max_rate)
        .observer(monitor.observer());
    let report = fpstore::verify(args.store.path(), &options)?;
    monitor.finish();
    for fault in &report.faults {
        message!("{}", with_source(fault));
    }
    let store = args.store.path().display();
    if report.is_sound() {
        if !args.quiet.is_on() {
            message!(
                "{store} is sound: {}, {}, {}, {} answered like a scan",
                counted(report.segment_count, "segment", "segments"),
                counted(report.page_count, "page", "pages"),
                counted(report.value_count, "value", "values"),
                counted(report.sample_count, "sample", "samples"),
            );
        }
        return Ok(ExitStatus::Done);
    }
    let count = counted(report.faults.len() as u64, "fault", "faults");
    if report.is_rebuildable() {
        message!("{store} is damaged: {count}, in tables that can be rebuilt; nothing is lost");
        message!("  fpstore compact --rewrite -s {}", quoted(args.store.path()));
        return Ok(ExitStatus::Negative);
    }
    if let Some((path, out)) = lost_ids {
        write_lost_ids(&report, path, out)?;
    }
    if !args.repair {
        let remedy = "restore a copy or build it again; to save the readable records, use --repair";
        message!("{store} is damaged: {count}; {remedy}");
        return Ok(ExitStatus::Negative);
    }
    message!("{store} is damaged: {count}");
    print_repair(&report, &repair(&report, args.wait.duration())?);
    Ok(ExitStatus::Negative)
}

/// Writes the readable ids of damaged segments to a file, and prints how many fingerprints have
/// unreadable ids.
fn write_lost_ids(report: &VerifyReport, path: &Path, mut out: Sink) -> anyhow::Result<()> {
    let (mut count, mut unread) = (0, 0);
    for damaged in report.damaged.iter().filter(|damaged| damaged.deletions_only.is_none()) {
        unread += damaged.for_each_id(|id| {
            count += 1;
            writeln!(out, "{id}")
        })?;
    }
    out.finish()?;
    let ids = counted(count, "id", "ids");
    message!("{}: {ids} of damaged segments; add their documents again", path.display());
    if unread > 0 {
        let unread = counted(unread, "fingerprint", "fingerprints");
        message!("the ids of {unread} more cannot be read");
    }
    Ok(())
}

/// The message of a fault followed by its cause.
fn with_source(fault: &fpstore::Error) -> String {
    match std::error::Error::source(fault) {
        Some(source) => format!("{fault}: {source}"),
        None => fault.to_string(),
    }
}

fn print_repair(report: &VerifyReport, repair: &Repair) {
    let store = report.path.display();
    for damaged in &report.damaged {
        let salvaged = repair.salvaged.iter().find(|salvaged| salvaged.number == damaged.number);
        message!("{}", salvaged.map_or_else(|| missing(damaged), |it| saved(damaged, it)));
    }
    let segments = counted(repair.kept.len() as u64, "segment", "segments");
    let fingerprints = counted(repair.fingerprint_count, "fingerprint", "fingerprints");
    let Some(manifest) = &repair.manifest else {
        if repair.kept.is_empty() {
            message!("no segment is sound; restore a copy or build the store again");
        } else if report.damaged.is_empty() && report.segment_count > 0 {
            message!("each segment is sound by itself, so there is nothing to leave out");
        } else {
            message!(
                "the manifest is lost, and with it deletions, labels and the list of live segments"
            );
            message!("{segments} with {fingerprints} can be taken into a new store:");
            let files = repair.kept.iter().map(|file| quoted(file)).collect::<Vec<_>>().join(" ");
            message!("  fpstore build --allow-empty -s NEW /dev/null");
            message!("  fpstore import -s NEW {files}");
        }
        return;
    };
    message!("kept: {segments} with {fingerprints}, in {}", manifest.display());
    message!(
        "To use it, end all writers, copy {store} if you want to keep the damaged files, and run"
    );
    message!("  mv {} {}", quoted(manifest), quoted(&manifest.with_extension("")));
}

/// The message about a damaged segment that was repaired: what was saved, and what is lost.
fn saved(damaged: &DamagedSegment, salvaged: &Salvaged) -> String {
    let number = damaged.number;
    let of = |count| counted(count, "fingerprint", "fingerprints");
    let mut text = format!("segment {number}: {} saved", of(salvaged.kept));
    match (salvaged.lost, salvaged.without_ids) {
        (0, 0) => text += "; nothing is lost",
        (lost, without) => {
            if lost > 0 {
                text += &format!("; lost: {} with all ids", of(lost));
            }
            if without > 0 {
                text += &format!("; the ids of {} are lost", of(without));
            }
        }
    }
    text
}

/// The message about a damaged segment that was not repaired: everything that is lost with it.
fn missing(damaged: &DamagedSegment) -> String {
    let number = damaged.number;
    let label = match damaged.label.as_str() {
        "" => String::new(),
        label => format!(" with the label '{label}'"),
    };
    match damaged.deletions_only {
        Some((fingerprints, ids)) => format!(
            "lost: the deletions of segment {number}{label}; {} and {} are no longer deleted",
            counted(fingerprints, "fingerprint", "fingerprints"),
            counted(ids, "id", "ids")
        ),
        None => format!(
            "lost: segment {number}{label}: {} with all ids, {}",
            counted(damaged.fingerprint_count, "fingerprint", "fingerprints"),
            damaged.path.display()
        ),
    }
}
