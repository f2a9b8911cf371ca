//! `fpstore clean`: copies a corpus without its near-duplicate documents.

mod args;
mod overview;
mod work;

use std::path::PathBuf;

use anyhow::bail;
use clap::builder::ArgPredicate;
use clap::{Arg, Args};
use fpstore::{Store, WriterOptions};
use fpstore_corpus::{Cleaner, KeepRules, USUAL_SIMILARITY};

use crate::args::documents::DocumentArgs;
use crate::args::inputs::{ReadArgs, inputs, read_labels, refuse_pipes, title_of};
use crate::args::reading_args::in_long_help;
use crate::args::resources::WriteArgs;
use crate::args::segment_args::{LabelArgs, RunArgs, with_add};
use crate::args::with_more;
use crate::output::sink::OutputArgs;
use crate::run::confirm::{self, NearArgs};
use crate::session::command::ExitStatus;
use crate::session::document_reader::{Documents, check_recipe};
use crate::session::monitor::Monitor;
use crate::session::stores::{QueriedStores, StoreNames, StoresArg};
use args::CleaningArgs;

const LONG_ABOUT: &str = "\
Copy a corpus without its near-duplicate documents. Documents are compared with each other, with one \
or more stores (-s), or with both (-s --within). Stored documents are never removed.

Documents are copied byte for byte, in their order, in files of the same format and compression: with \
-o FOLDER each file under its path below the common folder of all inputs, with -o FILE a single file. \
JSON Lines, CSV, TSV, Parquet, lines and web archives can be copied. Where each file is one document, \
the paths of the kept files are listed instead, in FILE or FOLDER/kept-files.txt. Documents without text \
and bad records are kept, except damaged records of web archives.

The same command resumes a stopped job from FOLDER/.fpstore-dedup. --add adds the kept documents to the \
store after all output is written: all of them or none.

--removed FILE receives a line for each removed document: its fingerprint, the fingerprint of the kept \
or nearest stored document, their distance and similarity, both ids, 'new' or 'stored' for the other document, \
the reason (address, bytes, text, near or confirmed), and with several stores the store.";

