//! `fpstore fingerprint` and `fpstore simhash`: print the fingerprints of documents.

use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::bail;
use clap::Args;
use fpstore_text::{BadRecords, TextHasher, read_texts};
use serde::Serialize;

use super::command::{ExitStatus, Run};
use super::documents::{hash_all, report};
use super::inputs::inputs;
use super::monitor::Monitor;
use super::output::{IdPrinter, RowFormat, counted};
use super::reading_args::ReadingArgs;
use super::recipe_args::{DefaultRecipe, RecipeArgs};
use super::resources::ThreadArgs;
use super::sink::{OutputArgs, Sink};
use super::stream::write_bad;

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

Each line of a pipe is answered as it comes. A program that waits for the answers should take \
--format json, which has exactly one line for each document: its id and fingerprint, null if it has \
none; or for a bad record its 'place' and the 'error', after which it goes on, and without --skip-bad \
the status is 2 in the end.

A recipe says how texts become fingerprints. Only fingerprints of one recipe can be compared. \
--recipe minhash, the default, suits texts in any language and finds most duplicates; --recipe \
simhash gives the SimHash of Manku et al. -v prints the whole recipe.";

const ABOUT_SIMHASH: &str = "\
The same as 'fpstore fingerprint --recipe simhash': print the SimHash fingerprints of documents. \
--recipe names another recipe of SimHash, such as 1e0ng. Other commands that read documents take \
the recipe minhash unless --recipe simhash is given there, too.";

const AFTER_HELP: &str = "\
Examples:
  fpstore fingerprint articles.jsonl.gz --id-field url --text-field body
  fpstore fingerprint pages/ --include '*.html' > pages.tsv

Exit status: 0 done; 2 error.";

/// Print the fingerprints of documents
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub(super) struct FingerprintArgs {
    /// Files and folders; standard input if none or -
    files: Vec<PathBuf>,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    recipe: RecipeArgs,
    /// Print the texts themselves, as JSON Lines with 'id' and 'text'; of a page, the main text
    #[arg(long, hide_short_help = true)]
    show_text: bool,
    /// The output format
    #[arg(long, value_enum, default_value = "tsv")]
    format: RowFormat,
    /// Count bad records, show the first ten, and go on
    #[arg(long)]
    skip_bad: bool,
    #[command(flatten)]
    output: OutputArgs,
    /// Print the recipe on standard error
    #[arg(short, long)]
    verbose: bool,
    #[command(flatten)]
    threads: ThreadArgs,
    /// Print only errors
    #[arg(short, long)]
    quiet: bool,
}

/// Print the SimHash fingerprints of documents: fingerprint --recipe simhash
#[derive(Args, Debug)]
#[command(long_about = ABOUT_SIMHASH)]
pub(super) struct SimhashArgs {
    #[command(flatten)]
    args: FingerprintArgs,
}

impl Run for SimhashArgs {
    fn run(&self) -> anyhow::Result<ExitStatus> {
        let FingerprintArgs { reading, recipe, show_text, .. } = &self.args;
        if *show_text {
            return show_texts(&self.args);
        }
        let hasher = recipe.hasher_or(DefaultRecipe::SimHash, reading.holds_features())?;
        if hasher.recipe().votes().is_none() {
            bail!(
                "this command prints SimHash fingerprints, and the recipe has the method {}; \
                 'fpstore fingerprint' follows any recipe",
                hasher.recipe().method.name()
            );
        }
        print(&self.args, &hasher, DefaultRecipe::SimHash)
    }

    fn can_skip_bad(&self) -> bool {
        true
    }
}

impl Run for FingerprintArgs {
    fn run(&self) -> anyhow::Result<ExitStatus> {
        run(self)
    }

    fn can_skip_bad(&self) -> bool {
        true
    }
}

/// A document and its fingerprint in JSON; one without features has none.
#[derive(Serialize)]
struct Hashed {
    id: String,
    fingerprint: Option<String>,
}

