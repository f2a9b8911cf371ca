//! Prints a plan as a table or as JSON.

use std::io::Write;

use fpstore::plan::{PlanRequest, Radius, SchemeEstimate, SchemePlan};
use serde::Serialize;

use crate::args::report_args::ReportOut;
use crate::output::text::{ReportFormat, bytes, grouped};

/// Prints the schemes on the frontier and the chosen scheme, or with `--all` all schemes.
/// `sample_count` is the number of distinct fingerprints in the sample, if there is one.
pub(crate) fn print(
    request: &PlanRequest,
    sample_count: Option<usize>,
    plan: &SchemePlan,
    all: bool,
    mut out: ReportOut,
) -> anyhow::Result<()> {
    let shown = plan.estimates.iter().filter(|e| all || e.on_frontier || e.chosen);
    match out.format {
        ReportFormat::Json => {
            let report = Report {
                fingerprints: request.fingerprint_count(),
                k: request.k(),
                budget_len: plan.budget_len.floor(),
                sample: sample_count,
                schemes: shown.collect(),
            };
            out.write_json(&report)?;
        }
        ReportFormat::Text => write_text(&mut out.out, request, sample_count, plan, shown)?,
    }
    out.finish()
}

fn write_text<'a>(
    out: &mut impl Write,
    request: &PlanRequest,
    sample_count: Option<usize>,
    plan: &SchemePlan,
    shown: impl Iterator<Item = &'a SchemeEstimate>,
) -> anyhow::Result<()> {
    let data = match sample_count {
        Some(count) => format!("like a sample of {}", grouped(count as u64)),
        None => "random bits".into(),
    };
    writeln!(
        out,
        "{} fingerprints, {data}; k = {}; budget {} for tables",
        grouped(request.fingerprint_count()),
        request.k(),
        bytes(plan.budget_len as u64),
    )?;
    writeln!(
        out,
        "\n  {:<31} {:>6} {:>9} {:>6} {:>9} {:>7} {:>10} {:>9} {:>9} {:>6} {:>9}  why",
        "scheme",
        "tables",
        "radii",
        "B/fp",
        "tables",
        "probes",
        "candidates",
        "largest",
        "hot us",
        "pages",
        "cold us"
    )?;
    for estimate in shown {
        let mark = if estimate.chosen { '*' } else { ' ' };
        writeln!(
            out,
            "{mark} {:<31} {:>6} {:>9} {:>6.1} {:>9} {:>7.0} {:>10} {:>9} {:>9} {:>6.0} {:>9}  {}",
            estimate.name,
            estimate.scheme.masks().len(),
            radii_text(estimate.radii.as_deref()),
            estimate.bytes_per_fingerprint,
            bytes(estimate.tables_len as u64),
            estimate.estimate.probes,
            short(estimate.estimate.candidates + estimate.estimate.look_ups),
            short(estimate.largest_group),
            short(estimate.hot_micros),
            estimate.cold_pages,
            short(estimate.cold_micros),
            estimate.reason,
        )?;
    }
    let chosen = plan.chosen();
    match chosen.scheme.syndrome_bits() {
        0 => writeln!(out, "\nThe masks of {}, for --scheme FILE:", chosen.name)?,
        bits => writeln!(
            out,
            "\n--scheme {} keeps {bits} bits in place of the half that does not lead in the second\n\
             table, see docs/syndromes.md. Its masks:",
            chosen.name
        )?,
    }
    for mask in chosen.scheme.masks() {
        writeln!(out, "{mask:016x}")?;
    }
    Ok(())
}

/// Formats the radius of each table briefly: `1,1`, `0 x14` for 14 tables with radius 0, `scan`
/// without radii.
fn radii_text(radii: Option<&[Radius]>) -> String {
    let Some(radii) = radii else { return "scan".into() };
    let texts: Vec<String> =
        radii.iter().map(|radius| radius.map_or("-".into(), |r| r.to_string())).collect();
    let runs: Vec<String> = texts
        .chunk_by(|a, b| a == b)
        .map(|run| match run.len() {
            1 => run[0].clone(),
            2 | 3 => run.join(","),
            many => format!("{} x{many}", run[0]),
        })
        .collect();
    match runs.join(",") {
        text if text.len() > 12 => format!("{} tables", radii.iter().flatten().count()),
        text => text,
    }
}

/// Formats a number with about three significant digits.
fn short(number: f64) -> String {
    match number {
        x if x >= 1e15 => format!("{x:.1e}"),
        x if x >= 100.0 => grouped(x.round() as u64),
        x if x >= 10.0 => format!("{x:.1}"),
        x => format!("{x:.2}"),
    }
}

#[derive(Serialize)]
struct Report<'a> {
    fingerprints: u64,
    k: u32,
    budget_len: f64,
    /// The number of distinct fingerprints in the sample.
    sample: Option<usize>,
    schemes: Vec<&'a SchemeEstimate>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn radii_are_short() {
        assert_eq!(radii_text(None), "scan");
        assert_eq!(radii_text(Some(&[Some(1), Some(1)])), "1,1");
        assert_eq!(radii_text(Some(&[Some(0); 14])), "0 x14");
        assert_eq!(radii_text(Some(&[Some(1), None, None, None, Some(0)])), "1,-,-,-,0");
        let mixed = [Some(1), Some(0), None, Some(1), Some(0), None, Some(1)];
        assert_eq!(radii_text(Some(&mixed)), "5 tables");
    }

    #[test]
    fn numbers_have_about_three_digits() {
        for (number, expected) in [(0.123, "0.12"), (12.34, "12.3"), (1234.5, "1 235")] {
            assert_eq!(short(number), expected);
        }
    }
}
