//! `fpstore simhash`: prints the fingerprints of documents.

use std::io::Write;
use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use fpstore_text::read_texts;
use serde::Serialize;

use super::command::{ExitStatus, Run};
use super::documents::{hash_all, report};
use super::inputs::inputs;
use super::monitor::Monitor;
use super::output::{IdPrinter, stdout};
use super::reading_args::ReadingArgs;
use super::recipe_args::RecipeArgs;

const LONG_ABOUT: &str = "\
Print the fingerprints of documents in their order, one on each line: 16 hex digits, a tab, and \
the id. 'fpstore build' reads these lines; 'fpstore build --docs' does both, keeps the recipe, \
and writes nothing if an input ends with an error, which the second command of a pipe cannot know.

The end of its name says what a FILE holds: .jsonl (JSON Lines), .csv and .tsv with a header, \
.parquet, .html (its main text), anything else one document of plain text; .gz and .zst are \
decompressed. A folder stands for all files in it but hidden ones, with their paths below it as \
ids, and its name in front if there are several. - is standard input, JSON Lines unless \
--docs-format says otherwise.

A document without features, such as an empty one, has no fingerprint; its id is printed on \
standard error.

A recipe says how texts become fingerprints. Only fingerprints of one recipe can be compared. \
--recipe auto, the default, suits texts in any language; -v prints the whole recipe.";

const AFTER_HELP: &str = "\
Examples:
  fpstore simhash articles.jsonl.gz --id-field url --text-field body
  fpstore simhash pages/ --include '*.html' > pages.tsv";

/// Print the fingerprints of documents
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub(super) struct SimhashArgs {
    /// Files and folders; standard input if none or -
    files: Vec<PathBuf>,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    recipe: RecipeArgs,
    /// Print the texts themselves, as JSON Lines with 'id' and 'text'; of a page, the main text
    #[arg(long, hide_short_help = true)]
    show_text: bool,
    /// Count bad records, show the first ten, and go on
    #[arg(long)]
    skip_bad: bool,
    /// Print the recipe on standard error
    #[arg(short, long)]
    verbose: bool,
    /// Print only errors
    #[arg(short, long)]
    quiet: bool,
}

impl Run for SimhashArgs {
    fn run(&self) -> anyhow::Result<ExitStatus> {
        run(self)
    }

    fn can_skip_bad(&self) -> bool {
        true
    }
}

#[derive(Serialize)]
struct Document<'a> {
    id: &'a str,
    text: &'a str,
}

fn show_texts(args: &SimhashArgs) -> anyhow::Result<ExitStatus> {
    if args.recipe.is_given() || args.recipe.first_change().is_some() {
        bail!("--show-text prints texts as they are read; no recipe has a part in that");
    }
    let files = inputs(&args.files)?;
    let monitor = Monitor::on_documents(args.quiet, true)?;
    let options = args.reading.options(args.skip_bad, None)?.observer(monitor.observer());
    let mut out = stdout();
    let summary = read_texts(&files, &options, |id, text| {
        serde_json::to_writer(&mut out, &Document { id: &id.to_string(), text })?;
        Ok::<_, anyhow::Error>(writeln!(out)?)
    })?;
    monitor.finish();
    out.flush()?;
    if !args.quiet {
        report(&summary);
    }
    Ok(ExitStatus::Done)
}

fn run(args: &SimhashArgs) -> anyhow::Result<ExitStatus> {
    if args.show_text {
        return show_texts(args);
    }
    let hasher = args.recipe.hasher(args.reading.holds_features())?;
    let options = args.reading.options(args.skip_bad, None)?;
    let files = inputs(&args.files)?;
    if args.verbose {
        for line in hasher.recipe().to_recipe().text().lines() {
            message!("{line}");
        }
    }
    let printer = IdPrinter::for_stdout();
    let mut out = stdout();
    let monitor = Monitor::on_documents(args.quiet, true)?;
    let summary = hash_all(&files, &hasher, &options, Some(&monitor), |document| {
        if let Some(fingerprint) = document.fingerprint {
            let id = document.id.to_string();
            writeln!(out, "{fingerprint}\t{}", printer.show(&id))?;
        }
        Ok(())
    })?;
    out.flush()?;
    if !args.quiet {
        args.recipe.report_default(args.reading.holds_features() || summary.document_count == 0);
        report(&summary);
    }
    Ok(ExitStatus::Done)
}
