//! `fpstore info`: shows what a store holds and how large it is.

use std::io::Write;

use clap::Args;
use fpstore::Recipe;
use fpstore::info::{SegmentInfo, StoreInfo};
use fpstore_text::{Method, TextRecipe};
use serde::Serialize;

use super::command::{ExitStatus, Run, StorePlace};
use super::output::{ReportFormat, bytes, grouped};
use super::report_args::ReportArgs;

const AFTER_HELP: &str = "\
Examples:
  fpstore info -s pages.fps
  fpstore info --format json | jq .fingerprints

Exit status: 0 done; 2 error.";

/// Show what a store holds and how large it is
#[derive(Args, Debug)]
#[command(
    after_help = AFTER_HELP
)]
pub(super) struct InfoArgs {
    #[command(flatten)]
    store: StorePlace,
    #[command(flatten)]
    report: ReportArgs,
}

impl Run for InfoArgs {
    fn run(&self) -> anyhow::Result<ExitStatus> {
        run(self)
    }
}

fn run(args: &InfoArgs) -> anyhow::Result<ExitStatus> {
    let store = args.store.open()?;
    let report = Report::of(&store.info(), store.tuned_k(), store.sketch_len());
    let mut out = args.report.open()?;
    match out.format {
        ReportFormat::Json => out.write_json(&report)?,
        ReportFormat::Text => report.write_text(&mut out.out)?,
    }
    out.finish()?;
    Ok(ExitStatus::Done)
}

#[derive(Serialize)]
struct Report {
    store: String,
    generation: u64,
    store_id: String,
    fingerprints: u64,
    ids: u64,
    bytes: u64,
    /// Bytes of the sketch of each id; 0 without sketches, or where segments differ.
    sketch_len: u8,
    tuned_k: u32,
    recipe: Option<String>,
    segments: Vec<Segment>,
}

#[derive(Serialize)]
struct Segment {
    number: u64,
    file: String,
    label: String,
    bytes: u64,
    /// All of the file, with the deleted ones.
    fingerprints: u64,
    ids: u64,
    deleted_fingerprints: u64,
    deleted_ids: u64,
    /// The time since the file was written.
    age_seconds: Option<u64>,
    id_kind: &'static str,
    /// Bytes for each id; 0 without sketches.
    sketch_len: u32,
    tuned_k: u32,
    /// 64 - log2 n + log2 e, the least number of bits for each member of a random set.
    information_limit: Option<f64>,
    tables: Vec<Table>,
    sections: Vec<Section>,
}

#[derive(Serialize)]
struct Table {
    table: u16,
    mask: String,
    prefix_bits: u32,
    block_bits: u32,
    tail_bits: u32,
    bits_per_fingerprint: Option<f64>,
}

#[derive(Serialize)]
struct Section {
    section: String,
    offset: u64,
    bytes: u64,
}

impl Report {
    fn of(info: &StoreInfo, tuned_k: u32, sketch_len: u8) -> Self {
        Report {
            store: info.path.display().to_string(),
            store_id: format!("{:032x}", u128::from_be_bytes(info.store_id)),
            generation: info.generation,
            fingerprints: info.fingerprint_count(),
            ids: info.id_count(),
            bytes: info.file_len(),
            sketch_len,
            tuned_k,
            recipe: info.segments.first().map(|segment| segment.recipe.to_string()),
            segments: info.segments.iter().map(Segment::of).collect(),
        }
    }

    /// The similarity that the tuned distance stands for, if the recipe has one.
    fn meaning_of_k(&self) -> String {
        let text = self.recipe.as_deref().and_then(Recipe::from_text);
        let recipe = text.and_then(|text| TextRecipe::from_recipe(&text).ok());
        match recipe.map(|recipe| recipe.method) {
            // 32 (1 - J) bits differ on average.
            Some(Method::MinHash) if self.tuned_k < 32 => {
                format!(" (Jaccard similarity {:.2})", 1.0 - f64::from(self.tuned_k) / 32.0)
            }
            _ => String::new(),
        }
    }

    fn write_text(&self, out: &mut impl Write) -> std::io::Result<()> {
        writeln!(out, "store          {}", self.store)?;
        writeln!(out, "fingerprints   {}", grouped(self.fingerprints))?;
        writeln!(out, "ids            {}", grouped(self.ids))?;
        if self.sketch_len > 0 {
            writeln!(out, "sketches       {} bytes for each id", self.sketch_len)?;
        }
        writeln!(out, "bytes          {} ({})", grouped(self.bytes), bytes(self.bytes))?;
        writeln!(out, "tuned for k    {}{}", self.tuned_k, self.meaning_of_k())?;
        for (number, line) in self.recipe.as_deref().unwrap_or("none").lines().enumerate() {
            writeln!(out, "{:14} {line}", if number == 0 { "recipe" } else { "" })?;
        }
        writeln!(out, "generation     {}", self.generation)?;
        writeln!(out, "store id       {}", self.store_id)?;
        self.write_segments(out)?;
        for segment in &self.segments {
            segment.write_text(out)?;
        }
        Ok(())
    }
}

