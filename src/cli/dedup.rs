//! `fpstore dedup`: keeps one of near-duplicates, and removes the others.

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use fpstore::{Error, Recipe, Store, Writer, WriterOptions};

use super::add::is_known_run;
use super::clean::{self, KeepRule};
use super::command::{ExitStatus, Run, open_map};
use super::confirm::{self, ConfirmArgs};
use super::dedup_records::Destinations;
use super::document_reader::{Documents, UNKNOWN_K};
use super::documents::DocumentArgs;
use super::inputs::ReadArgs;
use super::reading_args::in_long_help;
use super::resources::ResourceArgs;
use super::sink::{OutputArgs, Sink};
use super::stream::BatchArgs;
use super::turns::Turns;
use super::wait::WaitArgs;
use super::{dedup_records, dedup_stream};

const LONG_ABOUT: &str = "\
Keep one of near-duplicates and remove the others: among the new records, or with -s those \
that are near a stored one, or with -s and --within both. Stored records are never removed.

Records come out as they went in. Lines of fingerprints and ids are printed in their order. With \
--docs, documents are copied byte for byte, in their order, in files of the same format and \
compression: with -o FOLDER each file under its path below the folder that all inputs share, with \
-o FILE the one file. Where each file is a document, the paths of those that are kept are listed, in \
FOLDER/kept-files.txt. JSON Lines, CSV, TSV, Parquet and lines can be copied. With --annotate NAME \
nothing is removed: each document gets a field NAME, which holds the id of the document that it \
duplicates, or null. Documents without text and records that are bad stay, too.

--docs takes the recipe of the store with -s. With --confirm S, documents are near only if the \
Jaccard similarity of their features is S or more; the candidates are read again, and compared \
exactly. With -s it is estimated from the sketches that the store keeps (build --sketch).

Work with -o that was stopped, by a signal or a crash, goes on with the same command: what is done \
is kept in FOLDER/.fpstore-dedup until all is done.

--removed FILE receives a line for each removed record: its fingerprint, that of the record that is \
kept or stored, their distance, their similarity (with --confirm), the ids of both, and 'new' or \
'stored' for the other one. Of several stored ones it is the nearest.

--add adds the kept records to the store, all of them after the output is written, or none. With \
--add and - as NEW, each record of standard input is answered at once, and later records are \
also compared with earlier ones. The answer is 'new', fingerprint and id for a record that is \
added; or 'near', fingerprint, id, stored fingerprint, distance and first stored id for one that \
is not; or with --docs 'empty', nothing and id for a document without features; or 'bad', nothing and \
what is wrong with a line, after which it goes on, and without --skip-bad the status is 2 in the \
end. Records are committed --batch-count at a time or every --batch-seconds; after a crash up \
to that many may be answered 'new' again. With --batch-count 1 each record is durable before it \
is answered. Other commands can write to the store between two batches; while they do, the stream \
waits, and then compares with their records, too. If nobody reads the answers any more, the records \
that were answered are added, and the status is 2.

Needs about 33 bytes of memory for each new record besides the join, with --confirm 110.";

