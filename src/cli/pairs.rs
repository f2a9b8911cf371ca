//! `fpstore pairs`: finds all pairs of near-duplicates.

use std::io::Write;

use clap::Args;
use fpstore::join::{DocumentPair, document_pairs};
use serde::Serialize;

use super::command::{ExitStatus, Run};
use super::join_input::{Ids, JoinInputArgs};
use super::output::{IdPrinter, RowFormat, counted};
use super::resources::ResourceArgs;
use super::sink::OutputArgs;

const LONG_ABOUT: &str = "\
Find every pair of documents whose fingerprints lie within k bits, each pair once.

The input is a store, or files as 'build' reads them. TSV has one line for each pair: first \
fingerprint, second fingerprint, distance, first id, second id. The first fingerprint is the \
smaller one; lines are sorted by the first fingerprint, then the second, then the order of the \
ids. Documents that share a fingerprint are pairs at distance 0, which --distinct leaves out. A \
fingerprint without ids counts as one document.

The number of pairs is printed before the first pair is written. n equal documents make n(n-1)/2 \
pairs: set --max-pairs, or use 'cluster', which does not list pairs.

Pairs that do not fit into --memory are sorted in temporary files of about 12 bytes for each pair.";

const AFTER_HELP: &str = "\
Examples:
  fpstore pairs pages.tsv.zst -k 3 --max-pairs 100000000 -o pairs.tsv
  fpstore pairs pages.fps --distinct | cut -f4,5

Exit status: 0 if there is any pair, 1 if there is none, 2 error.";

/// Find all pairs of near-duplicates
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub(super) struct PairsArgs {
    #[command(flatten)]
    input: JoinInputArgs,
    /// The distance in bits, inclusive [default: the one the store was built for, 3 for files]
    #[arg(short, value_parser = clap::value_parser!(u32).range(0..=64))]
    k: Option<u32>,
    /// Leave out pairs of documents that share a fingerprint
    #[arg(long)]
    distinct: bool,
    /// Fail, and write nothing, if there are more than N pairs
    #[arg(long, value_name = "N")]
    max_pairs: Option<u64>,
    /// The output format
    #[arg(long, value_enum, default_value = "tsv")]
    format: RowFormat,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    resources: ResourceArgs,
    /// Print only errors
    #[arg(short, long)]
    quiet: bool,
}

impl Run for PairsArgs {
    fn run(&self) -> anyhow::Result<ExitStatus> {
        run(self)
    }
}

fn run(args: &PairsArgs) -> anyhow::Result<ExitStatus> {
    let mut out = args.output.open()?;
    let monitor = args.resources.monitor(args.quiet)?;
    let opened = args.input.open(&args.resources, &monitor, Ids::AsTheyAre)?;
    let k = args.k.unwrap_or(opened.default_k);
    let options = args.resources.join_options(k, &monitor)?.max_pairs(args.max_pairs);
    let pairs = document_pairs(&opened.store, &options, args.distinct)?;
    monitor.finish();
    if !args.quiet {
        let distance = counted(k.into(), "bit", "bits");
        message!("{} within {distance}", counted(pairs.len(), "pair", "pairs"));
    }
    let printer = IdPrinter::new(out.is_terminal());
    pairs.for_each(|pair| -> anyhow::Result<()> {
        monitor.check()?;
        match args.format {
            RowFormat::Tsv => write_tsv(&mut out, &pair, &printer),
            RowFormat::Json => write_json(&mut out, &pair),
        }
    })?;
    out.finish()?;
    Ok(if pairs.is_empty() { ExitStatus::Negative } else { ExitStatus::Done })
}

fn write_tsv(
    out: &mut impl Write,
    pair: &DocumentPair<'_>,
    printer: &IdPrinter,
) -> anyhow::Result<()> {
    let [first, second] =
        [pair.first_id, pair.second_id].map(|id| id.map_or(String::new(), |id| id.to_string()));
    let (one, other, distance) = (pair.pair.first, pair.pair.second, pair.pair.distance());
    writeln!(
        out,
        "{one}\t{other}\t{distance}\t{}\t{}",
        printer.show_column(&first),
        printer.show_column(&second)
    )?;
    Ok(())
}

#[derive(Serialize)]
struct JsonPair {
    first: String,
    second: String,
    distance: u32,
    first_id: Option<String>,
    second_id: Option<String>,
}

fn write_json(out: &mut impl Write, pair: &DocumentPair<'_>) -> anyhow::Result<()> {
    let line = JsonPair {
        first: pair.pair.first.to_string(),
        second: pair.pair.second.to_string(),
        distance: pair.pair.distance(),
        first_id: pair.first_id.map(|id| id.to_string()),
        second_id: pair.second_id.map(|id| id.to_string()),
    };
    serde_json::to_writer(&mut *out, &line)?;
    Ok(out.write_all(b"\n")?)
}
