//! `fpstore plan`: which scheme for so many fingerprints, a distance and a budget.

mod check;
mod report;
mod svg;

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, bail};
use clap::Args;
use fpstore::{Budget, InputOptions, PlanRequest, Sample, Store, UnitCosts, read_records};

use super::budget::BudgetArg;
use super::output::ReportFormat;
use super::{RadixArg, Verdict, costs};

const LONG_ABOUT: &str = "\
Show which schemes there are for so many fingerprints, what each would take, and which to choose.

A scheme on the frontier is beaten by no other in both space and time. The chosen one is the fastest \
within the budget; 'fpstore build' chooses in the same way. Times are for one thread and a query for \
a stored fingerprint: hot with all data in memory, cold with none.

A sample tells how the fingerprints crowd together; without one they are taken for random bits. A \
FILE of fingerprints counts as a smaller collection of the same kind: if -n is larger, skew grows \
with it, groups of near-duplicates do not.

--calibrate measures what steps cost on this machine, in a second or two, and keeps it in your \
cache folder for later plans and builds. --check compares what is expected of a store with what \
its queries take.";

const AFTER_HELP: &str = "\
Examples:
  fpstore plan -n 1e9 --budget 12GB
  fpstore plan -n 1e8 -k 6 --sample pages.tsv.zst --all --svg plan.svg
  fpstore plan --check pages.fps

Exit status: 0 done, 2 could not.";

/// Show which scheme is best for given numbers, and why
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub(super) struct PlanArgs {
    /// How many distinct fingerprints, as 1e9 or 250000000; default: those of the sample
    #[arg(short, value_name = "COUNT")]
    n: Option<CountArg>,
    /// The distance that queries will mostly ask for [default: 3; of the store with --check]
    #[arg(short, value_parser = clap::value_parser!(u32).range(0..=64))]
    k: Option<u32>,
    /// Space for the tables, as 12GB or 16B/fp; default: 12 bytes a fingerprint and 1 MiB
    #[arg(long, value_name = "BYTES")]
    budget: Option<BudgetArg>,
    /// Fingerprints of the kind to be stored, as 'build' reads them
    #[arg(long, value_name = "FILE")]
    sample: Option<PathBuf>,
    /// How the fingerprints of the sample are spelled
    #[arg(long, value_enum, default_value = "hex")]
    radix: RadixArg,
    /// Show all schemes, not only the frontier
    #[arg(long)]
    all: bool,
    /// How to print
    #[arg(long, value_enum, default_value = "text")]
    format: ReportFormat,
    /// Draw bytes a fingerprint against microseconds
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Measure what steps cost on this machine, and keep it
    #[arg(long)]
    calibrate: bool,
    /// Compare what is expected of a store with what its queries take
    #[arg(long, value_name = "STORE", conflicts_with_all = ["n", "budget", "sample", "all", "svg"])]
    check: Option<PathBuf>,
}

/// A count, also with an exponent.
#[derive(Clone, Copy, Debug, PartialEq)]
struct CountArg(u64);

impl FromStr for CountArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is no count, expected one such as 1e9 or 250000000");
        if let Ok(count) = text.parse() {
            return Ok(CountArg(count));
        }
        let count: f64 = text.parse().map_err(|_| wrong())?;
        let whole = count.fract() == 0.0 && (0.0..2_f64.powi(63)).contains(&count);
        if whole { Ok(CountArg(count as u64)) } else { Err(wrong()) }
    }
}

pub(super) fn run(args: &PlanArgs) -> anyhow::Result<Verdict> {
    if args.calibrate {
        calibrate(args)?;
    }
    let costs = costs::of_this_machine();
    if let Some(path) = &args.check {
        let store = Store::open(path)?;
        check::run(&store, args.k.unwrap_or(store.tuned_k()), costs, args.format)?;
        return Ok(Verdict::Yes);
    }
    if args.calibrate && args.n.is_none() && args.sample.is_none() {
        return Ok(Verdict::Yes);
    }
    let request = request_of(args, costs)?;
    let plan = request.plan()?;
    if let Some(path) = &args.svg {
        svg::draw(&request, &plan, path)
            .with_context(|| format!("cannot draw {}", path.display()))?;
    }
    report::print(&request, &plan, args.all, args.format)?;
    Ok(Verdict::Yes)
}

fn request_of(args: &PlanArgs, costs: UnitCosts) -> anyhow::Result<PlanRequest> {
    let (sample, distinct) = match &args.sample {
        Some(path) => {
            let (sample, distinct) = read_sample(path, args)?;
            (Some(sample), Some(distinct))
        }
        None => (None, None),
    };
    let Some(count) = args.n.map(|arg| arg.0).or(distinct) else {
        bail!("how many fingerprints? say -n COUNT, or --sample FILE for as many as it holds");
    };
    let budget = args.budget.map_or(Budget::Default, |arg| arg.0);
    let mut request = PlanRequest::new(count, args.k.unwrap_or(3)).budget(budget).costs(costs);
    request.sample = sample;
    Ok(request)
}

/// The sample, and how many distinct fingerprints the file holds.
fn read_sample(path: &Path, args: &PlanArgs) -> anyhow::Result<(Sample, u64)> {
    let mut fingerprints = Vec::new();
    let options = InputOptions::default().radix(args.radix.into());
    read_records(path, &options, |record| {
        fingerprints.push(record.fingerprint);
        Ok(())
    })?;
    fingerprints.sort_unstable();
    fingerprints.dedup();
    let distinct = fingerprints.len() as u64;
    let sample = Sample::of_kind(fingerprints).with_context(|| path.display().to_string())?;
    Ok((sample, distinct))
}

fn calibrate(args: &PlanArgs) -> anyhow::Result<()> {
    let costs = UnitCosts::measure()?;
    let path = costs::keep(&costs)?;
    let alone = args.n.is_none() && args.sample.is_none() && args.check.is_none();
    say!("fpstore: measured the unit costs of this machine, kept in {}", path.display());
    if alone {
        report::print_costs(&costs, args.format)?;
    }
    Ok(())
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
