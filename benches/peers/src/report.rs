//! JSON lines, and the tables and charts drawn from them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::chart;
use crate::contenders::Built;
use crate::data::count_name;
use crate::machine::Machine;
use crate::rounds::Timing;
use crate::set::Set;
use crate::truth::Checked;

const LINES: &str = "peers.jsonl";

/// One measurement: a contender in a case. `peers.py` writes the same format.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    pub contender: String,
    pub settings: String,
    pub data: String,
    pub n: u64,
    pub distinct: u64,
    pub k: u32,
    pub bytes: u64,
    pub resident_bytes: Option<u64>,
    pub bytes_per_fingerprint: f64,
    pub build_seconds: f64,
    pub open_seconds: Option<f64>,
    pub p50_us: f64,
    pub p50_least_us: f64,
    pub p50_most_us: f64,
    pub p99_us: f64,
    pub mean_us: f64,
    /// The 99th percentile of the times of queries with at most ten matches.
    pub p99_few_us: Option<f64>,
    /// The median over the rounds of the ratio to fpstore-2; `None` if the two did not take turns.
    pub p50_ratio: Option<f64>,
    pub loop_per_cpu_second: f64,
    pub batch_per_cpu_second: Option<f64>,
    pub recall: f64,
    pub wrong: u64,
    pub sample: u64,
    pub rounds: u64,
    pub queries: u64,
    pub batch: u64,
    pub matches: u64,
    pub machine: String,
    pub date: String,
    pub versions: BTreeMap<String, String>,
}

impl Row {
    pub fn new(
        machine: &Machine,
        set: &Set,
        k: u32,
        contender: &Built,
        (timing, rounds, first): (Timing, u32, &str),
        checked: Checked,
    ) -> Self {
        let distinct = set.values.len() as u64;
        Row {
            contender: contender.name.into(),
            settings: contender.settings.clone(),
            data: set.source.name().into(),
            n: set.drawn as u64,
            distinct,
            k,
            bytes: contender.bytes,
            resident_bytes: contender.resident_bytes,
            bytes_per_fingerprint: contender.bytes as f64 / distinct as f64,
            build_seconds: contender.build_seconds,
            open_seconds: contender.open_seconds,
            p50_us: timing.p50,
            p50_least_us: timing.p50_range.0,
            p50_most_us: timing.p50_range.1,
            p99_us: timing.p99,
            mean_us: timing.mean,
            p99_few_us: timing.p99_few,
            p50_ratio: (first == "fpstore-2").then_some(timing.p50_ratio),
            loop_per_cpu_second: timing.loop_rate,
            batch_per_cpu_second: timing.many_rate,
            recall: checked.recall,
            wrong: checked.wrong_count,
            sample: checked.sample_count,
            rounds: u64::from(rounds),
            queries: timing.single_count as u64,
            batch: timing.batch_count as u64,
            matches: timing.match_count as u64,
            machine: machine.name.clone(),
            date: machine.date.clone(),
            versions: machine.versions.clone(),
        }
    }

    /// The case of a row; each table contains the rows of one case.
    fn case(&self) -> (u32, String, u64) {
        (self.k, self.data.clone(), self.n)
    }
}

/// Appends the rows to the file of results in `folder`, one line each.
pub fn append(folder: &Path, rows: &[Row]) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let path = folder.join(LINES);
    let mut text = Vec::new();
    for row in rows {
        serde_json::to_writer(&mut text, row)?;
        text.push(b'\n');
    }
    let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
    file.write_all(&text).with_context(|| path.display().to_string())
}

/// Writes `peers.md` and a chart of each case from the lines in `folder`, and prints the tables. A
/// later measurement of the same case and contender replaces an earlier one.
pub fn draw_all(folder: &Path) -> Result<()> {
    let path = folder.join(LINES);
    if !path.exists() {
        eprintln!("{}: no measurements to draw", path.display());
        return Ok(());
    }
    let mut cases: BTreeMap<(u32, String, u64), Vec<Row>> = BTreeMap::new();
    for (number, line) in BufReader::new(fs::File::open(&path)?).lines().enumerate() {
        let place = || format!("{}, line {}", path.display(), number + 1);
        let row: Row = serde_json::from_str(&line.with_context(place)?).with_context(place)?;
        let rows = cases.entry(row.case()).or_default();
        rows.retain(|earlier| earlier.contender != row.contender);
        rows.push(row);
    }
    let mut text = String::new();
    for ((k, data, n), rows) in &cases {
        let n_name = count_name(*n as usize);
        table(&mut text, &format!("peers/k{k}/{n_name}/{data}"), rows)?;
        chart::draw(rows, &folder.join(format!("peers-k{k}-{n_name}-{data}.svg")))?;
    }
    fs::write(folder.join("peers.md"), &text)?;
    print!("{text}");
    Ok(())
}

fn table(text: &mut String, case: &str, rows: &[Row]) -> Result<()> {
    let mut dates: Vec<&str> = rows.iter().map(|row| row.date.as_str()).collect();
    dates.sort_unstable();
    dates.dedup();
    let mut versions: BTreeMap<&str, &str> = BTreeMap::new();
    for row in rows {
        versions.extend(row.versions.iter().map(|(name, v)| (name.as_str(), v.as_str())));
    }
    let versions: Vec<String> = versions.iter().map(|(name, v)| format!("{name} {v}")).collect();
    writeln!(
        text,
        "\n`{case}`, {} distinct: {}; {}.",
        rows[0].distinct,
        dates.join(", "),
        rows[0].machine
    )?;
    writeln!(text, "{}.\n", versions.join(", "))?;
    writeln!(
        text,
        "| contender | bytes a fingerprint | p50, us | times fpstore-2 | p99 | p99, at most 10 matches | mean | one by one, per CPU s | at once, per CPU s | recall | build, s | open, ms |"
    )?;
    writeln!(text, "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")?;
    let first = rows.iter().find(|row| row.contender == "fpstore-2").map(|row| row.p50_us);
    for row in rows {
        let ratio = match (row.p50_ratio, first) {
            (Some(ratio), _) => digits(ratio),
            (None, Some(first)) => format!("({})", digits(row.p50_us / first)),
            (None, None) => String::new(),
        };
        let wrong = if row.wrong > 0 { format!(", {} wrong", row.wrong) } else { String::new() };
        writeln!(
            text,
            "| {} | {:.1} | {} | {ratio} | {} | {} | {} | {} | {} | {}{wrong} | {} | {} |",
            row.contender,
            row.bytes_per_fingerprint,
            digits(row.p50_us),
            digits(row.p99_us),
            row.p99_few_us.map(digits).unwrap_or_default(),
            digits(row.mean_us),
            digits(row.loop_per_cpu_second),
            row.batch_per_cpu_second.map(digits).unwrap_or_default(),
            row.recall,
            digits(row.build_seconds),
            row.open_seconds.map(|seconds| digits(seconds * 1e3)).unwrap_or_default(),
        )?;
    }
    Ok(())
}

/// Formats a number with at least three digits.
fn digits(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}
