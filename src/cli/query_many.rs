//! `fpstore query --from`: files of queries, answered together.

use std::io::Write;
use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use fpstore::{
    BatchMode, Error, Fingerprint, JoinOptions, Limits, Store, read_records, search_many,
};

use super::Verdict;
use super::build::{inputs, report_skipped};
use super::effort::{EffortArgs, Work};
use super::join_input::{ReadArgs, join_options};
use super::output::{IdPrinter, RowFormat, counted, stdout};
use super::query::{write_json, write_tsv};

/// Queries that are read before they are answered.
const CHUNK_COUNT: usize = 1 << 20;
/// Bytes of their ids that are held.
const IDS_LEN: usize = 64 << 20;

/// Many queries at once.
#[derive(Args, Debug)]
#[command(next_help_heading = "Many at once")]
pub(super) struct ManyArgs {
    /// Answer all records of these files, as 'build' reads them; - is standard input
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(super) from: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) read: ReadArgs,
    #[command(flatten)]
    effort: EffortArgs,
}

/// What is asked of all queries.
pub(super) struct Asked {
    pub(super) k: u32,
    pub(super) limits: Limits,
    pub(super) format: RowFormat,
}

pub(super) fn run(args: &ManyArgs, store: &Store, asked: &Asked) -> anyhow::Result<Verdict> {
    let work = Work::start(&args.effort, false)?;
    let mut many = Many {
        store,
        asked,
        options: join_options(asked.k, &args.effort, &work),
        work: &work,
        answered: 0,
        queries: Vec::new(),
        ids: String::new(),
        id_ends: Vec::new(),
        printer: IdPrinter::for_stdout(),
        out: stdout(),
        line: Vec::new(),
        found: false,
        cut: 0,
    };
    for file in inputs(&args.from)? {
        let mut failed = None;
        let read = read_records(&file, &args.read.options(), |record| {
            let id = record.id.map(|id| id.to_string());
            many.push(record.fingerprint, id.as_deref()).map_err(|error| {
                failed = Some(error);
                Error::Interrupted
            })
        });
        if let Some(error) = failed {
            return Err(error);
        }
        report_skipped(&file, &read?);
    }
    many.answer()?;
    many.out.flush()?;
    work.done();
    if many.cut > 0 && asked.format == RowFormat::Tsv {
        say!("fpstore: {} cut by --limit", counted(many.cut, "answer was", "answers were"));
    }
    Ok(if many.found { Verdict::Yes } else { Verdict::No })
}

/// Gathers queries and answers them in chunks.
struct Many<'a> {
    store: &'a Store,
    asked: &'a Asked,
    options: JoinOptions,
    work: &'a Work,
    answered: u64,
    queries: Vec<Fingerprint>,
    ids: String,
    /// Where the id of each query ends; an empty one is none.
    id_ends: Vec<usize>,
    printer: IdPrinter,
    out: std::io::BufWriter<std::io::StdoutLock<'a>>,
    line: Vec<u8>,
    found: bool,
    cut: u64,
}

impl Many<'_> {
    fn push(&mut self, query: Fingerprint, id: Option<&str>) -> anyhow::Result<()> {
        self.queries.push(query);
        self.ids.push_str(id.unwrap_or_default());
        self.id_ends.push(self.ids.len());
        if self.queries.len() == CHUNK_COUNT || self.ids.len() >= IDS_LEN {
            self.answer()?;
        }
        Ok(())
    }

    fn answer(&mut self) -> anyhow::Result<()> {
        let Many { queries, ids, id_ends, line, asked, work, answered, .. } = self;
        self.options.observer = Some(work.observer_after(*answered));
        let (printer, out) = (&self.printer, &mut self.out);
        let (mut found, mut cut) = (false, 0);
        let auto = BatchMode::Auto;
        search_many(
            self.store,
            queries,
            &self.options,
            &asked.limits,
            auto,
            |at, answer| -> anyhow::Result<()> {
                let start = at.checked_sub(1).map_or(0, |before| id_ends[before]);
                let id = Some(&ids[start..id_ends[at]]).filter(|id| !id.is_empty());
                line.clear();
                match asked.format {
                    RowFormat::Tsv => write_tsv(line, id, queries[at], &answer, printer)?,
                    RowFormat::Json => write_json(line, id, queries[at], &answer)?,
                }
                found |= !answer.is_empty();
                cut += u64::from(answer.outcome().cut);
                Ok(out.write_all(line)?)
            },
        )?;
        self.found |= found;
        self.cut += cut;
        self.answered += queries.len() as u64;
        queries.clear();
        ids.clear();
        id_ends.clear();
        Ok(())
    }
}

/// Refuses what makes no sense for many.
pub(super) fn check(args: &ManyArgs, explain: bool) -> anyhow::Result<()> {
    if explain && !args.from.is_empty() {
        bail!("--explain tells of single queries; give some without --from");
    }
    Ok(())
}
