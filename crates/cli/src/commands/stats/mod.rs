//! `fpstore stats`: prints statistics of the fingerprints in a store or in files, the problems that
//! the statistics indicate, and remedies.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use fpstore::Store;
use fpstore::input::read_records;
use fpstore::options::DEFAULT_K;
use fpstore::plan::{Budget, SchemeEstimate, SchemePlan};
use fpstore::profile::{Collector, Statistics, profile};
use fpstore_base::source::name_of;
use fpstore_report::doctor::{self, Finding, PageOptions};
use serde::Serialize;

use crate::args::inputs::{ReadArgs, inputs, report_skipped, title_of};
use crate::args::report_args::ReportArgs;
use crate::args::scheme_arg::SchemeArgs;
use crate::output::sink::open_page;
use crate::output::text::ReportFormat;
use crate::session::command::{ExitStatus, open_map, refuse_narrow};
use crate::session::stores::StoreArg;

const LONG_ABOUT: &str = "\
Show statistics of the fingerprints of a store, problems and remedies: bits that never vary or vary \
together, fingerprints with very many ids, crowded prefixes in each table, duplicates, and the number \
of matches by chance per query.

For files it reads the records before a store is built from them, with the same options as 'build'; \
--scheme and -k set the tables of that store.

Reads the whole store, or the whole input. The statistics of an input are exact up to 8 388 608 \
distinct fingerprints; above that they are from a sample, and a message is printed.";

const AFTER_HELP: &str = "\
Examples:
  fpstore stats -s pages.fps
  fpstore stats -s pages.fps --html pages.html
  fpstore stats pages.tsv.zst --format json | jq .findings

Exit status: 0 done, with or without problems; 2 error.";

/// Show statistics of the fingerprints, problems and remedies
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub(crate) struct StatsArgs {
    /// A store, or files of records as 'build' reads them, or - [default: the store of -s]
    #[arg(value_name = "STORE|FILE", conflicts_with = "store")]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    store: StoreArg,
    #[command(flatten)]
    scheme: SchemeArgs,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    report: ReportArgs,
    /// Also write a page with plots, for a browser
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl StatsArgs {
    /// The path of the store; `None` if files are given instead.
    fn store_path(&self) -> Option<&Path> {
        match self.inputs.as_slice() {
            [] => Some(&self.store.store),
            [one] if one.is_dir() => Some(one),
            _ => None,
        }
    }

    /// Opens the store. Options that have an effect only for files are an error.
    fn open_store(&self) -> anyhow::Result<Store> {
        let skips_bad = self.read.skips_bad().then_some("--skip-bad");
        let given = self.scheme.first_given().or(skips_bad);
        if let Some(option) = given.or(self.read.first_given()) {
            bail!("{option} is for files of records, and this is a store; leave it out");
        }
        Ok(open_map(self.store_path().unwrap_or(&self.store.store))?)
    }
}

/// The JSON report: the statistics, the findings, and the name of the store or files.
#[derive(Serialize)]
struct Report<'a> {
    source: String,
    findings: Vec<Finding>,
    #[serde(flatten)]
    statistics: &'a Statistics,
}

pub(crate) fn run(args: &StatsArgs) -> anyhow::Result<ExitStatus> {
    let mut to = args.report.open()?;
    let page = open_page(args.html.as_deref(), args.report.output.force, "the report")?;
    let statistics =
        if args.store_path().is_some() { profile(&args.open_store()?)? } else { collect(args)? };
    if let (Some(page), Some(path)) = (page, &args.html) {
        let (plan, now) = schemes(&statistics, args.scheme.budget().unwrap_or_default())?;
        let title = title_of(&args.inputs, &args.store.store);
        let options = PageOptions { title: &title, plan: plan.as_ref(), now: now.as_ref() };
        page.write_whole(&doctor::page(&statistics, &options))?;
        if !args.report.is_quiet() {
            message!("wrote {}", path.display());
        }
    }
    match to.format {
        ReportFormat::Json => {
            let (source, findings) = (source(args), doctor::findings(&statistics));
            to.write_json(&Report { source, findings, statistics: &statistics })?;
        }
        ReportFormat::Text => {
            // Control characters are escaped, because file names are untrusted input.
            let source = source(args);
            let shown = to.printer.show(&source).into_owned();
            write!(to.out, "{:<15}{shown}\n{}", "source", doctor::Report(&statistics))?;
        }
    }
    to.finish()?;
    Ok(ExitStatus::Done)
}

/// The name of the store or of the files, for the report.
fn source(args: &StatsArgs) -> String {
    match args.inputs.as_slice() {
        [] => args.store.store.display().to_string(),
        [only] => name_of(only),
        [first, rest @ ..] => format!("{} and {} more", name_of(first), rest.len()),
    }
}

fn collect(args: &StatsArgs) -> anyhow::Result<Statistics> {
    let k = args.scheme.k().unwrap_or(DEFAULT_K);
    let choice = args.scheme.choice(k)?;
    if let Some(folder) = args.inputs.iter().find(|file| file.is_dir()) {
        bail!("{} is a directory; name one store, or files", folder.display());
    }
    refuse_narrow(args.read.width(), "stats")?;
    let options = args.read.options();
    let mut collector = Collector::new();
    for file in inputs(&args.inputs)? {
        let summary = read_records(&file, &options, |record| {
            collector.push(record.fingerprint);
            Ok::<(), fpstore::Error>(())
        })?;
        report_skipped(&file, &summary);
    }
    let scheme = collector.scheme(&choice)?;
    Ok(collector.finish(&scheme))
}

/// Plans schemes for the fingerprints, and estimates the cost of the existing tables if they
/// differ from the chosen scheme.
fn schemes(
    statistics: &Statistics,
    budget: Budget,
) -> anyhow::Result<(Option<SchemePlan>, Option<SchemeEstimate>)> {
    if statistics.fingerprint_count == 0 {
        return Ok((None, None));
    }
    let request = statistics.plan_request().budget(budget);
    let plan = request.plan()?;
    let now = match statistics.scheme() {
        Ok(scheme) if scheme != plan.chosen().scheme => {
            Some(request.estimate("these tables", &scheme)?)
        }
        _ => None,
    };
    Ok((Some(plan), now))
}
