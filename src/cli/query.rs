//! `fpstore query`: what lies within k bits of these fingerprints, and whose is it.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::Instant;

use anyhow::bail;
use clap::Args;
use fpstore::{
    Answer, Effort, Fingerprint, InputOptions, Limits, Plan, Radix, Searcher, Store, read_records,
};
use serde::Serialize;

use super::documents::QueryDocumentArgs;
use super::output::{IdPrinter, RowFormat, counted, grouped, stdout};
use super::query_many::{self, Asked, ManyArgs};
use super::{StoreArg, Verdict};

const LONG_ABOUT: &str = "\
Find every stored fingerprint within k bits of the given ones, with ids.

The answer is exact for any k from 0 to 64. It is fast for the k the store was built for and below; \
far above it becomes a pass over the whole store, and --explain says so.

TSV has one line for each match and id: query, match, distance, id, nearest match first. JSON has one \
object for each query, with fingerprints as 16 hex digits and ids as strings. A match without ids \
has one line with an empty id.

A store that was built from documents knows how their fingerprints were made, so it can be asked for a text or \
a file; what it weighed by (--df, --stop-words, --weights) must be given again.

--from FILE answers all records of a file, much faster than one by one, in their order. Where a record has an id it comes first: another column, or another field.

Exit status: 0 if anything was found, 1 if nothing was, 2 if it could not answer.";

const AFTER_HELP: &str = "\
Examples:
  fpstore query c0f1789bed2eb9b8 -s pages.fps
  fpstore query --file page.html -s pages.fps
  cut -f1 new.tsv | fpstore query - -k 6 --format json
  fpstore query --from new.tsv.zst -s pages.fps > near.tsv";

/// Find fingerprints within k bits, with ids
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub(super) struct QueryArgs {
    /// Fingerprints; - reads them from standard input, one a line
    #[arg(
        value_name = "HEX",
        required_unless_present_any = ["text", "file", "from"],
        conflicts_with = "from",
        allow_negative_numbers = true
    )]
    needles: Vec<String>,
    #[command(flatten)]
    store: StoreArg,
    /// The distance in bits, inclusive; default: the one the store was built for
    #[arg(short, value_parser = clap::value_parser!(u32).range(0..=64))]
    k: Option<u32>,
    /// Keep only the N nearest matches of each query, all their ids, and say where that cut
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// How to print
    #[arg(long, value_enum, default_value = "tsv")]
    format: RowFormat,
    /// Say on standard error how each answer was found and what it took
    #[arg(long)]
    explain: bool,
    /// Ask for a text, by the recipe of the store; may be repeated
    #[arg(long, value_name = "TEXT", help_heading = "Documents")]
    text: Vec<String>,
    /// Ask for the text of a file, by the recipe of the store; may be repeated
    #[arg(long, value_name = "FILE", help_heading = "Documents")]
    file: Vec<String>,
    #[command(flatten)]
    documents: QueryDocumentArgs,
    #[command(flatten)]
    many: ManyArgs,
}

pub(super) fn run(args: &QueryArgs) -> anyhow::Result<Verdict> {
    query_many::check(&args.many, args.explain)?;
    let radix = args.many.read.options().radix;
    // Every argument is read before any is asked, so that a slip of the pen costs nothing.
    let mut needles = args
        .needles
        .iter()
        .map(|text| match text.as_str() {
            "-" => Ok(None),
            text => Fingerprint::parse(text, radix).map(Some),
        })
        .collect::<Result<Vec<Option<Fingerprint>>, _>>()?;
    let store = args.store.open()?;
    needles.extend(args.documents.fingerprints(&store, &args.text, &args.file)?.map(Some));
    let k = args.k.unwrap_or(store.tuned_k());
    let limits = match args.limit {
        Some(most) => Limits::default().max_matches(usize::try_from(most).unwrap_or(usize::MAX)),
        None => Limits::default(),
    };
    if !args.many.from.is_empty() {
        let asked = Asked { k, limits, format: args.format };
        return query_many::run(&args.many, &store, &asked);
    }
    let mut asker = Asker {
        searcher: store.searcher(),
        k,
        limits,
        format: args.format,
        expected: None,
        printer: IdPrinter::for_stdout(),
        out: stdout(),
        line: Vec::new(),
        found: false,
    };
    if args.explain {
        asker.expected = Some(explain_plan(&store, k)?);
    }
    for needle in needles {
        match needle {
            Some(needle) => asker.ask(needle)?,
            None => ask_standard_input(&mut asker, radix)?,
        }
    }
    asker.out.flush()?;
    Ok(if asker.found { Verdict::Yes } else { Verdict::No })
}

fn ask_standard_input(asker: &mut Asker<'_>, radix: Radix) -> anyhow::Result<()> {
    if io::stdin().is_terminal() {
        bail!("no input: pipe fingerprints in, one a line");
    }
    let mut failed = None;
    let options = InputOptions::default().radix(radix);
    let read = read_records(Path::new("-"), &options, |record| {
        // Whoever asks line by line waits for each answer, so none may stay in a buffer.
        let asked = asker.ask(record.fingerprint).and_then(|()| Ok(asker.out.flush()?));
        asked.map_err(|error| {
            failed = Some(error);
            fpstore::Error::Io {
                doing: "answer",
                path: "standard input".into(),
                source: io::ErrorKind::Interrupted.into(),
            }
        })
    });
    match failed {
        Some(error) => Err(error),
        None => Ok(read.map(drop)?),
    }
}

