//! `fpstore query`: finds the fingerprints within k bits of the given ones, with their ids.

mod documents;
mod files;
mod output;
mod server;
mod single;

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use fpstore::input::InputOptions;
use fpstore::{Error, Fingerprint, Store};

use crate::args::fingerprint_arg::parse_needle;
use crate::args::format_args::TableArgs;
use crate::args::pictures::fingerprint_of;
use crate::args::reading_args::in_long_help;
use crate::args::resources::QuietArgs;
use crate::output::sink::OutputArgs;
use crate::output::text::TableFormat;
use crate::run::confirm::{self, NearArgs};
use crate::session::command::{AccessArgs, ExitStatus};
use crate::session::stores::{QueriedStores, StoresArg};
use documents::{Needle, QueryDocumentArgs, stored_needles};
pub(super) use files::QueryBatch;
use files::QueryFileArgs;
pub(super) use output::{AnswerColumns, QueryOptions, limits_of, open as open_answers};
use server::{Questions, ServerArgs};
use single::SingleQueries;

const LONG_ABOUT: &str = "\
Find every stored fingerprint within k bits of the given ones, with ids.

The answer is exact for any k from 0 to 64. It is fast up to the k for which the store was built; \
far above it, a query becomes a scan of the whole store, as --explain prints.

A store of documents contains its recipe, so a query may be a text or a file. - answers each line of \
standard input at once. --from FILE answers all records of a file, in their order and much faster than \
one by one. -s A -s B searches several stores as one, and prints the store of each match. 'fpstore help \
queries' describes queries and their output.";

const AFTER_HELP: &str = "\
Examples:
  fpstore query c0f1789bed2eb9b8 -s pages.fps
  fpstore query --file page.html -s pages.fps
  fpstore query --from new.tsv.zst -s pages.fps > near.tsv
  fpstore query --nearest 5 c0f1789bed2eb9b8 -s pages.fps

Exit status: 0 found; 1 nothing found; 2 error.";

/// Ids of the arguments that can replace fingerprints as queries.
const NEEDLES: [&str; NEEDLE_COUNT] = ["text", "file", "from", "id", "image"];
const NEEDLE_COUNT: usize = 5;
/// Options that cannot be combined with `--image`.
const IMAGE_CONFLICTS: &[&str] = &["from", "confirm", "server"];

/// Find fingerprints within k bits, with ids
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP, mut_args = in_long_help)]
pub(crate) struct QueryArgs {
    /// Fingerprints; - reads them from standard input, one on each line
    #[arg(
        value_name = "HEX",
        required_unless_present_any = NEEDLES,
        allow_negative_numbers = true
    )]
    needles: Vec<String>,
    #[command(flatten)]
    stores: StoresArg,
    #[command(flatten)]
    access: AccessArgs,
    #[command(flatten)]
    near: NearArgs,
    /// Find the N nearest fingerprints, at any distance or within -k
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..),
          conflicts_with_all = ["limit", "confirm", "explain"])]
    nearest: Option<u64>,
    /// Print at most the N nearest matches of each query, with all their ids
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    #[command(flatten)]
    format: TableArgs,
    /// With -: answer each line from the newest state of the store
    ///
    /// The default is the state at the start of the command.
    #[arg(long)]
    refresh: bool,
    /// Answer only if the store is at this generation
    ///
    /// A store with another generation is an error. 'fpstore backup' makes a copy that keeps its
    /// generation. 'fpstore info' and each answer of a server contain the generation.
    #[arg(long, value_name = "GENERATION", conflicts_with = "refresh", hide_short_help = true)]
    as_of: Option<u64>,
    /// Use the fingerprints stored with ID as queries; may be repeated
    #[arg(long, value_name = "ID", allow_hyphen_values = true, conflicts_with = "from")]
    id: Vec<String>,
    /// Search only records with this label; may be repeated
    #[arg(long, value_name = "LABEL", hide_short_help = true)]
    label: Vec<String>,
    /// Print the label of each match, in a column before the id; in JSON a label for each id
    #[arg(long, hide_short_help = true)]
    labels: bool,
    /// Print the search method and the cost of each answer on standard error
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    quiet: QuietArgs,
    /// Search for documents similar to TEXT; uses the recipe of the store; may be repeated
    #[arg(long, value_name = "TEXT", help_heading = "Documents")]
    text: Vec<String>,
    /// Search for documents similar to the text in FILE; uses the recipe of the store; may be
    /// repeated
    #[arg(long, value_name = "FILE", help_heading = "Documents")]
    file: Vec<String>,
    /// Search a store made by 'build --images' for pictures similar to FILE; may be repeated
    #[arg(long, value_name = "FILE", help_heading = "Documents", conflicts_with_all = IMAGE_CONFLICTS)]
    image: Vec<PathBuf>,
    #[command(flatten)]
    documents: QueryDocumentArgs,
    #[command(flatten)]
    files: QueryFileArgs,
}

impl QueryArgs {
    /// Whether a local store is searched, not a server.
    fn is_local(&self) -> bool {
        self.server.server.is_none()
    }

    /// Opens the store, or several stores that are searched as one.
    fn open(&self) -> Result<QueriedStores, Error> {
        QueriedStores::open(&self.stores.paths(), &self.access.open_options())
    }

    /// The store restricted to the segments with the labels of `--label`.
    fn chosen(&self, store: &Store) -> Result<Store, Error> {
        if self.label.is_empty() { Ok(store.clone()) } else { store.with_labels(&self.label) }
    }
}

