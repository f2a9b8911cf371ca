//! `fpstore simhash`: documents in, fingerprints out.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::Verdict;
use super::documents::{ReadingArgs, files_or_stdin, hash_all, report};
use super::effort::Work;
use super::output::{IdPrinter, stdout};
use super::recipe_args::RecipeArgs;

const LONG_ABOUT: &str = "\
Print the fingerprints of documents, one a line: 16 hex digits, a tab, and the id, in the order of the \
documents. That is input for 'fpstore build -'; 'fpstore build --docs' does both and keeps the recipe.

A FILE holds documents by the end of its name: .jsonl (JSON Lines), .csv and .tsv with a header, \
.parquet, .html (its main text), anything else one document of plain text; .gz and .zst are \
decompressed. A folder stands for all files in it, with their paths below it as ids. - is standard \
input, JSON Lines unless --docs-format says otherwise.

A document without features, such as an empty one, has no fingerprint; it is named on standard error.

A recipe says how texts become fingerprints. Only those of one recipe can be compared. --recipe auto, the default, \
suits texts in any language; -v prints the recipe in full.";

const AFTER_HELP: &str = "\
Examples:
  fpstore simhash articles.jsonl.gz --id-field url --text-field body
  fpstore simhash pages/ | fpstore build - -s pages.fps --recipe auto";

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
    /// Count bad records, show the first ten, and go on
    #[arg(long)]
    skip_bad: bool,
    /// Print the recipe on standard error
    #[arg(short, long)]
    verbose: bool,
    /// Say nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

pub(super) fn run(args: &SimhashArgs) -> anyhow::Result<Verdict> {
    let hasher = args.recipe.hasher(args.reading.holds_features())?;
    let options = args.reading.options(args.skip_bad)?;
    let files = files_or_stdin(&args.files, "simhash")?;
    if args.verbose {
        for line in hasher.recipe().to_recipe().text().lines() {
            say!("fpstore: {line}");
        }
    }
    let printer = IdPrinter::for_stdout();
    let mut out = stdout();
    let work = Work::on_documents(args.quiet, true)?;
    let summary = hash_all(&files, &hasher, &options, Some(&work), |document| {
        if let Some(fingerprint) = document.fingerprint {
            let id = document.id.to_string();
            writeln!(out, "{fingerprint}\t{}", printer.show(&id))?;
        }
        Ok(())
    })?;
    out.flush()?;
    if !args.quiet {
        args.recipe.tell(args.reading.holds_features() || summary.document_count == 0);
        report(&summary);
    }
    Ok(Verdict::Yes)
}
