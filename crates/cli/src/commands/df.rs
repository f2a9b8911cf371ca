//! `fpstore df`: makes a table of document frequencies.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use fpstore_documents::count_document_frequencies;
use fpstore_text::{DfBuilder, Factor};

use crate::args::documents::report;
use crate::args::inputs::{SkipBadArgs, inputs};
use crate::args::reading_args::ReadingArgs;
use crate::args::recipe_args::RecipeArgs;
use crate::args::resources::{QuietArgs, ThreadArgs};
use crate::output::sink::Sink;
use crate::output::text::{bytes, counted};
use crate::session::command::ExitStatus;
use crate::session::monitor::Monitor;

const LONG_ABOUT: &str = "\
Count the documents that contain each feature, and write the table to a file. With '--df FILE' \
other commands weight features by log2(1 + documents / documents with the feature), so that rare \
features count more.

The table is valid for the features of one recipe, whose name it contains; weights and --top do not \
matter. Features in fewer than --min-df documents are left out and count as if they occurred in one \
document.

Needs about 20 bytes of memory for each distinct feature.";

const AFTER_HELP: &str = "\
Examples:
  fpstore df articles.jsonl.gz -o articles.df
  fpstore build --docs articles.jsonl.gz --df articles.df -s articles.fps

Exit status: 0 done; 2 error.";

/// Count document frequencies, as weights of features
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub(crate) struct DfArgs {
    /// Files and folders; standard input if none or -
    files: Vec<PathBuf>,
    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Leave out features in fewer than N documents
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    min_df: u32,
    #[command(flatten)]
    bad: SkipBadArgs,
    /// Replace an existing file
    #[arg(short, long)]
    force: bool,
    /// Write a table even if no document was read
    #[arg(long)]
    allow_empty: bool,
    #[command(flatten)]
    threads: ThreadArgs,
    #[command(flatten)]
    quiet: QuietArgs,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    recipe: RecipeArgs,
}

pub(crate) fn run(args: &DfArgs) -> anyhow::Result<ExitStatus> {
    let hasher = args.recipe.hasher(args.reading.holds_features())?;
    if hasher.recipe().votes().is_some_and(|rules| rules.factor != Factor::None) {
        bail!("leave out --df and --weights: a table of frequencies is counted without weights");
    }
    let mut out = Sink::open(&args.output, args.force)?;
    if out.is_compressed() {
        bail!("--df cannot read a compressed table; name the output without .gz or .zst");
    }
    let monitor = Monitor::on_documents(args.quiet.is_on(), false)?;
    let options = args
        .reading
        .options(args.bad.skip_bad, args.threads.reading()?)?
        .observer(monitor.observer());
    let files = inputs(&args.files)?;
    let mut builder = DfBuilder::new(hasher.recipe());
    let summary = count_document_frequencies(&files, &hasher, &options, &mut builder)?;
    monitor.finish();
    let table = builder.finish(args.min_df);
    let path = args.output.display();
    if table.document_count() == 0 && !args.allow_empty {
        bail!("no document was read, so {path} is not written; to write it, use --allow-empty");
    }
    table.write_to(&mut out).with_context(|| format!("cannot write {path}"))?;
    let len = out.len();
    out.finish()?;
    if !args.quiet.is_on() {
        report(&summary);
        message!(
            "{path}: {}, {}, {}",
            counted(table.document_count(), "document", "documents"),
            counted(table.entry_count(), "feature", "features"),
            bytes(len)
        );
    }
    Ok(ExitStatus::Done)
}