impl Report {
    /// Writes one line for each segment, the oldest first.
    fn write_segments(&self, out: &mut impl Write) -> std::io::Result<()> {
        writeln!(
            out,
            "\n  {:>7}  {:<12} {:>14} {:>12} {:>12} {:>10}  {:>6}  {:>2}  {:>6}",
            "segment",
            "label",
            "fingerprints",
            "deleted",
            "deleted ids",
            "size",
            "tables",
            "k",
            "age"
        )?;
        for segment in &self.segments {
            writeln!(
                out,
                "  {:>7}  {:<12} {:>14} {:>12} {:>12} {:>10}  {:>6}  {:>2}  {:>6}",
                segment.number,
                if segment.label.is_empty() { "-" } else { &segment.label },
                grouped(segment.fingerprints),
                grouped(segment.deleted_fingerprints),
                grouped(segment.deleted_ids),
                bytes(segment.bytes),
                segment.tables.len(),
                segment.tuned_k,
                segment.age_seconds.map_or("-".into(), age),
            )?;
        }
        Ok(())
    }
}

/// An age in the largest unit of which it has at least two.
fn age(seconds: u64) -> String {
    let units = [("d", 86_400), ("h", 3600), ("min", 60)];
    let unit = units.into_iter().find(|(_, len)| seconds / len >= 2).unwrap_or(("s", 1));
    format!("{} {}", seconds / unit.1, unit.0)
}

impl Segment {
    fn of(info: &SegmentInfo) -> Self {
        let tables = info.tables.iter().map(|table| Table {
            table: table.table.0,
            mask: format!("{:016x}", table.mask),
            prefix_bits: table.prefix_bits,
            block_bits: table.block_bits,
            tail_bits: table.tail_bits,
            bits_per_fingerprint: table.bits_per_fingerprint,
        });
        let sections = info.sections.iter().map(|section| Section {
            section: section.section.to_string(),
            offset: section.offset,
            bytes: section.len,
        });
        Segment {
            number: info.number,
            file: info.path.display().to_string(),
            label: info.label.clone(),
            bytes: info.file_len,
            fingerprints: info.fingerprint_count,
            ids: info.id_count,
            deleted_fingerprints: info.deleted_fingerprints,
            deleted_ids: info.deleted_ids,
            age_seconds: info.written.and_then(|at| at.elapsed().ok()).map(|age| age.as_secs()),
            id_kind: info.id_kind.name(),
            sketch_len: info.sketch_len,
            tuned_k: info.tuned_k,
            information_limit: info.information_limit(),
            tables: tables.collect(),
            sections: sections.collect(),
        }
    }

    fn write_text(&self, out: &mut impl Write) -> std::io::Result<()> {
        writeln!(out, "\nsegment {}: {}", self.number, self.file)?;
        writeln!(
            out,
            "  {} fingerprints, {} ids ({}{}), {}, tuned for k={}",
            grouped(self.fingerprints),
            grouped(self.ids),
            self.id_kind,
            match self.sketch_len {
                0 => String::new(),
                len => format!(", each with a sketch of {len} bytes"),
            },
            bytes(self.bytes),
            self.tuned_k
        )?;
        writeln!(out, "\n  table  mask              prefix  block  tail  bits per fingerprint")?;
        for table in &self.tables {
            let bits = table.bits_per_fingerprint.map_or("-".into(), |bits| format!("{bits:.2}"));
            writeln!(
                out,
                "  {:>5}  {}  {:>6}  {:>5}  {:>4}  {bits:>20}",
                table.table, table.mask, table.prefix_bits, table.block_bits, table.tail_bits
            )?;
        }
        if let Some(limit) = self.information_limit {
            writeln!(
                out,
                "  information limit for that many random fingerprints: {limit:.2} bits"
            )?;
        }
        writeln!(out, "\n  section                        offset         bytes")?;
        for section in &self.sections {
            let (name, offset) = (&section.section, grouped(section.offset));
            writeln!(out, "  {name:<24} {offset:>12} {:>13}", grouped(section.bytes))?;
        }
        Ok(())
    }
}
