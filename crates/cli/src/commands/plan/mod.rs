//! `fpstore plan`: prints the best schemes for a number of fingerprints, a distance and a budget.
//!
//! This file parses the arguments and calls the planner of the library; `report` prints the plan as
//! text or JSON, `svg` draws it.

mod report;
mod svg;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, bail};
use clap::Args;
use fpstore::Radix;
use fpstore::input::{InputOptions, read_records};
use fpstore::plan::{PlanRequest, Sample};

use crate::args::inputs::report_skipped;
use crate::args::report_args::ReportArgs;
use crate::args::scheme_arg::BudgetArgs;
use crate::output::sink::Sink;
use crate::session::choice::choice;
use crate::session::command::ExitStatus;

const LONG_ABOUT: &str = "\
Show the schemes for a number of fingerprints, their space and time, and the recommended scheme.

A scheme is on the frontier if no other is both smaller and faster. The recommended scheme is the \
fastest within the budget, as in 'fpstore build'. 'build --scheme NAME' accepts every printed name. \
Schemes with names that end in -live, -dealt or -sorted use masks of the bits that vary in the data. \
Times are for one thread and a query for a stored fingerprint: hot with all data in memory, cold with none.

A sample shows the distribution of fingerprints; without a sample they are assumed to be random bits. \
A FILE of fingerprints counts as a smaller collection of the same kind: if -n is larger, skew grows \
with it, but groups of near-duplicates do not.";

const AFTER_HELP: &str = "\
Examples:
  fpstore plan -n 1e9 --budget 12GB
  fpstore plan -n 1e8 -k 6 --sample pages.tsv.zst --all --svg plan.svg

Exit status: 0 done; 2 error.";

/// Show the best scheme for a planned store, and the reason
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub(crate) struct PlanArgs {
    /// Number of distinct fingerprints, such as 1e9 or 250000000 [default: as in the sample]
    #[arg(short, value_name = "COUNT")]
    n: Option<CountArg>,
    #[command(flatten)]
    auto: BudgetArgs,
    /// File of fingerprints like those to be stored, in a format that 'build' reads
    #[arg(long, value_name = "FILE")]
    sample: Option<PathBuf>,
    /// Number base of the fingerprints in the sample [default: hex]
    #[arg(long, value_parser = choice::<Radix>())]
    radix: Option<Radix>,
    /// Show all schemes, not only the frontier
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    report: ReportArgs,
    /// Draw bytes per fingerprint against microseconds, as SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// A number of fingerprints, written as `250000000` or `1e9`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct CountArg(u64);

impl FromStr for CountArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not a count, expected one such as 1e9 or 250000000");
        if let Ok(count) = text.parse() {
            return Ok(CountArg(count));
        }
        let count: f64 = text.parse().map_err(|_| wrong())?;
        let whole = count.fract() == 0.0 && (0.0..2_f64.powi(63)).contains(&count);
        if whole { Ok(CountArg(count as u64)) } else { Err(wrong()) }
    }
}

pub(crate) fn run(args: &PlanArgs) -> anyhow::Result<ExitStatus> {
    let out = args.report.open()?;
    let picture =
        args.svg.as_deref().map(|path| Sink::open(path, args.report.output.force)).transpose()?;
    let (request, sample_count) = request_of(args)?;
    let plan = request.plan()?;
    if let Some(mut picture) = picture {
        picture.write_all(svg::draw(&request, &plan).as_bytes())?;
        picture.finish()?;
    }
    report::print(&request, sample_count, &plan, args.all, out)?;
    Ok(ExitStatus::Done)
}

/// The request to the planner, and with `--sample` the number of distinct fingerprints in the
/// sample.
fn request_of(args: &PlanArgs) -> anyhow::Result<(PlanRequest, Option<usize>)> {
    let (sample, distinct) = match &args.sample {
        Some(path) => {
            let (sample, distinct) = read_sample(path, args)?;
            (Some(sample), Some(distinct))
        }
        None => (None, None),
    };
    let Some(count) = args.n.map(|arg| arg.0).or(distinct) else {
        bail!(
            "the number of fingerprints is missing: give -n COUNT, or --sample FILE for the number \
             in a file"
        );
    };
    let budget = args.auto.budget.unwrap_or_default();
    let request =
        PlanRequest::new(count, args.auto.k.unwrap_or(fpstore::options::DEFAULT_K)).budget(budget);
    Ok(match sample {
        Some(sample) => {
            let sample_count = sample.count();
            (request.sample(sample), Some(sample_count))
        }
        None => (request, None),
    })
}

/// Reads the sample from a file. Returns it with the number of distinct fingerprints in the file.
fn read_sample(path: &Path, args: &PlanArgs) -> anyhow::Result<(Sample, u64)> {
    let mut fingerprints = Vec::new();
    let options = InputOptions::default().radix(args.radix);
    let read = read_records(path, &options, |record| {
        fingerprints.push(record.fingerprint);
        Ok::<(), fpstore::Error>(())
    })?;
    report_skipped(path, &read);
    fingerprints.sort_unstable();
    fingerprints.dedup();
    let distinct = fingerprints.len() as u64;
    let sample = Sample::of_kind(fingerprints).with_context(|| path.display().to_string())?;
    Ok((sample, distinct))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_may_have_exponents() {
        for (text, expected) in [("1e9", 1_000_000_000), ("250", 250), ("2.5e3", 2500), ("0", 0)] {
            assert_eq!(text.parse(), Ok(CountArg(expected)));
        }
        assert_eq!("18446744073709551615".parse(), Ok(CountArg(u64::MAX)));
        for text in ["", "-1", "1.5", "1e-3", "nan", "inf", "1e30", "many"] {
            let error = text.parse::<CountArg>().unwrap_err();
            assert!(error.contains("1e9"), "{error}");
        }
    }
}
