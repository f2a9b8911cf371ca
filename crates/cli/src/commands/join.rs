//! `fpstore join`: finds records of one list that are within k bits of records of another list.

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use fpstore::{Recipe, Store};

use crate::args::documents::DocumentArgs;
use crate::args::format_args::TableArgs;
use crate::args::inputs::{ReadArgs, inputs};
use crate::args::reading_args::in_long_help;
use crate::args::resources::{QuietArgs, ResourceArgs};
use crate::commands::query::{AnswerColumns, QueryBatch, QueryOptions, limits_of, open_answers};
use crate::output::sink::OutputArgs;
use crate::run::join_input::{Ids, Opened, Source, temporary_store};
use crate::session::choice::distance;
use crate::session::command::{AccessArgs, ExitStatus};
use crate::session::document_reader::Documents;
use crate::session::monitor::Monitor;
use crate::session::stores::StoresArg;

const LONG_ABOUT: &str = "\
Find, for each record of one list, the records of another list within k bits, with ids.

A list is a store, or a file as 'build' reads it. Matches are printed in the order of the first list, \
with the columns of 'query --from': the id and the fingerprint of the record, and the fingerprint, the \
distance and the id of the match. If the second list is a file, a temporary store is built from it. \
Name the larger list second, or build a store from a list that is joined often.

-s A -s B in place of OTHER searches several stores as one; the store of each match is then printed \
before its id.

With --docs both lists are documents, in files or folders. 'pairs' finds the near pairs within one \
list.";

const AFTER_HELP: &str = "\
Examples:
  fpstore join monday.tsv tuesday.tsv -k 3 > near.tsv
  fpstore join new.tsv.zst pages.fps --format csv -o near.csv
  fpstore join new.tsv.zst -s january.fps -s february.fps > near.tsv
  fpstore join --docs drafts/ corpus.jsonl.zst

Exit status: 0 found; 1 nothing found; 2 error.";

/// Find records of one list that are near records of another
#[derive(Args, Debug)]
#[command(
    long_about = LONG_ABOUT,
    after_help = AFTER_HELP,
    mut_args = in_long_help,
    mut_arg("store", |arg| arg.help("Store to search in place of OTHER; -s A -s B searches both together"))
)]
pub(crate) struct JoinArgs {
    /// The list of queries: a store, or a file; - is standard input
    #[arg(value_name = "LIST")]
    asked: PathBuf,
    /// The searched list: a store, or a file
    #[arg(value_name = "OTHER", required_unless_present = "store", conflicts_with = "store")]
    searched: Option<PathBuf>,
    #[command(flatten)]
    stores: StoresArg,
    /// Distance in bits, inclusive [default: from the searched store or recipe, else 3]
    #[arg(short, long = "distance", value_name = "K", value_parser = distance())]
    k: Option<u32>,
    /// Print at most the N nearest matches of each record, with all their ids
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    #[command(flatten)]
    format: TableArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    documents: DocumentArgs,
    #[command(flatten)]
    resources: ResourceArgs,
    #[command(flatten)]
    quiet: QuietArgs,
}

pub(crate) fn run(args: &JoinArgs) -> anyhow::Result<ExitStatus> {
    let places = match &args.searched {
        Some(searched) => std::slice::from_ref(searched),
        None => args.stores.named(),
    };
    if places.contains(&args.asked) {
        let path = args.asked.display();
        bail!(
            "{path} is given as both lists; to find each near pair of one list once, run: fpstore \
             pairs {path}"
        );
    }
    let documents = args.documents.prepare(&args.read, args.resources.reading()?)?;
    if documents.is_some() && !args.documents.are_given() {
        bail!("--recipe is for documents; add --docs to read them");
    }
    let is_store = |path: &Path| path.is_dir() && !args.documents.are_given();
    let searches_stores = args.searched.as_deref().is_none_or(is_store);
    let out = args.output.open()?;
    let monitor = args.resources.monitor(args.quiet.is_on())?;
    // Both stores are opened before any file is read, so that a wrong path is reported at once.
    let asked = is_store(&args.asked).then(|| Store::open(&args.asked)).transpose()?;
    let stored =
        searches_stores.then(|| Opened::asked(places, AccessArgs::default())).transpose()?;
    let width = asked.as_ref().or(stored.as_ref().map(|opened| &opened.store)).map(Store::width);
    let read = width.map_or(Ok(args.read.clone()), |width| args.read.of_width(width))?;
    let documents = match documents.filter(|_| args.documents.are_given()) {
        Some(documents) if !documents.have_texts() => {
            args.documents.prepare(&read, args.resources.reading()?)?
        }
        documents => documents,
    };
    let searched = match stored {
        Some(stored) => stored,
        None => args.searched(places, documents.as_ref(), &read, &monitor)?,
    };
    if let Some(asked) = &asked {
        check_recipes(asked, &searched.store)?;
    }
    let k = args.k.unwrap_or(searched.default_k);
    let limits = limits_of(args.limit);
    let (layout, quiet) = (args.format.layout(), args.quiet.is_on());
    let (nearest, confirm, labels) = (None, None, false);
    let stores = searched.stores.clone();
    let options = QueryOptions { k, limits, nearest, layout, quiet, confirm, labels, stores };
    let columns = AnswerColumns { has_ids: true, ..options.columns() };
    let out = open_answers(layout, out, columns)?;
    let mut batch = QueryBatch::new(&searched.store, &options, &args.resources, &monitor, out)?;
    match (asked, documents) {
        (Some(asked), _) => asked.for_each(|record| -> anyhow::Result<()> {
            let mut ids = record.ids().peekable();
            if ids.peek().is_none() {
                return batch.push(record.fingerprint(), None, &[]);
            }
            ids.try_for_each(|id| batch.push(record.fingerprint(), Some(&id?.to_string()), &[]))
        })?,
        (None, Some(documents)) => {
            args.documents.report_default();
            batch.push_documents(&inputs(std::slice::from_ref(&args.asked))?, &documents)?;
        }
        (None, None) => {
            let lines = args.documents.lines(&read)?;
            batch.push_file(&args.asked, &lines)?;
        }
    }
    batch.finish()
}

impl JoinArgs {
    /// Builds a temporary store from the searched file.
    fn searched(
        &self,
        files: &[PathBuf],
        documents: Option<&Documents>,
        read: &ReadArgs,
        monitor: &Monitor,
    ) -> anyhow::Result<Opened> {
        let (source, recipe) = match documents {
            Some(documents) => (Source::Documents(documents), documents.source.recipe()),
            None => {
                let recipe = Recipe::external_of(read.width());
                (Source::Records(self.documents.lines(read)?), recipe)
            }
        };
        temporary_store(files, source, recipe, &self.resources, monitor, Ids::AsTheyAre, None)
    }
}

/// Rejects two stores with different recipes, because their fingerprints cannot be compared.
fn check_recipes(asked: &Store, searched: &Store) -> anyhow::Result<()> {
    if let (Some(given), Some(store)) = (asked.recipe(), searched.recipe())
        && given != store
    {
        return Err(fpstore::Error::RecipeMismatch { store, given }.into());
    }
    Ok(())
}