pub(crate) fn run(args: &QueryArgs) -> anyhow::Result<ExitStatus> {
    if !args.needles.is_empty() && !args.files.from.is_empty() {
        bail!("fingerprints and --from are both given; leave out one of them");
    }
    if args.explain && !args.files.from.is_empty() {
        bail!("--explain is for single queries; it cannot be used with --from");
    }
    let radix = args.files.read.radix();
    // The store is opened first, because its width is needed to parse fingerprints. If opening
    // fails, errors in arguments are still reported before that error.
    let opened = match args.is_local() {
        true => Some(args.open()),
        false => None,
    };
    let stored = opened.as_ref().and_then(|it| it.as_ref().ok()).map(|it| it.store.width());
    let read =
        stored.map_or(Ok(args.files.read.clone()), |width| args.files.read.of_width(width))?;
    let lines = args.documents.lines(&read)?;
    // All arguments are parsed before the first search, so that a typing error is reported at once.
    let mut needles = args
        .needles
        .iter()
        .map(|text| match text.as_str() {
            "-" => Ok(None),
            text => parse_needle(text, radix, read.width(), args.quiet.is_on()).map(Some),
        })
        .collect::<anyhow::Result<Vec<Option<Fingerprint>>>>()?;
    if let Some(url) = &args.server.server {
        return ask_server(args, url, &needles, lines);
    }
    let whole = opened.unwrap_or_else(|| args.open())?;
    if let Some(generation) = args.as_of {
        args.stores.check_one("--as-of")?;
        whole.store.expect_generation(generation)?;
    }
    let store = args.chosen(&whole.store)?;
    let k = match args.near.confirm {
        Some(threshold) => confirm::candidate_k(&store, threshold, args.near.k)?,
        None if args.nearest.is_some() => args.near.k.unwrap_or(64),
        None => args.near.k.unwrap_or(store.tuned_k()),
    };
    let nearest = args.nearest.map(|count| usize::try_from(count).unwrap_or(usize::MAX));
    check_confirm(args)?;
    // Sketches are needed only for --confirm.
    let sketch_len = args.near.confirm.map_or(0, |_| store.sketch_len());
    let limits = args.files.resources.reading()?;
    let from_documents =
        args.documents.documents(&store, sketch_len, &read, limits, !args.file.is_empty())?;
    let mut needles: Vec<Option<Needle>> = needles
        .drain(..)
        .map(|needle| needle.map(|fingerprint| Needle { fingerprint, sketch: Vec::new() }))
        .collect();
    needles.extend(stored_needles(&whole, &args.id)?.into_iter().map(Some));
    needles.extend(
        args.documents.needles(&store, sketch_len, &args.text, &args.file)?.into_iter().map(Some),
    );
    for file in &args.image {
        let fingerprint = fingerprint_of(&store, file)?;
        needles.push(Some(Needle { fingerprint, sketch: Vec::new() }));
    }
    let limits = limits_of(args.limit);
    let (layout, quiet, labels) = (args.format.layout(), args.quiet.is_on(), args.labels);
    let confirm = args.near.confirm;
    let stores = whole.names.clone();
    let options = QueryOptions { k, limits, nearest, layout, quiet, confirm, labels, stores };
    let out = args.output.open()?;
    if !args.files.from.is_empty() {
        let from = (from_documents.as_ref(), lines);
        return files::run(&args.files, &store, from, out, &options);
    }
    let mut queries = SingleQueries::new(&store, options, out)?;
    if args.explain {
        queries.explain(&store)?;
    }
    let newer = || {
        let is_newer = args.refresh && whole.store.refresh()?;
        Ok(if is_newer { Some(args.chosen(&whole.store)?) } else { None })
    };
    for needle in needles {
        match needle {
            Some(needle) => queries.search(needle.fingerprint, &needle.sketch)?,
            None => queries.search_standard_input(&lines, newer)?,
        }
    }
    Ok(if queries.finish()? { ExitStatus::Done } else { ExitStatus::Negative })
}

/// Sends the queries to the server at `url`, in place of searching a store.
fn ask_server(
    args: &QueryArgs,
    url: &str,
    needles: &[Option<Fingerprint>],
    lines: InputOptions,
) -> anyhow::Result<ExitStatus> {
    let layout = args.format.layout();
    if layout.format == TableFormat::Parquet {
        bail!("--server cannot write Parquet; use the format tsv, csv or json");
    }
    let texts = [args.text.clone(), args.documents.texts_of(&args.file)?].concat();
    let questions = Questions {
        k: args.near.k,
        nearest: args.nearest,
        limit: args.limit,
        needles,
        texts: &texts,
        from: &args.files.from,
        lines,
        layout,
        quiet: args.quiet.is_on(),
    };
    args.server.run(url, &questions, args.output.open()?)
}

/// With `--confirm`, rejects `--limit`, and queries by fingerprint, which lack a sketch.
fn check_confirm(args: &QueryArgs) -> anyhow::Result<()> {
    if args.near.confirm.is_none() {
        return Ok(());
    }
    if !args.needles.is_empty() || !args.files.from.is_empty() && !args.documents.are_given() {
        bail!(
            "--confirm compares documents, not fingerprints: use --text, --file, or --from with \
             --docs"
        );
    }
    if args.limit.is_some() {
        bail!("--limit cannot be used with --confirm: it would cut unconfirmed candidates");
    }
    Ok(())
}
