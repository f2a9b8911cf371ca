//! `fpstore info`: prints the contents and the size of a store.

use std::io::Write;

use clap::Args;
use fpstore::info::{SegmentInfo, StoreInfo};
use fpstore::writer::days_since_label;
use fpstore::{Recipe, Width};
use fpstore_text::{Method, TextRecipe};

use crate::args::report_args::ReportArgs;
use crate::output::text::{ReportFormat, bytes, grouped};
use crate::session::command::ExitStatus;
use crate::session::stores::StorePlace;

const DAY: u64 = 86_400;

const AFTER_HELP: &str = "\
Examples:
  fpstore info -s pages.fps
  fpstore info --format json | jq .fingerprints

Exit status: 0 done; 2 error.";

/// Show the contents and the size of a store
#[derive(Args, Debug)]
#[command(
    after_help = AFTER_HELP
)]
pub(crate) struct InfoArgs {
    #[command(flatten)]
    store: StorePlace,
    #[command(flatten)]
    report: ReportArgs,
}

pub(crate) fn run(args: &InfoArgs) -> anyhow::Result<ExitStatus> {
    let store = args.store.open()?;
    let info = store.info();
    let mut out = args.report.open()?;
    match out.format {
        ReportFormat::Json => out.write_json(&info)?,
        ReportFormat::Text => write_text(&info, &mut out.out)?,
    }
    out.finish()?;
    Ok(ExitStatus::Done)
}

/// The Jaccard similarity that corresponds to the distance for which the store is tuned; empty if
/// the recipe is not MinHash.
fn meaning_of_k(info: &StoreInfo) -> String {
    let recipe = info.recipe.as_ref().and_then(|recipe| TextRecipe::from_recipe(recipe).ok());
    match recipe.map(|recipe| recipe.method) {
        // At a Jaccard similarity J, the expected distance is 32 (1 - J) bits.
        Some(Method::MinHash) if info.tuned_k < 32 => {
            format!(" (Jaccard similarity {:.2})", 1.0 - f64::from(info.tuned_k) / 32.0)
        }
        _ => String::new(),
    }
}

fn write_text(info: &StoreInfo, out: &mut impl Write) -> std::io::Result<()> {
    let len = info.file_len();
    writeln!(out, "store          {}", info.path.display())?;
    writeln!(out, "fingerprints   {}", grouped(info.fingerprint_count()))?;
    writeln!(out, "ids            {}", grouped(info.id_count()))?;
    if info.width != Width::FULL {
        writeln!(out, "bits           {} for each fingerprint", info.width)?;
    }
    if info.sketch_len > 0 {
        writeln!(out, "sketches       {} bytes for each id", info.sketch_len)?;
    }
    writeln!(out, "bytes          {} ({})", grouped(len), bytes(len))?;
    writeln!(out, "tuned for k    {}{}", info.tuned_k, meaning_of_k(info))?;
    let recipe = info.recipe.as_ref().map_or("none", Recipe::text);
    for (number, line) in recipe.lines().enumerate() {
        writeln!(out, "{:14} {line}", if number == 0 { "recipe" } else { "" })?;
    }
    writeln!(out, "generation     {}", info.generation)?;
    writeln!(out, "store id       {:032x}", u128::from_be_bytes(info.store_id))?;
    writeln!(out, "manifest       {:032x}", u128::from_be_bytes(info.manifest_digest))?;
    write_segments(info, out)?;
    info.segments.iter().try_for_each(|segment| write_segment(segment, out))
}

/// Writes one line for each segment, the oldest first.
fn write_segments(info: &StoreInfo, out: &mut impl Write) -> std::io::Result<()> {
    writeln!(
        out,
        "\n  {:>7}  {:<12} {:>14} {:>12} {:>12} {:>10}  {:>6}  {:>2}  {:>6}",
        "segment", "label", "fingerprints", "deleted", "deleted ids", "size", "tables", "k", "age"
    )?;
    for segment in &info.segments {
        // If the label is a date, it gives the age of the records. The file may be newer than they
        // are, because a merge writes a new file.
        let of_label = days_since_label(&segment.label).map(|days| days * DAY);
        let of_file = || Some(segment.written?.elapsed().ok()?.as_secs());
        let seconds = of_label.or_else(of_file);
        writeln!(
            out,
            "  {:>7}  {:<12} {:>14} {:>12} {:>12} {:>10}  {:>6}  {:>2}  {:>6}",
            segment.number,
            if segment.label.is_empty() { "-" } else { &segment.label },
            grouped(segment.fingerprint_count),
            grouped(segment.deleted_fingerprints),
            grouped(segment.deleted_ids),
            bytes(segment.file_len),
            segment.tables.len(),
            segment.tuned_k,
            seconds.map_or("-".into(), |seconds| age(seconds, of_label.is_some())),
        )?;
    }
    Ok(())
}

/// Formats an age: with `in_days` in days, else in the largest unit with a value of at least 2.
fn age(seconds: u64, in_days: bool) -> String {
    let units = [("d", DAY), ("h", 3600), ("min", 60)];
    let fits = |(_, len): &(&str, u64)| in_days || seconds / len >= 2;
    let unit = units.into_iter().find(fits).unwrap_or(("s", 1));
    format!("{} {}", seconds / unit.1, unit.0)
}

fn write_segment(segment: &SegmentInfo, out: &mut impl Write) -> std::io::Result<()> {
    writeln!(out, "\nsegment {}: {}", segment.number, segment.path.display())?;
    writeln!(
        out,
        "  {} fingerprints, {} ids ({}{}), {}, tuned for k={}, format version {}",
        grouped(segment.fingerprint_count),
        grouped(segment.id_count),
        segment.id_kind.name(),
        match segment.sketch_len {
            0 => String::new(),
            len => format!(", each with a sketch of {len} bytes"),
        },
        bytes(segment.file_len),
        segment.tuned_k,
        segment.format_version
    )?;
    writeln!(
        out,
        "\n  table  mask              prefix  block  tail  syndrome  bits per fingerprint"
    )?;
    for table in &segment.tables {
        let bits = table.bits_per_fingerprint.map_or("-".into(), |bits| format!("{bits:.2}"));
        let syndrome = match table.syndrome_bits {
            0 => "-".to_string(),
            bits => bits.to_string(),
        };
        writeln!(
            out,
            "  {:>5}  {:016x}  {:>6}  {:>5}  {:>4}  {syndrome:>8}  {bits:>20}",
            table.table.0, table.mask, table.prefix_bits, table.block_bits, table.tail_bits
        )?;
    }
    if let Some(limit) = segment.information_limit {
        writeln!(out, "  information limit for that many random fingerprints: {limit:.2} bits")?;
    }
    writeln!(out, "\n  section                        offset         bytes")?;
    for section in &segment.sections {
        let (name, offset) = (section.section.to_string(), grouped(section.offset));
        writeln!(out, "  {name:<24} {offset:>12} {:>13}", grouped(section.len))?;
    }
    Ok(())
}