/// What a query should take in all segments.
#[derive(Default)]
struct Expected {
    micros: f64,
    effort: Effort,
}

/// Asks and prints.
struct Asker<'a> {
    searcher: Searcher,
    k: u32,
    limits: Limits,
    format: RowFormat,
    /// What a query should take, if each is to be explained.
    expected: Option<Expected>,
    printer: IdPrinter,
    out: io::BufWriter<io::StdoutLock<'a>>,
    /// One answer; it is printed whole or not at all.
    line: Vec<u8>,
    found: bool,
}

impl Asker<'_> {
    fn ask(&mut self, needle: Fingerprint) -> anyhow::Result<()> {
        let start = Instant::now();
        let answer = self.searcher.search_within(needle, self.k, &self.limits)?;
        let micros = start.elapsed().as_secs_f64() * 1e6;
        self.line.clear();
        match self.format {
            RowFormat::Tsv => write_tsv(&mut self.line, None, needle, &answer, &self.printer)?,
            RowFormat::Json => write_json(&mut self.line, None, needle, &answer)?,
        }
        self.found |= !answer.is_empty();
        let outcome = answer.outcome();
        self.out.write_all(&self.line)?;
        if outcome.cut && self.format == RowFormat::Tsv {
            let kept = counted(answer.len() as u64, "match", "matches");
            say!("fpstore: {needle}: cut to the nearest {kept} by --limit");
        }
        if let Some(Expected { micros: expected_micros, effort }) = &self.expected {
            let work = outcome.work;
            say!(
                "fpstore: {needle}: {} in {micros:.1} us ({expected_micros:.1} expected); \
                 {} probes ({:.0}), {} candidates ({:.1}), {} scanned ({:.0}), {} pages touched first",
                counted(answer.len() as u64, "match", "matches"),
                grouped(work.probes),
                effort.probes,
                grouped(work.candidates),
                effort.candidates,
                grouped(work.scanned),
                effort.scanned,
                grouped(work.pages_checked),
            );
        }
        Ok(())
    }
}

/// Writes the lines of an answer, after the id of the query if it has one.
pub(super) fn write_tsv(
    out: &mut Vec<u8>,
    query_id: Option<&str>,
    needle: Fingerprint,
    answer: &Answer<'_>,
    printer: &IdPrinter,
) -> anyhow::Result<()> {
    let query = match query_id {
        Some(id) => format!("{}\t{needle}", printer.show_column(id)),
        None => needle.to_string(),
    };
    for hit in answer.hits() {
        let mut bare = true;
        for id in hit.ids() {
            bare = false;
            let id = id?.to_string();
            let (fingerprint, distance) = (hit.fingerprint(), hit.distance());
            writeln!(out, "{query}\t{fingerprint}\t{distance}\t{}", printer.show(&id))?;
        }
        if bare {
            writeln!(out, "{query}\t{}\t{}\t", hit.fingerprint(), hit.distance())?;
        }
    }
    Ok(())
}

#[derive(Serialize)]
struct JsonAnswer<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    query: String,
    matches: Vec<JsonMatch>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
}

#[derive(Serialize)]
struct JsonMatch {
    fingerprint: String,
    distance: u32,
    /// As strings, numbers too: JavaScript would round those above 2^53.
    ids: Vec<String>,
}

/// Writes an answer as one object on a line.
pub(super) fn write_json(
    out: &mut Vec<u8>,
    id: Option<&str>,
    needle: Fingerprint,
    answer: &Answer<'_>,
) -> anyhow::Result<()> {
    let mut matches = Vec::with_capacity(answer.len());
    for hit in answer.hits() {
        let ids: Result<Vec<String>, _> = hit.ids().map(|id| id.map(|id| id.to_string())).collect();
        matches.push(JsonMatch {
            fingerprint: hit.fingerprint().to_string(),
            distance: hit.distance(),
            ids: ids?,
        });
    }
    let cut = answer.outcome().cut;
    serde_json::to_writer(&mut *out, &JsonAnswer { id, query: needle.to_string(), matches, cut })?;
    out.push(b'\n');
    Ok(())
}

fn explain_plan(store: &Store, k: u32) -> anyhow::Result<Expected> {
    let mut expected = Expected::default();
    for (segment, plan) in store.info().segments.iter().zip(store.plans(k)?) {
        let number = segment.number;
        match plan {
            Plan::Scan { table, expected_nanos, effort, .. } => {
                expected.micros += expected_nanos / 1000.0;
                expected.effort += effort;
                say!(
                    "fpstore: segment {number}, k={k}: scan of table {}, about {:.1} us expected; \
                     probing would cost more",
                    table.0,
                    expected_nanos / 1000.0
                );
            }
            Plan::Probe { tables, expected_nanos, effort, .. } => {
                expected.micros += expected_nanos / 1000.0;
                expected.effort += effort;
                say!(
                    "fpstore: segment {number}, k={k}: probes of {} of {} tables, about {:.1} us expected",
                    tables.len(),
                    segment.tables.len(),
                    expected_nanos / 1000.0
                );
                for part in tables {
                    say!(
                        "fpstore:   table {}: mask {:016x}, radius {} ({:.0} prefixes)",
                        part.table.0,
                        part.mask,
                        part.radius,
                        part.prefixes
                    );
                }
            }
            other => say!("fpstore: segment {number}, k={k}: {other:?}"),
        }
    }
    Ok(expected)
}
