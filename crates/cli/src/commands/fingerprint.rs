//! `fpstore fingerprint` and `fpstore simhash`: print the fingerprints of documents.

use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::bail;
use clap::Args;
use fpstore::rows::HashedRow;
use fpstore_documents::{BadRecords, read_texts};
use fpstore_text::TextHasher;
use serde::Serialize;

use crate::args::documents::{hash_all, report};
use crate::args::format_args::LinesArgs;
use crate::args::inputs::{SkipBadArgs, inputs};
use crate::args::reading_args::ReadingArgs;
use crate::args::recipe_args::{DefaultRecipe, RecipeArgs};
use crate::args::resources::{QuietArgs, ThreadArgs};
use crate::output::bad_lines::write_bad;
use crate::output::row_writer::RowForm;
use crate::output::sink::{OutputArgs, Sink};
use crate::output::text::{RowFormat, counted};
use crate::session::command::ExitStatus;
use crate::session::monitor::Monitor;

const LONG_ABOUT: &str = "\
Print the fingerprints of documents in their order, one on each line: 16 hex digits, a tab, and \
the id. 'fpstore build' reads these lines. 'fpstore build --docs' replaces both commands: it stores the \
recipe, and writes nothing after an input error, which the second command of a pipe would not detect.

The file extension selects the format: .jsonl (JSON Lines), .csv and .tsv with a header, .parquet, \
.html (its main text), others one document of plain text; .gz and .zst are decompressed. A folder \
stands for all its files except hidden ones; their ids are paths below it, and with several folders begin \
with its name. - is standard input. --docs-format sets the format, for - by default JSON Lines.

A document without features, such as an empty one, has no fingerprint; its id is printed on \
standard error.

Each line of a pipe is answered as it comes. A program that waits for answers should use --format \
json, which has exactly one line for each document: its id and fingerprint, or null; for a bad record \
its 'place' and the 'error'. The command continues; without --skip-bad its status is then 2.

A recipe defines how texts are converted to fingerprints. Only fingerprints of one recipe can be compared. \
--recipe minhash, the default, suits texts in any language and finds most duplicates; --recipe \
simhash gives the SimHash of Manku et al. -v prints the whole recipe.";

const ABOUT_SIMHASH: &str = "\
The same as 'fpstore fingerprint --recipe simhash': print the SimHash fingerprints of documents. \
--recipe selects another recipe of SimHash, such as 1e0ng. Other commands for documents use the \
recipe minhash unless --recipe simhash is given there, too.";

const AFTER_HELP: &str = "\
Examples:
  fpstore fingerprint articles.jsonl.gz --id-field url --text-field body
  fpstore fingerprint pages/ --include '*.html' > pages.tsv

Exit status: 0 done; 2 error.";

/// Print the fingerprints of documents
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub(crate) struct FingerprintArgs {
    /// Files and folders; standard input if none or -
    files: Vec<PathBuf>,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    recipe: RecipeArgs,
    /// Print the texts as JSON Lines with 'id' and 'text'; for a page, the main text
    #[arg(long, hide_short_help = true)]
    show_text: bool,
    #[command(flatten)]
    format: LinesArgs,
    #[command(flatten)]
    bad: SkipBadArgs,
    #[command(flatten)]
    output: OutputArgs,
    /// Print the recipe on standard error
    #[arg(short, long)]
    verbose: bool,
    #[command(flatten)]
    threads: ThreadArgs,
    #[command(flatten)]
    quiet: QuietArgs,
}

/// Print the SimHash fingerprints of documents: fingerprint --recipe simhash
#[derive(Args, Debug)]
#[command(long_about = ABOUT_SIMHASH)]
pub(crate) struct SimhashArgs {
    #[command(flatten)]
    args: FingerprintArgs,
}

#[derive(Serialize)]
struct Document<'a> {
    id: &'a str,
    text: &'a str,
}