#[derive(Serialize)]
struct Document<'a> {
    id: &'a str,
    text: &'a str,
}

fn show_texts(args: &FingerprintArgs) -> anyhow::Result<ExitStatus> {
    if args.recipe.is_given() || args.recipe.first_change().is_some() {
        bail!("--show-text prints texts as they are read; no recipe has a part in that");
    }
    let files = inputs(&args.files)?;
    let monitor = Monitor::on_documents(args.quiet, true)?;
    let options =
        args.reading.options(args.skip_bad, args.threads.reading()?)?.observer(monitor.observer());
    let mut out = args.output.open()?;
    let summary = read_texts(&files, &options, |id, text| {
        serde_json::to_writer(&mut out, &Document { id: &id.to_string(), text })?;
        Ok::<_, anyhow::Error>(writeln!(out)?)
    })?;
    monitor.finish();
    out.finish()?;
    if !args.quiet {
        report(&summary);
    }
    Ok(ExitStatus::Done)
}

fn run(args: &FingerprintArgs) -> anyhow::Result<ExitStatus> {
    if args.show_text {
        return show_texts(args);
    }
    let hasher = args.recipe.hasher(args.reading.holds_features())?;
    print(args, &hasher, DefaultRecipe::Best)
}

fn print(
    args: &FingerprintArgs,
    hasher: &TextHasher,
    default: DefaultRecipe,
) -> anyhow::Result<ExitStatus> {
    let is_json = args.format == RowFormat::Json;
    let mut options = args.reading.options(args.skip_bad || is_json, args.threads.reading()?)?;
    let files = inputs(&args.files)?;
    if args.verbose {
        for line in hasher.recipe().to_recipe().text().lines() {
            message!("{line}");
        }
    }
    // Somebody who writes line by line may wait for each answer.
    let may_wait = files.iter().any(|file| !file.is_file() && !file.is_dir());
    let out = args.output.open()?;
    let printer = IdPrinter::new(out.is_terminal());
    let out = Arc::new(Mutex::new(out));
    if is_json {
        let out = Arc::clone(&out);
        options = options.bad_records(BadRecords::new(move |place, reason| {
            let mut out = lock(&out);
            // What cannot be written fails at the next document or at the end.
            let _ = write_bad(&mut *out, place, reason);
            if may_wait {
                let _ = out.flush();
            }
        }));
    }
    let monitor = Monitor::on_documents(args.quiet, true)?;
    let summary = hash_all(&files, hasher, &options, Some(&monitor), |document| {
        let mut out = lock(&out);
        let id = document.id.to_string();
        match (document.fingerprint, args.format) {
            (fingerprint, RowFormat::Json) => {
                let fingerprint = fingerprint.map(|it| it.to_string());
                serde_json::to_writer(&mut *out, &Hashed { id, fingerprint })?;
                writeln!(out)?;
            }
            (Some(fingerprint), RowFormat::Tsv) => {
                writeln!(out, "{fingerprint}\t{}", printer.show(&id))?;
            }
            (None, RowFormat::Tsv) => {}
        }
        if may_wait {
            out.flush()?;
        }
        Ok(())
    })?;
    lock(&out).flush()?;
    if !args.quiet {
        if summary.document_count > 0 {
            args.recipe.report_default(default, args.reading.holds_features());
        }
        report(&summary);
    }
    if summary.skipped_count > 0 && !args.skip_bad {
        let count = counted(summary.skipped_count, "bad record", "bad records");
        bail!("{count} among the documents; --skip-bad makes that no error");
    }
    // The threads that read may still share it.
    std::mem::replace(&mut *lock(&out), Sink::stdout()).finish()?;
    Ok(ExitStatus::Done)
}

fn lock(out: &Mutex<Sink>) -> MutexGuard<'_, Sink> {
    out.lock().unwrap_or_else(PoisonError::into_inner)
}
