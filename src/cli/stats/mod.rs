//! `fpstore stats`: statistics of a store or an input, the problems that they show, and remedies.
//!
//! This file reads the store or the input with the doctor of the library and prints the text;
//! `json` prints the same as one JSON object, and `html` writes the page. Nothing is computed here.

mod html;
mod json;

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use fpstore::doctor::{Collector, Statistics, profile};
use fpstore::input::{InputOptions, read_records};
use fpstore::plan::Budget;

use super::command::{ExitStatus, Run, StorePlace};
use super::inputs::{InputFormatArg, RadixArg, inputs, report_skipped};
use super::output::ReportFormat;
use super::report_args::ReportArgs;
use super::scheme_arg::{BudgetArg, scheme_choice};
use super::scheme_help::scheme_help;

const LONG_ABOUT: &str = "\
Show statistics of the fingerprints of a store, the problems that they show, and remedies: bits \
that never vary or vary together, fingerprints with very many ids, crowded prefixes in each \
table, duplicates, and the matches that a query finds by chance.

With --input it reads records before a store is built of them. It takes the same options as \
build; --scheme and -k say which tables the store would have.

Reads the whole store, or the whole input. Everything is exact up to 8 388 608 distinct \
fingerprints of an input; of more it keeps a sample and says so.";

const AFTER_HELP: &str = "\
Examples:
  fpstore stats -s pages.fps
  fpstore stats -s pages.fps --html pages.html
  fpstore stats --input pages.tsv.zst --format json | jq .findings

Exit status: 0 done, whatever was found; 2 error.";

/// Show statistics of the fingerprints, the problems that they show, and remedies
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub(super) struct StatsArgs {
    #[command(flatten)]
    store: StorePlace,
    /// Look at the records of these files instead of a store; - is standard input
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "place")]
    input: Vec<PathBuf>,
    /// The distance that queries will mostly ask for [default: 3]
    #[arg(short, requires = "input", value_parser = clap::value_parser!(u32).range(0..=64))]
    k: Option<u32>,
    /// The tables to look at: auto, a name or a file of masks
    #[arg(long, value_name = "SCHEME", requires = "input", default_value = "auto",
        long_help = scheme_help())]
    scheme: String,
    /// With auto: space for the tables, as 12GB or 16B/fp
    #[arg(long, value_name = "BYTES", requires = "input")]
    budget: Option<BudgetArg>,
    /// How fingerprints are spelled
    #[arg(long, value_enum, requires = "input", default_value = "hex")]
    radix: RadixArg,
    /// How records are laid out
    #[arg(long, value_enum, requires = "input", default_value = "lines")]
    input_format: InputFormatArg,
    /// Count bad records, show the first ten, and go on
    #[arg(long, requires = "input")]
    skip_bad: bool,
    #[command(flatten)]
    report: ReportArgs,
    /// Also write a page with plots, for a browser
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl Run for StatsArgs {
    fn run(&self) -> anyhow::Result<ExitStatus> {
        run(self)
    }

    fn can_skip_bad(&self) -> bool {
        true
    }
}

fn run(args: &StatsArgs) -> anyhow::Result<ExitStatus> {
    let mut to = args.report.open()?;
    let page =
        args.html.as_deref().map(|path| html::open(path, args.report.output.force)).transpose()?;
    let statistics =
        if args.input.is_empty() { profile(&args.store.open()?)? } else { collect(args)? };
    if let (Some(page), Some(path)) = (page, &args.html) {
        let budget = args.budget.map_or(Budget::Default, |arg| arg.0);
        html::write(page, &statistics, &title(args), budget)?;
        if !args.report.quiet {
            message!("wrote {}", path.display());
        }
    }
    match to.format {
        ReportFormat::Json => to.write_json(&json::report(&statistics, &source(args)))?,
        ReportFormat::Text => {
            // Names of files are text of other people, too.
            let source = source(args);
            let shown = to.printer.show(&source).into_owned();
            write!(to.out, "{:<15}{shown}\n{statistics}", "source")?;
        }
    }
    to.finish()?;
    Ok(ExitStatus::Done)
}

/// The name of the store or input.
fn source(args: &StatsArgs) -> String {
    match args.input.as_slice() {
        [] => args.store.path().display().to_string(),
        [first, rest @ ..] => {
            let first = match first.to_str() {
                Some("-") => "standard input".into(),
                _ => first.display().to_string(),
            };
            if rest.is_empty() { first } else { format!("{first} and {} more", rest.len()) }
        }
    }
}

/// The same for a page that other people see: without its folders.
fn title(args: &StatsArgs) -> String {
    let path = args.input.first().map_or(args.store.path(), PathBuf::as_path);
    match (path.to_str(), path.file_name(), args.input.len()) {
        (Some("-"), ..) | (_, None, _) | (_, _, 2..) => source(args),
        (_, Some(name), _) => name.to_string_lossy().into_owned(),
    }
}

fn collect(args: &StatsArgs) -> anyhow::Result<Statistics> {
    let k = args.k.unwrap_or(3);
    let choice = scheme_choice(&args.scheme, k, args.budget)?;
    let options = InputOptions::default()
        .format(args.input_format.into())
        .radix(args.radix.into())
        .skip_bad(args.skip_bad);
    let mut collector = Collector::new();
    for file in inputs(&args.input)? {
        let summary = read_records(&file, &options, |record| {
            collector.push(record.fingerprint);
            Ok::<(), fpstore::Error>(())
        })?;
        report_skipped(&file, &summary);
    }
    let scheme = collector.scheme(&choice)?;
    Ok(collector.finish(&scheme))
}
