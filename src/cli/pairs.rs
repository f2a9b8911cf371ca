//! `fpstore pairs`: finds all pairs of near-duplicates.

use std::io::Write;

use clap::Args;
use fpstore::Fingerprint;
use fpstore::join::{PlanReads, document_pairs};
use serde::Serialize;

use super::command::{ExitStatus, Run};
use super::confirm::{ConfirmArgs, ConfirmedDocuments};
use super::join_input::{Ids, JoinInputArgs};
use super::monitor::Monitor;
use super::output::{IdPrinter, TableFormat, counted};
use super::reading_args::in_long_help;
use super::resources::ResourceArgs;
use super::share::{ShareArgs, plan_of};
use super::sink::{OutputArgs, Sink};
#[cfg(feature = "parquet")]
use super::table::{Cell, ColumnSpec, Kind, Table};

const LONG_ABOUT: &str = "\
Find every pair of documents whose fingerprints lie within k bits, each pair once.

The input is a store, or files as 'build' reads them. TSV has one line for each pair: first \
fingerprint, second fingerprint, distance, first id, second id. The first fingerprint is the \
smaller one; lines are sorted by the first fingerprint, then the second, then the order of the \
ids. Documents that share a fingerprint are pairs at distance 0, which --distinct leaves out. A \
fingerprint without ids counts as one document.

The number of pairs is printed before the first pair is written. n equal documents make n(n-1)/2 \
pairs: set --max-pairs, or use 'cluster', which does not list pairs.

With --docs the input is documents, in files and folders. --confirm S then keeps the pairs whose \
features have a Jaccard similarity of S or more; it stands after the distance. The documents are \
read twice.

With --share I/N a process does one of N parts of the work, in a file of its own, and the files have \
each line once together. A store with --scheme blocks-4 (for k = 3; k + 1 blocks for any k) lets \
a share read only its part; --explain says what it reads.

Pairs that do not fit into --memory are sorted in temporary files of about 12 bytes for each pair.";

const AFTER_HELP: &str = "\
Examples:
  fpstore pairs pages.tsv.zst -k 3 --max-pairs 100000000 -o pairs.tsv
  fpstore pairs pages.fps --distinct | cut -f4,5
  fpstore pairs --docs corpus.jsonl.zst --confirm 0.8 -o pairs.tsv
  seq 0 7 | xargs -P 4 -I{} fpstore pairs pages.fps --share {}/8 --threads 1 -o pairs-{}.tsv

Exit status: 0 if there is any pair, or with --share; 1 if there is none; 2 error.";

/// Find all pairs of near-duplicates
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP, mut_args = in_long_help)]
pub(super) struct PairsArgs {
    #[command(flatten)]
    input: JoinInputArgs,
    /// The distance in bits, inclusive [default: the one the store was built for, 3 for files]
    #[arg(short, value_parser = clap::value_parser!(u32).range(0..=64))]
    k: Option<u32>,
    #[command(flatten)]
    confirm: ConfirmArgs,
    /// Leave out pairs of documents that share a fingerprint
    #[arg(long)]
    distinct: bool,
    /// Fail, and write nothing, if there are more than N pairs
    #[arg(long, value_name = "N")]
    max_pairs: Option<u64>,
    /// The output format
    #[arg(long, value_enum, default_value = "tsv")]
    format: TableFormat,
    #[command(flatten)]
    share: ShareArgs,
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
    args.share.check(args.input.has_files(), args.confirm.confirm.is_some())?;
    let mut out = args.output.open()?;
    let monitor = args.resources.monitor(args.quiet)?;
    if let Some(threshold) = args.confirm.confirm {
        return confirmed_pairs(args, threshold, out, &monitor);
    }
    let opened = args.input.open(&args.resources, &monitor, Ids::AsTheyAre, false)?;
    let k = args.k.unwrap_or(opened.default_k);
    let mut options = args.resources.join_options(k, &monitor)?.max_pairs(args.max_pairs);
    args.share.check_generation(&opened.store)?;
    if args.share.explain() {
        let (plan, words) = plan_of(&opened.store, k)?;
        monitor.finish();
        writeln!(out, "{plan}")?;
        if !args.quiet {
            message!("{words}");
        }
        out.finish()?;
        return Ok(ExitStatus::Done);
    }
    if let Some(shard) = args.share.shard() {
        let (plan, words) = plan_of(&opened.store, k)?;
        if plan.reads() == PlanReads::Everything && shard.count > 1 && !args.quiet {
            monitor.suspend(|| message!("{words}"));
        }
        options = options.shard(shard);
    }
    let pairs = document_pairs(&opened.store, &options, args.distinct)?;
    monitor.finish();
    if !args.quiet {
        args.input.report_default();
        let distance = counted(k.into(), "bit", "bits");
        message!("{} within {distance}", counted(pairs.len(), "pair", "pairs"));
    }
    let mut rows = Rows::new(args, out)?;
    pairs.for_each(|pair| -> anyhow::Result<()> {
        monitor.check()?;
        rows.write(&Row {
            fingerprints: [pair.pair.first, pair.pair.second],
            similarity: None,
            ids: [pair.first_id, pair.second_id].map(|id| id.map(|id| id.to_string())),
        })
    })?;
    rows.finish()?;
    // A share without pairs is nothing special, and a scheduler takes any other status for a failure.
    let is_negative = pairs.is_empty() && args.share.shard().is_none();
    Ok(if is_negative { ExitStatus::Negative } else { ExitStatus::Done })
}

