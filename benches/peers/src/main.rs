//! Measures fpstore and its peers in one run: the same fingerprints and queries, in turn.
//!
//! Each contender is built from the same distinct fingerprints in the same random order, gets the
//! same queries, and is compared with a scan on a sample of them. The output is a line of JSON for
//! each measurement, and a table and a chart of each case.
#![deny(unsafe_code)]

#[allow(dead_code, reason = "its scan and its length are for the benches beside it")]
#[path = "../../store/baseline/mod.rs"]
mod baseline;
mod chart;
mod contenders;
mod counted;
#[path = "../../store/data/mod.rs"]
mod data;
mod files;
mod machine;
mod memory;
mod near;
mod raw;
mod real;
mod report;
mod rounds;
mod set;
mod truth;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use contenders::plain::Shared;
use contenders::{Built, NAMES};
use machine::Machine;
use report::Row;
use rounds::RoundLimits;
use set::{Set, Source};
use truth::Truth;

/// Measures fpstore and its peers.
#[derive(Debug, Parser)]
#[command(version, about)]
struct Arguments {
    /// Numbers of fingerprints, such as 1e6,1e7
    #[arg(long, value_delimiter = ',', default_value = "1e6", value_parser = count)]
    n: Vec<usize>,
    /// Kinds of data
    #[arg(long, value_enum, value_delimiter = ',', default_value = "uniform,clustered,real")]
    data: Vec<Source>,
    /// Hamming distance of the queries, inclusive
    #[arg(short, long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=64))]
    k: u32,
    /// Rounds in turn; an odd number makes the median the result of one round
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Maximum seconds for a contender in each part of a round
    #[arg(long, default_value_t = 0.5)]
    seconds: f64,
    /// Queries timed individually in a round
    #[arg(long, default_value_t = data::QUERY_COUNT, value_parser = count)]
    queries: usize,
    /// Queries in a batch
    #[arg(long, default_value = "300000", value_parser = count)]
    batch: usize,
    /// Queries whose answers are verified by a scan
    #[arg(long, default_value_t = 300)]
    sample: usize,
    /// Run only these contenders; `none` only writes files
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    only: Vec<String>,
    /// Skip these contenders
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    leave_out: Vec<String>,
    /// Maximum memory in GiB of all contenders of a case together; further contenders are skipped
    #[arg(long, default_value_t = 14.0, value_name = "GIB")]
    memory: f64,
    /// The folder of the results; lines are appended to existing ones
    #[arg(long, default_value = "results", value_name = "DIR")]
    out: PathBuf,
    /// Also write fingerprints, queries and true answers, in the format of peers.py
    #[arg(long, value_name = "DIR")]
    write_files: Option<PathBuf>,
    /// Time nothing; run QUERIES queries on the only contender in --only, in steps, for counters.py
    #[arg(long, value_name = "QUERIES", value_parser = count)]
    in_steps: Option<usize>,
    /// Measure nothing; only draw tables and charts of the results in --out
    #[arg(long)]
    draw: bool,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fpstore-peers: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    for name in arguments.only.iter().chain(&arguments.leave_out) {
        ensure!(
            NAMES.contains(&name.as_str()) || name == "none",
            "no contender is called '{name}', expected none or some of {}",
            NAMES.join(", ")
        );
    }
    ensure!(arguments.seconds > 0.0, "--seconds must be above 0");
    if let Some(queries) = arguments.in_steps {
        return ask_in_steps(arguments, queries);
    }
    if !arguments.draw {
        let machine = Machine::look();
        for &count in &arguments.n {
            for &source in &arguments.data {
                measure(arguments, &machine, source, count)?;
            }
        }
    }
    report::draw_all(&arguments.out)
}

/// Measures one case: makes the data, builds and runs the contenders, and writes their rows.
fn measure(arguments: &Arguments, machine: &Machine, source: Source, count: usize) -> Result<()> {
    let k = arguments.k;
    eprintln!("{}, {} fingerprints, k = {k}", source.name(), count);
    let set = Set::draw(source, count)?;
    let many = set.queries(arguments.batch.max(arguments.queries));
    let singles = &many[..arguments.queries];
    let truth = Truth::find(&set, &singles[..arguments.sample.min(singles.len())], k);
    if let Some(folder) = &arguments.write_files {
        files::write(folder, &set, &many, &truth, machine)?;
    }
    let folder = tempfile::tempdir().context("a directory for files")?;
    let mut built: Vec<Built> = Vec::new();
    let mut shared = Shared::default();
    for name in NAMES {
        let wanted = arguments.only.is_empty() || arguments.only.iter().any(|only| only == name);
        if !wanted || arguments.leave_out.iter().any(|other| other == name) {
            continue;
        }
        if let Some(reason) = contenders::obstacle(name, &set, k, arguments.memory) {
            eprintln!("  {name} is left out: {reason}");
            continue;
        }
        let contender = contenders::build(name, &set, k, folder.path(), &mut shared)?;
        eprintln!("  {name}: built in {:.2} s", contender.build_seconds);
        built.push(contender);
    }
    if built.is_empty() {
        return Ok(());
    }
    let limits = RoundLimits { rounds: arguments.rounds, seconds: arguments.seconds };
    let timings = rounds::take(&built, singles, &many, limits);
    let rows: Vec<Row> = built
        .iter()
        .zip(timings)
        .map(|(contender, timing)| {
            let checked = truth.compare(contender);
            let timed = (timing, arguments.rounds, built[0].name);
            Row::new(machine, &set, k, contender, timed, checked)
        })
        .collect();
    report::append(&arguments.out, &rows)
}

/// Builds the selected contender for the selected case, and queries it.
fn ask_in_steps(arguments: &Arguments, queries: usize) -> Result<()> {
    let ([count], [source], [name]) = (&arguments.n[..], &arguments.data[..], &arguments.only[..])
    else {
        bail!("--in-steps takes one each of --n, --data and --only");
    };
    let set = Set::draw(*source, *count)?;
    let queries = set.queries(queries);
    if let Some(reason) = contenders::obstacle(name, &set, arguments.k, arguments.memory) {
        bail!("{name} is left out: {reason}");
    }
    let folder = tempfile::tempdir().context("a directory for files")?;
    let shared = &mut Shared::default();
    let built = contenders::build(name, &set, arguments.k, folder.path(), shared)?;
    drop(set);
    counted::ask_in_steps(&built, &queries)
}

/// A whole number, possibly written as `1e6`.
fn count(text: &str) -> Result<usize, String> {
    let number: f64 = text.parse().map_err(|_| format!("'{text}' is not a number"))?;
    let whole = number.fract() == 0.0 && (1.0..=1e10).contains(&number);
    whole.then_some(number as usize).ok_or(format!("{text} is not a whole number from 1 to 1e10"))
}