const AFTER_HELP: &str = "\
Examples:
  fpstore dedup --docs corpus/*.jsonl.zst --confirm 0.8 -o clean/ --removed removed.tsv
  fpstore dedup --docs today.parquet -s pages.fps --add -o new.parquet
  fpstore dedup corpus.tsv | zstd > unique.tsv.zst
  fpstore dedup -s pages.fps new.tsv.zst -o kept.tsv --removed removed.tsv
  crawler | fpstore dedup -s pages.fps --add -

Exit status: 0 done; 2 error.";

/// Keep one of near-duplicates: clean a corpus, or leave out what a store has
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP, mut_args = in_long_help)]
pub(super) struct DedupArgs {
    /// Files of new records, as 'build' reads them, or -; with --docs also folders
    #[arg(value_name = "NEW", required = true)]
    pub(super) files: Vec<PathBuf>,
    /// The store to compare with; without it, new records are compared with one another
    #[arg(short, long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// With -s: also compare the new records with one another
    #[arg(long)]
    within: bool,
    /// Add the kept records to the store; with - each record is answered at once
    #[arg(long, requires = "store")]
    pub(super) add: bool,
    /// With --add: the label of the new segment
    #[arg(
        long,
        value_name = "LABEL",
        default_value = "",
        hide_default_value = true,
        hide_short_help = true,
        requires = "add"
    )]
    pub(super) label: String,
    /// With --add: remember NAME in the store; if it is there already, do nothing
    #[arg(long, value_name = "NAME", requires = "add", hide_short_help = true)]
    pub(super) run: Option<String>,
    /// The distance in bits, inclusive [default: the one the store was built for, else 3]
    #[arg(short, value_parser = clap::value_parser!(u32).range(0..=64))]
    pub(super) k: Option<u32>,
    #[command(flatten)]
    pub(super) confirm: ConfirmArgs,
    /// Of near records keep the first, last, longest, newest:FIELD or best:FIELD
    ///
    /// The field holds a date (newest) or a number (best); documents without it come last. Of equal
    /// ones the first is kept. longest, newest and best are for documents.
    #[arg(long, value_name = "RULE", default_value = "first")]
    pub(super) keep: KeepRule,
    /// Write to FILE what was removed, what is there instead, and how near they are
    #[arg(long, value_name = "FILE")]
    pub(super) removed: Option<PathBuf>,
    /// Keep all documents, and add a field NAME with the id of the one that each duplicates
    #[arg(long, value_name = "NAME")]
    pub(super) annotate: Option<String>,
    /// With --docs: print fingerprint and id of each kept document instead of copying it
    #[arg(long, conflicts_with = "annotate")]
    pub(super) list: bool,
    #[command(flatten)]
    batch: BatchArgs,
    #[command(flatten)]
    pub(super) read: ReadArgs,
    #[command(flatten)]
    documents: DocumentArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
    #[command(flatten)]
    wait: WaitArgs,
    #[command(flatten)]
    pub(super) resources: ResourceArgs,
    /// Print only errors
    #[arg(short, long)]
    pub(super) quiet: bool,
}

impl DedupArgs {
    /// Whether new records are compared with one another.
    pub(super) fn is_within(&self) -> bool {
        self.within || self.store.is_none()
    }

    /// Whether bad records are skipped.
    pub(super) fn skip_bad(&self) -> bool {
        self.read.skip_bad
    }

    /// Whether the last of near records is kept.
    pub(super) fn keeps_last(&self) -> bool {
        self.keep == KeepRule::Last
    }

    /// Refuses options that would have no effect.
    fn check(&self, is_stream: bool) -> anyhow::Result<()> {
        if is_stream
            && (self.files.len() > 1 || self.removed.is_some() || self.output.output.is_some())
        {
            bail!(
                "--add with - reads only standard input and prints the answers; leave out files, \
                 -o and --removed"
            );
        }
        if is_stream && self.run.is_some() {
            bail!("--add with - adds at once what comes, and has no --run to be repeated");
        }
        if is_stream && self.confirm.confirm.is_some() {
            bail!("--add with - answers by distance; leave out --confirm");
        }
        if is_stream && self.keep != KeepRule::First {
            bail!(
                "--add with - answers each record at once, so it keeps the first; leave out --keep"
            );
        }
        let of_documents = [(self.annotate.is_some(), "--annotate"), (self.list, "--list")];
        if let (Some((_, option)), false) =
            (of_documents.iter().find(|(given, _)| *given), self.documents.are_given())
        {
            bail!("{option} is for documents; add --docs or --fingerprint-field to read them");
        }
        if self.keep.needs_documents() && !self.documents.are_given() {
            bail!("--keep {} is for documents; add --docs to read them", self.keep);
        }
        if self.keep != KeepRule::First && !self.is_within() {
            bail!("--keep chooses among new records; add --within to compare them");
        }
        if self.removed.is_some() && self.removed == self.output.output {
            bail!("--removed and --output name the same file");
        }
        Ok(())
    }
}

impl Run for DedupArgs {
    fn run(&self) -> anyhow::Result<ExitStatus> {
        run(self)
    }

    fn takes_recipe(&self) -> bool {
        true
    }

    fn can_skip_bad(&self) -> bool {
        true
    }

    fn after_interruption(&self) -> &'static str {
        match self.documents.are_given() && !self.list {
            true => "the same command goes on from here",
            false => "nothing was changed",
        }
    }
}

fn run(args: &DedupArgs) -> anyhow::Result<ExitStatus> {
    let is_stream = args.add && args.files.iter().any(|file| file == Path::new("-"));
    args.check(is_stream)?;
    let mut stored = args.store.as_deref().map(open_map).transpose()?;
    let limits = args.resources.reading()?;
    let documents = match &stored {
        Some(stored) => args.documents.prepare_for(stored, &args.read, limits)?,
        None => args.documents.prepare(&args.read, limits)?,
    };
    if args.store.is_none() && documents.is_some() && !args.documents.are_given() {
        bail!("--recipe is for documents, or for fingerprints that are compared with a store");
    }
    let usual_k = documents.as_ref().map_or(UNKNOWN_K, Documents::usual_k);
    let k = args.k.unwrap_or_else(|| stored.as_ref().map_or(usual_k, Store::tuned_k));
    let recipe = documents.as_ref().map_or(Recipe::external(), Documents::recipe);
    check_recipe(stored.as_ref(), &recipe)?;
    let documents = documents.filter(Documents::are_given);
    if let (Some(_), Some(documents)) = (args.confirm.confirm, &documents) {
        documents.check_texts()?;
    }
    match (args.confirm.confirm, &documents, &stored) {
        (Some(_), None, _) => {
            bail!("--confirm compares documents; add --docs and name their files")
        }
        // Before any work is done.
        (Some(threshold), Some(_), Some(stored)) => {
            confirm::candidate_k(stored, threshold, args.k)?;
        }
        _ => {}
    }
    let monitor = args.resources.monitor(args.quiet)?;
    let options = WriterOptions::default().label(&args.label).recipe(recipe.clone());
    let options = options.wait(args.wait.duration()).run(args.run.clone());
    let options = args.resources.limit(options, &monitor)?;
    if let (true, Some(path)) = (is_stream, &args.store) {
        drop(stored);
        let turns = Turns::new(path, options);
        let input = (&args.read, documents);
        return dedup_stream::run(turns, k, &args.batch, input, &monitor, args.quiet);
    }
    if let Some(documents) = documents {
        let lock = |run: &str| {
            let options = options.clone().run(run.to_string());
            let path = args.store.as_ref().filter(|_| args.add);
            path.map(|path| Writer::with_options(path, options)).transpose()
        };
        // Sketches take time, and are of use only to be compared with stored ones or kept.
        let has_use = args.add || args.confirm.confirm.is_some() && stored.is_some();
        let documents = if has_use { documents } else { documents.sketched(0) };
        let inputs = clean::Inputs { documents: &documents, stored: stored.as_ref(), k };
        return clean::run(args, inputs, &lock, &monitor);
    }
    if stored.as_ref().is_some_and(|stored| is_known_run(stored, args.run.as_deref(), args.quiet)) {
        return Ok(ExitStatus::Done);
    }
    let out = args.output.open()?;
    let removed = args.removed.as_deref().map(|path| Sink::open(path, args.output.force));
    let removed = removed.transpose()?;
    // The lock is taken before the store is read, so that no other process adds the same records.
    let writer = match args.store.as_ref().filter(|_| args.add) {
        Some(path) => {
            let writer = Writer::with_options(path, options)?;
            stored = Some(writer.store().clone());
            Some(writer)
        }
        None => None,
    };
    let to = Destinations { out, removed, writer };
    dedup_records::run(args, recipe, stored, k, to, &monitor)
}

/// Refuses fingerprints of another recipe before any work is done.
fn check_recipe(stored: Option<&Store>, given: &Recipe) -> Result<(), Error> {
    match stored.and_then(Store::recipe) {
        Some(store) if store != *given => {
            Err(Error::RecipeMismatch { store, given: given.clone() })
        }
        _ => Ok(()),
    }
}