/// Finds and prints the pairs of documents whose features are alike enough.
fn confirmed_pairs(
    args: &PairsArgs,
    threshold: f64,
    out: Sink,
    monitor: &Monitor,
) -> anyhow::Result<ExitStatus> {
    let (limits, most) = ((threshold, args.k), args.max_pairs);
    let done = ConfirmedDocuments::of(&args.input, limits, most, &args.resources, monitor, false)?;
    monitor.finish();
    let ConfirmedDocuments { confirmed, ids, .. } = &done;
    let count = confirmed.pair_count(args.distinct);
    if !args.quiet {
        args.input.report_default();
        done.report();
        message!("{} of similarity {threshold} or more", counted(count, "pair", "pairs"));
    }
    let mut rows = Rows::new(args, out)?;
    confirmed.for_each_pair(args.distinct, |pair| {
        monitor.check()?;
        rows.write(&Row {
            fingerprints: pair.fingerprints,
            similarity: Some(pair.similarity),
            ids: [Some(ids.text(pair.first as usize)?), Some(ids.text(pair.second as usize)?)],
        })
    })?;
    rows.finish()?;
    Ok(if count == 0 { ExitStatus::Negative } else { ExitStatus::Done })
}

/// A pair as it is printed.
struct Row {
    fingerprints: [Fingerprint; 2],
    similarity: Option<f64>,
    ids: [Option<String>; 2],
}

/// Prints pairs in one format.
enum Rows {
    Tsv(Sink, IdPrinter),
    Json(Sink),
    #[cfg(feature = "parquet")]
    Table(Box<Table>),
}

impl Rows {
    fn new(args: &PairsArgs, out: Sink) -> anyhow::Result<Self> {
        Ok(match args.format {
            TableFormat::Tsv => {
                let printer = IdPrinter::new(out.is_terminal());
                Rows::Tsv(out, printer)
            }
            TableFormat::Json => Rows::Json(out),
            #[cfg(feature = "parquet")]
            TableFormat::Parquet => {
                let similarity = args.confirm.confirm.map(|_| ("similarity", Kind::Double));
                let columns: Vec<_> = COLUMNS.into_iter().chain(similarity).collect();
                Rows::Table(Box::new(Table::new(out, "pairs", &columns)?))
            }
        })
    }

    fn write(&mut self, row: &Row) -> anyhow::Result<()> {
        match self {
            Rows::Tsv(out, printer) => write_tsv(out, row, printer),
            Rows::Json(out) => write_json(out, row),
            #[cfg(feature = "parquet")]
            Rows::Table(table) => {
                let [one, other] = row.fingerprints;
                let [first, second] = row.ids.each_ref().map(Option::as_deref);
                let cells = [
                    Cell::U64(one.value()),
                    Cell::U64(other.value()),
                    Cell::U32(one.distance(other)),
                    Cell::Text(first),
                    Cell::Text(second),
                ];
                table.push(cells.into_iter().chain(row.similarity.map(Cell::Double)))
            }
        }
    }

    fn finish(self) -> anyhow::Result<()> {
        match self {
            Rows::Tsv(out, _) | Rows::Json(out) => out.finish(),
            #[cfg(feature = "parquet")]
            Rows::Table(table) => table.finish(),
        }
    }
}

/// The columns of a table of pairs; the similarity may follow.
#[cfg(feature = "parquet")]
const COLUMNS: [ColumnSpec; 5] = [
    ("first", Kind::U64),
    ("second", Kind::U64),
    ("distance", Kind::U32),
    ("first_id", Kind::Text),
    ("second_id", Kind::Text),
];

fn write_tsv(out: &mut impl Write, row: &Row, printer: &IdPrinter) -> anyhow::Result<()> {
    let [one, other] = row.fingerprints;
    write!(out, "{one}\t{other}\t{}\t", one.distance(other))?;
    if let Some(similarity) = row.similarity {
        write!(out, "{similarity:.4}\t")?;
    }
    let [first, second] =
        row.ids.each_ref().map(|id| printer.show_column(id.as_deref().unwrap_or_default()));
    writeln!(out, "{first}\t{second}")?;
    Ok(())
}

#[derive(Serialize)]
struct JsonPair<'a> {
    first: String,
    second: String,
    distance: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    similarity: Option<f64>,
    first_id: Option<&'a str>,
    second_id: Option<&'a str>,
}

fn write_json(out: &mut impl Write, row: &Row) -> anyhow::Result<()> {
    let [one, other] = row.fingerprints;
    let [first_id, second_id] = row.ids.each_ref().map(Option::as_deref);
    let line = JsonPair {
        first: one.to_string(),
        second: other.to_string(),
        distance: one.distance(other),
        similarity: row.similarity,
        first_id,
        second_id,
    };
    serde_json::to_writer(&mut *out, &line)?;
    Ok(out.write_all(b"\n")?)
}