fn show_texts(args: &FingerprintArgs) -> anyhow::Result<ExitStatus> {
    if args.recipe.is_given() || args.recipe.first_change().is_some() {
        bail!("--show-text prints texts as they are read, without a recipe");
    }
    let files = inputs(&args.files)?;
    let monitor = Monitor::on_documents(args.quiet.is_on(), true)?;
    let options = args
        .reading
        .options(args.bad.skip_bad, args.threads.reading()?)?
        .observer(monitor.observer());
    let mut out = args.output.open()?;
    let summary = read_texts(&files, &options, |id, text| {
        serde_json::to_writer(&mut out, &Document { id: &id.to_string(), text })?;
        Ok::<_, anyhow::Error>(writeln!(out)?)
    })?;
    monitor.finish();
    out.finish()?;
    if !args.quiet.is_on() {
        report(&summary);
    }
    Ok(ExitStatus::Done)
}

pub(crate) fn run(args: &FingerprintArgs) -> anyhow::Result<ExitStatus> {
    if args.show_text {
        return show_texts(args);
    }
    let hasher = args.recipe.hasher(args.reading.holds_features())?;
    print(args, &hasher, DefaultRecipe::Best)
}

/// `fpstore simhash`.
pub(crate) fn run_simhash(SimhashArgs { args }: &SimhashArgs) -> anyhow::Result<ExitStatus> {
    if args.show_text {
        return show_texts(args);
    }
    let hasher = args.recipe.hasher_or(DefaultRecipe::SimHash, args.reading.holds_features())?;
    if hasher.recipe().votes().is_none() {
        bail!(
            "this command prints SimHash fingerprints, and the recipe has the method {}; 'fpstore \
             fingerprint' accepts any recipe",
            hasher.recipe().method.name()
        );
    }
    print(args, &hasher, DefaultRecipe::SimHash)
}

fn print(
    args: &FingerprintArgs,
    hasher: &TextHasher,
    default: DefaultRecipe,
) -> anyhow::Result<ExitStatus> {
    let is_json = args.format.format == RowFormat::Json;
    let mut options =
        args.reading.options(args.bad.skip_bad || is_json, args.threads.reading()?)?;
    let files = inputs(&args.files)?;
    if args.verbose {
        for line in hasher.recipe().to_recipe().text().lines() {
            message!("{line}");
        }
    }
    // The program that writes to the pipe may wait for each answer before it sends the next
    // document.
    let may_wait = files.iter().any(|file| !file.is_file() && !file.is_dir());
    let mut out = args.output.open()?;
    let form = RowForm::new::<HashedRow<'_>>(args.format.layout(), &out, &[]);
    if let Some(names) = form.header::<HashedRow<'_>>() {
        out.write_all(names.as_bytes())?;
    }
    let out = Arc::new(Mutex::new(out));
    if is_json {
        let out = Arc::clone(&out);
        options = options.bad_records(BadRecords::new(move |place, reason| {
            let mut out = lock(&out);
            // The error of a failed write is ignored here, because the next write reports it.
            let _ = write_bad(&mut *out, place, reason);
            if may_wait {
                let _ = out.flush();
            }
        }));
    }
    let monitor = Monitor::on_documents(args.quiet.is_on(), true)?;
    let mut line = Vec::new();
    let summary = hash_all(&files, hasher, &options, Some(&monitor), |document| {
        line.clear();
        let row = HashedRow { id: document.id, fingerprint: document.fingerprint.map(Into::into) };
        form.render(&mut line, &row)?;
        let mut out = lock(&out);
        out.write_all(&line)?;
        if may_wait {
            out.flush()?;
        }
        Ok(())
    })?;
    lock(&out).flush()?;
    if !args.quiet.is_on() {
        if summary.document_count > 0 {
            args.recipe.report_default(default, args.reading.holds_features());
        }
        report(&summary);
    }
    if summary.skipped_count > 0 && !args.bad.skip_bad {
        let count = counted(summary.skipped_count, "bad record", "bad records");
        bail!("{count} among the documents; with --skip-bad this is no error");
    }
    // The output is taken out of the mutex, because reader threads may still hold a reference to
    // it.
    std::mem::replace(&mut *lock(&out), Sink::stdout()).finish()?;
    Ok(ExitStatus::Done)
}

fn lock(out: &Mutex<Sink>) -> MutexGuard<'_, Sink> {
    out.lock().unwrap_or_else(PoisonError::into_inner)
}
