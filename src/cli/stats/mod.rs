//! `fpstore stats`: what a store or an input looks like, what is wrong with it, and what to do.

mod html;
mod json;

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use fpstore::doctor::{Gatherer, Statistics, examine};
use fpstore::{Budget, InputOptions, read_records};

use super::budget::BudgetArg;
use super::build::{FormatArg, inputs, report_skipped, scheme_of};
use super::output::{IdPrinter, ReportFormat, stdout};
use super::{RadixArg, StoreArg, Verdict};

const LONG_ABOUT: &str = "\
Tell what the fingerprints of a store look like, what is wrong with them, and what to do about it: bits \
that never vary or vary together, fingerprints with very many ids, crowded prefixes in each table, \
duplicates, and how much a query finds by chance.

With --input it looks at records before a store is built of them. It takes the same options as build; \
--scheme and -k say which tables the store would have.

Reads all of the store, or of the input. Everything is exact up to 8 388 608 distinct fingerprints of an \
input; of more, it holds a sample and says so. Exit status: 0 done, whatever was found; 2 could not.";

const AFTER_HELP: &str = "\
Examples:
  fpstore stats -s pages.fps
  fpstore stats -s pages.fps --html pages.html
  fpstore stats --input pages.tsv.zst --format json | jq .findings";

/// Show what the fingerprints look like, what is wrong, and what to do about it
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub(super) struct StatsArgs {
    #[command(flatten)]
    store: StoreArg,
    /// Look at the records of these files instead of a store; - is standard input
    #[arg(long, value_name = "FILE", num_args = 1..)]
    input: Vec<PathBuf>,
    /// The distance that queries will mostly ask for [default: 3]
    #[arg(short, requires = "input", value_parser = clap::value_parser!(u32).range(0..=64))]
    k: Option<u32>,
    /// The tables to look at: auto, a name or a file of masks
    #[arg(long, value_name = "SCHEME", requires = "input", default_value = "auto")]
    scheme: String,
    /// With auto: space for the tables, as 12GB or 16B/fp
    #[arg(long, value_name = "BYTES", requires = "input")]
    budget: Option<BudgetArg>,
    /// How fingerprints are spelled
    #[arg(long, value_enum, requires = "input", default_value = "hex")]
    radix: RadixArg,
    /// How records are laid out
    #[arg(long, value_enum, requires = "input", default_value = "lines")]
    input_format: FormatArg,
    /// Count bad records, show the first ten, and go on
    #[arg(long, requires = "input")]
    skip_bad: bool,
    /// How to print
    #[arg(long, value_enum, default_value = "text")]
    format: ReportFormat,
    /// Also write a page with plots, for a browser
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Replace a page that is there already
    #[arg(short, long, requires = "html")]
    force: bool,
}

pub(super) fn run(args: &StatsArgs) -> anyhow::Result<Verdict> {
    if let Some(path) = &args.html {
        html::check(path, args.force)?;
    }
    let statistics =
        if args.input.is_empty() { examine(&args.store.open()?)? } else { gather(args)? };
    if let Some(path) = &args.html {
        let budget = args.budget.map_or(Budget::Default, |arg| arg.0);
        html::write(path, args.force, &statistics, &title(args), budget)?;
        say!("fpstore: wrote {}", path.display());
    }
    let mut out = stdout();
    match args.format {
        ReportFormat::Json => {
            serde_json::to_writer(&mut out, &json::report(&statistics, &source(args)))?;
            writeln!(out)?;
        }
        ReportFormat::Text => {
            // Names of files are other people's text, too.
            let source = source(args);
            let shown = IdPrinter::for_stdout().show(&source).into_owned();
            write!(out, "{:<15}{shown}\n{statistics}", "source")?;
        }
    }
    out.flush()?;
    Ok(Verdict::Yes)
}

/// What was looked at, by name.
fn source(args: &StatsArgs) -> String {
    match args.input.as_slice() {
        [] => args.store.store.display().to_string(),
        [first, rest @ ..] => {
            let first = match first.to_str() {
                Some("-") => "standard input".into(),
                _ => first.display().to_string(),
            };
            if rest.is_empty() { first } else { format!("{first} and {} more", rest.len()) }
        }
    }
}

/// The same for a page that other people see: without the folders that lead there.
fn title(args: &StatsArgs) -> String {
    let path = args.input.first().unwrap_or(&args.store.store);
    match (path.to_str(), path.file_name(), args.input.len()) {
        (Some("-"), ..) | (_, None, _) | (_, _, 2..) => source(args),
        (_, Some(name), _) => name.to_string_lossy().into_owned(),
    }
}

fn gather(args: &StatsArgs) -> anyhow::Result<Statistics> {
    let k = args.k.unwrap_or(3);
    let choice = scheme_of(&args.scheme, k, args.budget)?;
    let options = InputOptions::default()
        .format(args.input_format.into())
        .radix(args.radix.into())
        .skip_bad(args.skip_bad);
    let mut gatherer = Gatherer::new();
    for file in inputs(&args.input)? {
        let summary = read_records(&file, &options, |record| {
            gatherer.push(record.fingerprint);
            Ok(())
        })?;
        report_skipped(&file, &summary);
    }
    let scheme = gatherer.scheme(&choice)?;
    Ok(gatherer.finish(&scheme))
}
