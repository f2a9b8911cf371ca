//! `fpstore dedup`: keeps one of near-duplicates, and removes the others.

mod cleaning_args;
mod corpus;
mod overview;
mod records;
mod removed;
mod stream;

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::{Arg, Args};
use fpstore::input::InputOptions;
use fpstore::writer::CheckedWriter;
use fpstore::{Error, Recipe, Store, WriterOptions};
use fpstore_corpus::{Cleaner, DocumentSource, KeepRules, USUAL_SIMILARITY};

use crate::args::documents::DocumentArgs;
use crate::args::help::{help_of, with_more};
use crate::args::inputs::{ReadArgs, inputs, refuse_pipes, title_of};
use crate::args::reading_args::in_long_help;
use crate::args::resources::WriteArgs;
use crate::args::segment_args::{LabelArgs, RunArgs};
use crate::output::sink::OutputArgs;
use crate::run::confirm::{self, NearArgs};
use crate::run::labels::read_labels;
use crate::run::stream::BatchArgs;
use crate::session::command::{AccessArgs, ExitStatus};
use crate::session::document_reader::Documents;
use crate::session::monitor::Monitor;
use crate::session::stores::{Asked, StoreNames, StoresArg};
use cleaning_args::CleaningArgs;

const LONG_ABOUT: &str = "\
Keep one of near-duplicates and remove the others: among the new records, or with -s those near one \
of a store or of several, or with -s and --within both. Stored records are never removed.

Records come out as they went in: lines in their order, and with --docs the documents byte for byte, \
with -o FOLDER in files of the same names, formats and compressions. 'fpstore help clean' tells what \
can be copied, how work that was stopped goes on, and what --removed lists.

--add adds the kept records to the store, all of them after the output is written, or none. With \
--add and - as NEW, each record of standard input is answered at once; see 'fpstore help streams'.";

