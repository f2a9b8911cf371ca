//! `fpstore dedup`: removes near-duplicates from lists and streams of fingerprints.

mod records;
mod stream;

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::{Args, ValueEnum};
use fpstore::writer::CheckedWriter;
use fpstore::{Recipe, Store, WriterOptions};
use fpstore_corpus::DocumentSource;

use crate::args::documents::DocumentArgs;
use crate::args::inputs::ReadArgs;
use crate::args::reading_args::in_long_help;
use crate::args::resources::WriteArgs;
use crate::args::segment_args::{LabelArgs, RunArgs, with_add};
use crate::output::sink::OutputArgs;
use crate::run::stream::BatchArgs;
use crate::session::choice::distance;
use crate::session::command::ExitStatus;
use crate::session::document_reader::{Documents, check_recipe};
use crate::session::stores::{QueriedStores, StoresArg};

const LONG_ABOUT: &str = "\
Remove near-duplicates from lists of fingerprints: among the new records, with -s the records near a \
record of one or more stores, or with -s and --within both. Stored records are never removed. The kept \
records are printed in their order. 'fpstore clean' does the same for files of documents.

--add adds the kept records to the store after all output is written: all of them or none. With --add \
and - as NEW, each record of standard input is answered at once, with --docs each document; see \
'fpstore help streams'.

--removed FILE receives a line for each removed record: its fingerprint, the fingerprint of the kept or \
stored record, their distance, an empty similarity, both ids, 'new' or 'stored' for the other record, \
and the reason 'near'. If several stored records are near, the line has the nearest one. With -s A -s B, \
the line ends with the store of the stored record.";

const AFTER_HELP: &str = "\
Examples:
  fpstore dedup records.tsv | zstd > unique.tsv.zst
  fpstore dedup -s books.fps -s news.fps new.tsv.zst -o kept.tsv --removed removed.tsv
  crawler | fpstore dedup -s pages.fps --add -

Exit status: 0 done; 2 error.";

const STORE_HELP: &str =
    "Stores to compare with; without them, new records are compared with each other";

/// Remove near-duplicates from a list or a stream of fingerprints
#[derive(Args, Debug)]
#[command(
    long_about = LONG_ABOUT,
    after_help = AFTER_HELP,
    mut_args = in_long_help,
    mut_arg("store", |arg| arg.help(STORE_HELP)),
    mut_arg("docs", |arg| arg.help("With --add -: standard input is documents")),
    mut_arg("label", with_add),
    mut_arg("run", with_add)
)]
pub(crate) struct DedupArgs {
    /// Files of new records, as 'build' reads them, or -
    #[arg(value_name = "NEW", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    stores: StoresArg,
    /// With -s: also compare the new records with each other
    #[arg(long)]
    within: bool,
    /// Add the kept records to the store; records of standard input (-) are answered one by one
    #[arg(long, requires = "store")]
    add: bool,
    #[command(flatten)]
    label: LabelArgs,
    #[command(flatten)]
    run: RunArgs,
    /// Distance in bits, inclusive [default: from the store or recipe, else 3]
    #[arg(short, long = "distance", value_name = "K", value_parser = distance())]
    k: Option<u32>,
    /// Record to keep among near-duplicate new records
    #[arg(long, value_name = "RULE", default_value = "first")]
    keep: Keep,
    /// Write the removed records to FILE, each with the kept record and their distance
    #[arg(long, value_name = "FILE")]
    removed: Option<PathBuf>,
    #[command(flatten)]
    batch: BatchArgs,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    documents: DocumentArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    work: WriteArgs,
}

/// Which of several near-duplicate records is kept: the first or the last of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Keep {
    First,
    Last,
}

impl DedupArgs {
    /// Whether the records of standard input are answered one by one.
    fn is_stream(&self) -> bool {
        self.add && self.files.iter().any(|file| file == Path::new("-"))
    }

    /// Whether new records are compared with each other.
    fn is_within(&self) -> bool {
        self.within || self.stores.named().is_empty()
    }

    /// Rejects options without effect.
    fn check(&self) -> anyhow::Result<()> {
        if self.add {
            self.stores.check_one("--add")?;
        }
        if self.keep != Keep::First && !self.is_within() {
            bail!("--keep chooses among new records; add --within to compare them");
        }
        if !self.is_stream() {
            return match self.documents.are_given() {
                true => {
                    bail!("'fpstore clean' reads files of documents; it takes the same options")
                }
                false => Ok(()),
            };
        }
        if self.files.len() > 1 || self.removed.is_some() || self.output.output.is_some() {
            bail!(
                "--add with - reads only standard input and prints the answers; leave out files, \
                 -o and --removed"
            );
        }
        if self.run.run.is_some() {
            bail!("--add with - adds each record at once, so it cannot be repeated with --run");
        }
        if self.keep != Keep::First {
            bail!(
                "--add with - answers each record at once, so it keeps the first; leave out --keep"
            );
        }
        Ok(())
    }

    /// The options for reading fingerprints of the width of `stored`, if a store is given.
    fn read_beside(&self, stored: Option<&Store>) -> anyhow::Result<ReadArgs> {
        match stored {
            Some(stored) if !self.documents.are_given() => self.read.of_width(stored.width()),
            _ => Ok(self.read.clone()),
        }
    }
}

pub(crate) fn run(args: &DedupArgs) -> anyhow::Result<ExitStatus> {
    let monitor = args.work.monitor()?;
    args.check()?;
    let (stored, stores) = QueriedStores::open_named(&args.stores)?;
    let limits = args.work.resources.reading()?;
    let read = args.read_beside(stored.as_ref())?;
    let documents = args.documents.prepare_for(stored.as_ref(), &args.read, limits)?;
    if stored.is_none() && documents.is_some() {
        bail!("--recipe is for documents, or for fingerprints that are compared with a store");
    }
    let source = documents.as_ref().map(|documents| &documents.source);
    let usual_k = source.map_or(read.width().usual_k(), DocumentSource::usual_k);
    let k = args.k.unwrap_or_else(|| stored.as_ref().map_or(usual_k, Store::tuned_k));
    let recipe = source.map_or(Recipe::external_of(read.width()), DocumentSource::recipe);
    check_recipe(stored.as_ref(), &recipe)?;
    let options = WriterOptions::default().label(args.label.label()).recipe(recipe.clone());
    let options = args.work.limit(options.run(args.run.run.clone()), &monitor)?;
    let lines = args.documents.lines(&read)?;
    let store = args.stores.named().first().filter(|_| args.add);
    if let (true, Some(path)) = (args.is_stream(), store) {
        let writer = CheckedWriter::new(path, options);
        let input = (&lines, documents.filter(Documents::are_given));
        let stored = (k, recipe.width());
        return stream::run(writer, stored, &args.batch, input, &monitor, args.work.is_quiet());
    }
    let settings = records::Settings {
        files: &args.files,
        read: lines,
        recipe,
        stored,
        stores,
        within: args.is_within(),
        keeps_last: args.keep == Keep::Last,
        k,
        output: &args.output,
        removed: args.removed.as_deref(),
        add: store.map(|path| (path.as_path(), options)),
        run: args.run.run.as_deref(),
        resources: &args.work.resources,
        quiet: args.work.is_quiet(),
    };
    records::run(settings, &monitor)
}