const AFTER_HELP: &str = "\
Examples:
  fpstore clean corpus/*.jsonl.zst -o clean/ --removed removed.tsv
  fpstore clean today.parquet -s pages.fps --add -o new.parquet

Exit status: 0 done; 2 error.";

const STORE_HELP: &str =
    "Stores to compare with; without them, documents are compared with each other";

const K_MORE: &str = "

With -k and without --confirm, only the fingerprints are compared. This is faster, and wrong more \
often, especially for short texts.";

const CONFIRM_MORE: &str = "

Without a store the similarity is exact, all such documents are found, and -k is not allowed. \
With a store it is estimated from sketches (build --sketch); without -k the distance of candidates is \
chosen so that one in a hundred pairs of similarity S is missed, and fewer pairs of a higher \
similarity. Only fingerprints are compared with -k alone, for ready fingerprints, and with a store \
without sketches. The last lines of the output contain the criterion.";

fn confirm_help() -> String {
    format!("Minimum Jaccard similarity of near-duplicates [default: {USUAL_SIMILARITY}]")
}

/// Makes `--docs` the default of `clean`, except with `--fingerprint-field`.
fn always(arg: Arg) -> Arg {
    arg.hide(true).default_value("true").default_value_if(
        "fingerprint_field",
        ArgPredicate::IsPresent,
        "false",
    )
}

/// Copy a corpus of documents without its near-duplicates
#[derive(Args, Debug)]
#[command(
    long_about = LONG_ABOUT,
    after_help = AFTER_HELP,
    mut_args = in_long_help,
    mut_arg("docs", always),
    mut_arg("input_format", |arg| arg.hide(true)),
    mut_arg("store", |arg| arg.help(STORE_HELP)),
    mut_arg("k", |arg| with_more(arg, K_MORE)),
    mut_arg("confirm", |arg| with_more(arg.help(confirm_help()), CONFIRM_MORE)),
    mut_arg("label", with_add),
    mut_arg("run", with_add)
)]
pub(crate) struct CleanArgs {
    /// Files of documents, folders of such files, or -
    #[arg(value_name = "CORPUS", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    stores: StoresArg,
    /// With -s: also compare the new documents with each other
    #[arg(long)]
    within: bool,
    /// Add the kept documents to the store
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
    /// Write the removed documents to FILE, each with the kept one and their distance
    #[arg(long, value_name = "FILE")]
    removed: Option<PathBuf>,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    documents: DocumentArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    work: WriteArgs,
}

pub(crate) fn run(args: &CleanArgs) -> anyhow::Result<ExitStatus> {
    let monitor = args.work.monitor()?;
    if args.add {
        args.stores.check_one("--add")?;
    }
    let is_against = !args.stores.named().is_empty();
    if args.cleaning.keep != KeepRules::default() && is_against && !args.within {
        bail!("--keep chooses among new documents; add --within to compare them");
    }
    let (stored, stores) = QueriedStores::open_named(&args.stores)?;
    let limits = args.work.resources.reading()?;
    let documents = args.documents.prepare_for(stored.as_ref(), &args.read, limits)?;
    let Some(documents) = documents.filter(Documents::are_given) else {
        bail!(
            "'clean' reads fields by their names; 'fpstore dedup' reads numbered columns of lines"
        );
    };
    let recipe = documents.source.recipe();
    check_recipe(stored.as_ref(), &recipe)?;
    if let Some(threshold) = args.near.confirm {
        documents.check_texts()?;
        if let Some(stored) = &stored {
            confirm::candidate_k(stored, threshold, args.near.k)?;
        }
    }
    let options = WriterOptions::default().label(args.label.label()).recipe(recipe);
    let options = args.work.limit(options.run(args.run.run.clone()), &monitor)?;
    let add = (args.add && !args.cleaning.dry_run).then_some(options);
    work::run(args.settings(documents, (stored, stores), add, &monitor)?, &monitor)
}

impl CleanArgs {
    /// The message after an interruption: what was kept, and whether the same command continues.
    pub(crate) fn after_interruption(&self) -> &'static str {
        match self.cleaning.list || self.cleaning.dry_run {
            true => "nothing was changed",
            false => "the same command continues from here",
        }
    }

    fn settings(
        &self,
        documents: Documents,
        (stored, stores): (Option<Store>, Option<StoreNames>),
        add: Option<WriterOptions>,
        monitor: &Monitor,
    ) -> anyhow::Result<work::Settings> {
        let CleanArgs { cleaning, output: OutputArgs { output, force }, .. } = self;
        let documents_are_passages = documents.source.options().passage_unit().is_some();
        if cleaning.manifest.is_some() {
            refuse_pipes(&self.files, "--manifest")?;
        }
        let mut cleaner = Cleaner {
            replace: *force,
            against: stored.clone(),
            within: self.within,
            add,
            k: self.near.k,
            confirm: self.near.confirm,
            confirm_contains: cleaning.confirm_contains,
            judge: cleaning.judge,
            passages: cleaning.passages,
            pairs: cleaning.pairs.as_deref().map(read_labels).transpose()?,
            url_field: cleaning.url_field.clone(),
            keep: cleaning.keep.clone(),
            source_field: cleaning.source_field.clone(),
            max_loss: cleaning.max_loss,
            target: cleaning.target,
            per_cluster: cleaning.per_cluster.unwrap_or(1),
            cluster_size: cleaning.cluster_size.clone(),
            annotate: cleaning.annotate.clone(),
            skip_space_check: self.work.resources.skip_space_check,
            resources: self.work.resources.given(monitor)?,
            ..Cleaner::new(documents.source, inputs(&self.files)?)
        };
        let copies = !cleaning.list && !cleaning.dry_run;
        if documents_are_passages && copies && cleaning.passages.is_none() {
            bail!(
                "passages are parts of records: add --passages cut, drop:0.5 or annotate for the \
                 treatment of removed passages, or --list to print the kept passages"
            );
        }
        cleaner.output = match output {
            _ if !copies => None,
            Some(output) => Some(output.clone()),
            None => bail!(
                "name the output for the kept documents with -o: a folder, or a file for one file; \
                 --dry-run only prints what would be removed, --list prints fingerprints and ids instead"
            ),
        };
        Ok(work::Settings {
            cleaner,
            list: cleaning.list.then(|| output.clone().unwrap_or_else(|| "-".into())),
            removed: self.removed.clone(),
            losses: cleaning.losses.clone(),
            manifest: cleaning.manifest.clone(),
            html: cleaning.html.clone().map(|path| {
                let title = title_of(&self.files, &path);
                (path, cleaning.html_max, title)
            }),
            force: *force,
            fate: work::Fate::of(cleaning, documents_are_passages),
            adds: self.add && !cleaning.dry_run,
            is_dry: cleaning.dry_run,
            stored,
            stores,
            run: self.run.run.clone(),
            quiet: self.work.is_quiet(),
        })
    }
}