const AFTER_HELP: &str = "\
Examples:
  fpstore dedup --docs corpus/*.jsonl.zst -o clean/ --removed removed.tsv
  fpstore dedup --docs today.parquet -s pages.fps --add -o new.parquet
  fpstore dedup corpus.tsv | zstd > unique.tsv.zst
  fpstore dedup -s books.fps -s news.fps new.tsv.zst -o kept.tsv --removed removed.tsv
  crawler | fpstore dedup -s pages.fps --add -

Exit status: 0 done; 2 error.";

const STORE_HELP: &str = "The store to compare with, or several; without it, new records are compared with one \
                          another";

const K_MORE: &str = "

With --docs the fingerprints then decide alone, unless --confirm is given, too: faster, and wrong \
more often, above all on short texts.";

const CONFIRM_MORE: &str = "

It is exact among new documents, and estimated from the sketches of a store. Without -k the distance \
is chosen so that of pairs of similarity S one in a hundred is missed, and fewer of others. \
Fingerprints decide alone with -k, and where nothing else can be compared: for ready fingerprints, \
pipes, and with a store without sketches. The end of the work says what decided.";

fn confirm_help() -> String {
    format!(
        "The Jaccard similarity of the features of near documents [default: {USUAL_SIMILARITY}]"
    )
}

/// Keep one of near-duplicates: clean a corpus, or leave out what a store has
#[derive(Args, Debug)]
#[command(
    long_about = LONG_ABOUT,
    after_help = AFTER_HELP,
    mut_args = in_long_help,
    mut_arg("store", |arg| arg.help(STORE_HELP)),
    mut_arg("k", |arg| with_more(arg, K_MORE)),
    mut_arg("confirm", |arg| with_more(arg.help(confirm_help()), CONFIRM_MORE)),
    mut_arg("label", with_add),
    mut_arg("run", with_add)
)]
pub(crate) struct DedupArgs {
    /// Files of new records, as 'build' reads them, or -; with --docs also folders
    #[arg(value_name = "NEW", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    stores: StoresArg,
    /// With -s: also compare the new records with one another
    #[arg(long)]
    within: bool,
    /// Add the kept records to the store; with - each record is answered at once
    #[arg(long, requires = "store")]
    add: bool,
    #[command(flatten)]
    label: LabelArgs,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    near: NearArgs,
    #[command(flatten)]
    cleaning: CleaningArgs,
    /// Write to FILE what was removed, what is there instead, and how near they are
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

/// An option that has a meaning with --add alone.
fn with_add(arg: Arg) -> Arg {
    let help = help_of(&arg);
    let help = format!("With --add: {}{}", help[..1].to_lowercase(), &help[1..]);
    arg.requires("add").hide_short_help(true).help(help)
}

impl DedupArgs {
    /// Whether new records are compared with one another.
    fn is_within(&self) -> bool {
        self.within || self.stores.named().is_empty()
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
        if self.add {
            self.stores.check_one("--add")?;
        }
        if is_stream && self.run.run.is_some() {
            bail!("--add with - adds at once what comes, and has no --run to be repeated");
        }
        if is_stream && self.near.confirm.is_some() {
            bail!("--add with - answers by distance; leave out --confirm");
        }
        let keep = &self.cleaning.keep;
        if is_stream && *keep != KeepRules::default() {
            bail!(
                "--add with - answers each record at once, so it keeps the first; leave out --keep"
            );
        }
        if !self.documents.are_given() {
            self.cleaning.check_unused()?;
        }
        if *keep != KeepRules::default() && !self.is_within() {
            bail!("--keep chooses among new records; add --within to compare them");
        }
        Ok(())
    }
}

impl DedupArgs {
    /// What an interruption has left of the work.
    pub(crate) fn after_interruption(&self) -> &'static str {
        match self.documents.are_given() && !self.cleaning.list && !self.cleaning.dry_run {
            true => "the same command goes on from here",
            false => "nothing was changed",
        }
    }
}

pub(crate) fn run(args: &DedupArgs) -> anyhow::Result<ExitStatus> {
    let monitor = args.work.monitor()?;
    match Plan::of(args, &monitor)? {
        Plan::Stream(settings) => {
            let StreamSettings { writer, k, lines, documents } = *settings;
            let input = (&lines, documents);
            stream::run(writer, k, &args.batch, input, &monitor, args.work.is_quiet())
        }
        Plan::Corpus(settings) => corpus::run(*settings, &monitor),
        Plan::Records(settings) => records::run(*settings, &monitor),
    }
}

/// What is to be done, by the kind of the input.
enum Plan<'a> {
    /// Each record of standard input is answered as it comes.
    Stream(Box<StreamSettings>),
    /// Files of documents.
    Corpus(Box<corpus::Settings>),
    /// Files of fingerprints.
    Records(Box<records::Settings<'a>>),
}

/// How the records of standard input are compared and added.
struct StreamSettings {
    writer: CheckedWriter,
    k: u32,
    lines: InputOptions,
    documents: Option<Documents>,
}

impl<'a> Plan<'a> {
    fn of(args: &'a DedupArgs, monitor: &Monitor) -> anyhow::Result<Self> {
        let is_stream = args.add && args.files.iter().any(|file| file == Path::new("-"));
        args.check(is_stream)?;
        let named = args.stores.named();
        let asked =
            (!named.is_empty()).then(|| Asked::open(named, &AccessArgs::default().open_options()));
        let asked = asked.transpose()?;
        let (stored, stores) = asked.map_or((None, None), |it| (Some(it.store), it.names));
        let limits = args.work.resources.reading()?;
        let read = args.read_beside(stored.as_ref())?;
        let documents = match &stored {
            Some(stored) => args.documents.prepare_for(stored, &args.read, limits)?,
            None => args.documents.prepare(&args.read, limits)?,
        };
        if named.is_empty() && documents.is_some() && !args.documents.are_given() {
            bail!("--recipe is for documents, or for fingerprints that are compared with a store");
        }
        let source = documents.as_ref().map(|documents| &documents.source);
        let usual_k = source.map_or(read.width().usual_k(), DocumentSource::usual_k);
        let k = args.near.k.unwrap_or_else(|| stored.as_ref().map_or(usual_k, Store::tuned_k));
        let recipe = source.map_or(Recipe::external_of(read.width()), DocumentSource::recipe);
        check_recipe(stored.as_ref(), &recipe)?;
        let documents = documents.filter(Documents::are_given);
        if let (Some(threshold), Some(documents)) = (args.near.confirm, &documents) {
            documents.check_texts()?;
            if let Some(stored) = &stored {
                confirm::candidate_k(stored, threshold, args.near.k)?;
            }
        }
        if args.near.confirm.is_some() && documents.is_none() {
            bail!("--confirm compares documents; add --docs and name their files");
        }
        let options = WriterOptions::default().label(args.label.label()).recipe(recipe.clone());
        let options = args.work.limit(options.run(args.run.run.clone()), monitor)?;
        let store = named.first().filter(|_| args.add);
        if let (true, Some(path)) = (is_stream, store) {
            let writer = CheckedWriter::new(path, options);
            let lines = args.documents.lines(&read)?;
            return Ok(Plan::Stream(StreamSettings { writer, k, lines, documents }.into()));
        }
        if let Some(documents) = documents {
            let add = store.filter(|_| !args.cleaning.dry_run).map(|_| options);
            return Ok(Plan::Corpus(args.corpus(documents, (stored, stores), add)?.into()));
        }
        Ok(Plan::Records(Box::new(records::Settings {
            files: &args.files,
            read: args.documents.lines(&read)?,
            recipe,
            stored,
            stores,
            within: args.is_within(),
            keeps_last: args.cleaning.keep.is_last(),
            k,
            output: &args.output,
            removed: args.removed.as_deref(),
            add: store.map(|path| (path.as_path(), options)),
            run: args.run.run.as_deref(),
            resources: &args.work.resources,
            quiet: args.work.is_quiet(),
        })))
    }
}

impl DedupArgs {
    /// How files of fingerprints are read: in the width of the store, if there is one.
    fn read_beside(&self, stored: Option<&Store>) -> anyhow::Result<ReadArgs> {
        match stored {
            Some(stored) if !self.documents.are_given() => self.read.of_width(stored.width()),
            _ => Ok(self.read.clone()),
        }
    }

    /// How documents are cleaned.
    fn corpus(
        &self,
        documents: Documents,
        (stored, stores): (Option<Store>, Option<StoreNames>),
        add: Option<WriterOptions>,
    ) -> anyhow::Result<corpus::Settings> {
        let OutputArgs { output, force } = &self.output;
        let documents_are_passages = documents.source.options().passage_unit().is_some();
        if self.cleaning.manifest.is_some() {
            refuse_pipes(&self.files, "--manifest")?;
        }
        let cleaner = Cleaner::new(documents.source, inputs(&self.files)?)
            .replace(*force)
            .against(stored.clone())
            .within(self.within)
            .add(add)
            .k(self.near.k)
            .confirm(self.near.confirm)
            .confirm_contains(self.cleaning.confirm_contains)
            .judge(self.cleaning.judge)
            .passages(self.cleaning.passages)
            .pairs(self.cleaning.pairs.as_deref().map(read_labels).transpose()?)
            .url_field(self.cleaning.url_field.clone())
            .keep(self.cleaning.keep.clone())
            .source_field(self.cleaning.source_field.clone())
            .max_loss(self.cleaning.max_loss)
            .target(self.cleaning.target)
            .per_cluster(self.cleaning.per_cluster.unwrap_or(1))
            .cluster_size(self.cleaning.cluster_size.clone())
            .annotate(self.cleaning.annotate.clone())
            .skip_space_check(self.work.resources.skip_space_check)
            .memory(self.work.resources.memory.map(|memory| memory.as_u64()))
            .threads(self.work.resources.threads()?)
            .temp_dir(self.work.resources.temp_dir.clone());
        let copies = !self.cleaning.list && !self.cleaning.dry_run;
        if documents_are_passages && copies && self.cleaning.passages.is_none() {
            bail!(
                "passages are parts of records: add --passages cut, drop:0.5 or annotate to say what \
                 becomes of those that are removed, or --list to print the kept ones"
            );
        }
        let cleaner = match output {
            _ if !copies => cleaner,
            Some(output) => cleaner.output(output),
            None => bail!(
                "say with -o where the documents that are kept go: a folder, or a file for one \
                 file; --dry-run only tells what would go, --list prints their fingerprints and ids instead"
            ),
        };
        Ok(corpus::Settings {
            cleaner,
            list: self.cleaning.list.then(|| output.clone().unwrap_or_else(|| "-".into())),
            removed: self.removed.clone(),
            losses: self.cleaning.losses.clone(),
            manifest: self.cleaning.manifest.clone(),
            html: self.cleaning.html.clone().map(|path| {
                let title = title_of(&self.files, &path);
                (path, self.cleaning.html_max, title)
            }),
            force: *force,
            fate: corpus::Fate::of(&self.cleaning, documents_are_passages),
            adds: self.add && !self.cleaning.dry_run,
            is_dry: self.cleaning.dry_run,
            stored,
            stores,
            run: self.run.run.clone(),
            quiet: self.work.is_quiet(),
        })
    }
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
