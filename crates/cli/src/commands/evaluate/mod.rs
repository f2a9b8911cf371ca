//! `fpstore evaluate`: measures how well recipes find labelled duplicates.

mod report;

use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use clap::Args;
use fpstore::Store;
use fpstore::input::read_records;
use fpstore_report::evaluate::{BadLabel, LabelFile, MeasuredDocuments, svg, without_id};
use fpstore_text::{HashKey, TextHasher, TextRecipe};

use crate::args::documents::{DocumentArgs, hash_all, report as report_documents};
use crate::args::inputs::{ReadArgs, inputs, read_labels, report_skipped};
use crate::args::report_args::ReportArgs;
use crate::args::resources::ThreadArgs;
use crate::output::sink::Sink;
use crate::output::text::ReportFormat;
use crate::session::command::{ExitStatus, open_map, refuse_narrow};
use crate::session::monitor::Monitor;
use report::Measured;

const LONG_ABOUT: &str = "\
Measure how well a recipe distinguishes duplicates from other documents, on your own labelled pairs.

FILES are documents with --docs, else fingerprints with ids, as 'build' reads them, or stores of \
fingerprints, for example of images. LABELS has one pair on each line: two ids and a label, separated \
by tabs. The label is 1 for duplicates, 0 for others, -1 for pairs to ignore. A header, further columns \
and lines that start with # are ignored.

For each k from 0 to 32 it prints the duplicates found within k bits, the others found wrongly, \
the duplicates missed, precision, recall, and F1. The best k has the greatest F1. The area is \
the area under the curve of precision over recall. The spread is the lowest and the highest best F1 \
among several keys of the hash: smaller differences between recipes are chance.

Several --recipe, or --all, are measured side by side.

A list of duplicates alone cannot measure precision. If it is complete, --unlisted-differ counts \
every other pair of its documents as different; this compares all pairs, in about two seconds for \
50 000 documents on one core.

The best k for a thousand documents is too large for a million, because the number of pairs of \
different documents grows with the square. --collection-size N predicts the results in N such \
documents, and recommends a k.";

const AFTER_HELP: &str = "\
Examples:
  fpstore evaluate --docs articles.jsonl --pairs labels.tsv --unlisted-differ
  fpstore evaluate --docs pages/ --pairs labels.tsv --recipe minhash --recipe simhash --svg f1.svg
  fpstore evaluate photos.fps --pairs same-image.tsv --unlisted-differ --collection-size 1e6

Exit status: 0 done; 2 error.";

/// The default number of hash keys with which a recipe is measured.
const KEY_COUNT: u32 = 3;

/// Measure precision and recall on labelled pairs
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub(crate) struct EvaluateArgs {
    /// Documents with --docs, else fingerprints with ids or a store; - is standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Labelled pairs: id, id, label
    #[arg(long, value_name = "LABELS")]
    pairs: PathBuf,
    /// Count every unlisted pair as different documents
    #[arg(long)]
    unlisted_differ: bool,
    /// Predict the results for a collection of N documents of the same kind (for example 1e6), and
    /// recommend a k
    #[arg(long, value_name = "N", requires = "unlisted_differ", value_parser = collection_size)]
    collection_size: Option<u64>,
    /// Measure all named recipes
    #[arg(long, requires = "docs", conflicts_with = "recipe")]
    all: bool,
    /// Number of hash keys to measure with [default: 3; 1 for standard input, which is read only
    /// once]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    keys: Option<u32>,
    /// Draw the curves to an SVG file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    report: ReportArgs,
    #[command(flatten)]
    threads: ThreadArgs,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    documents: DocumentArgs,
}

fn collection_size(text: &str) -> Result<u64, String> {
    let number: f64 = text.parse().map_err(|_| "expected a number, such as 1e6".to_string())?;
    let is_count = (2.0..=1e15).contains(&number) && number.fract() == 0.0;
    is_count.then_some(number as u64).ok_or_else(|| "expected a number from 2 to 1e15".into())
}

pub(crate) fn run(args: &EvaluateArgs) -> anyhow::Result<ExitStatus> {
    let hashers = args.documents.hashers(&args.read, args.all)?;
    let mut out = args.report.open()?;
    let picture = Sink::open_any(args.svg.as_deref(), args.report.output.force)?;
    let labels = read_labels(&args.pairs)?;
    let key_count = key_count(args, hashers.len())?;
    let mut results = Vec::new();
    for (name, hasher) in &hashers {
        let mut result: Option<Measured> = None;
        for number in 0..key_count {
            let Some(keyed) = with_key(hasher, number) else { break };
            let is_first = result.is_none();
            let found = of_documents(args, &keyed, is_first && !args.report.is_quiet())?;
            let measured = measured(args, name, &labels, &found)?;
            match &mut result {
                None => result = Some(measured),
                Some(result) => result.of_keys.extend(measured.of_keys),
            }
        }
        results.extend(result);
    }
    if hashers.is_empty() {
        let found = ready(args)?;
        results.push(measured(args, "fingerprints", &labels, &found)?);
    }
    if !args.report.is_quiet() {
        report::warn(&results, args.unlisted_differ || labels.has_different());
    }
    match out.format {
        ReportFormat::Text => report::write_text(&mut out.out, &results)?,
        ReportFormat::Json => report::write_json(&mut out.out, &results)?,
    }
    out.finish()?;
    if let Some(picture) = picture {
        let named = results.iter().map(|result| (result.recipe.as_str(), &result.found));
        picture.write_whole(&svg(&named.collect::<Vec<_>>()))?;
    }
    Ok(ExitStatus::Done)
}

fn bad_label(args: &EvaluateArgs, fault: BadLabel) -> anyhow::Error {
    anyhow!("{}: {fault}", args.pairs.display())
}

/// The number of hash keys to measure with. The documents are read again for each key, so standard
/// input allows only one.
fn key_count(args: &EvaluateArgs, recipe_count: usize) -> anyhow::Result<u32> {
    if !args.files.iter().any(|file| file == Path::new("-")) {
        return Ok(args.keys.unwrap_or(KEY_COUNT));
    }
    let key_count = args.keys.unwrap_or(1);
    if key_count > 1 || recipe_count > 1 {
        bail!("standard input can be read once, for one recipe and one key; name a file instead");
    }
    Ok(key_count)
}

/// The hasher with the hash key of this number; number 0 is the hasher's own key. `None` if the key
/// of the hasher cannot be changed.
fn with_key(hasher: &TextHasher, number: u32) -> Option<TextHasher> {
    if number == 0 {
        return Some(hasher.clone());
    }
    let hash = hasher.recipe().hash;
    let HashKey([low, high]) = hash.key()?;
    let hash = hash.with_key(HashKey([low ^ u64::from(number), high]))?;
    let recipe = TextRecipe { hash, ..hasher.recipe().clone() };
    // A table of document frequencies is valid for one key only, so none is passed here: if the
    // recipe needs a table, `new` fails and the result is `None`.
    TextHasher::new(&recipe).ok()
}

/// Reads all documents and computes their fingerprints.
fn of_documents(
    args: &EvaluateArgs,
    hasher: &TextHasher,
    is_reported: bool,
) -> anyhow::Result<MeasuredDocuments> {
    let mut found = MeasuredDocuments::default();
    let options = args.documents.options(&args.read, args.threads.reading()?)?;
    let monitor = Monitor::on_documents(args.report.is_quiet(), false)?;
    let files = inputs(&args.files)?;
    let summary = hash_all(&files, hasher, &options, Some(&monitor), |document| {
        Ok(found.push(document.id.to_string(), document.fingerprint)?)
    })?;
    if is_reported {
        report_documents(&summary);
    }
    Ok(found)
}

/// Reads the fingerprints and ids of files or stores.
fn ready(args: &EvaluateArgs) -> anyhow::Result<MeasuredDocuments> {
    refuse_narrow(args.read.width(), "evaluate")?;
    let mut found = MeasuredDocuments::default();
    if let Some(documents) = args.documents.of_field(&args.read, args.threads.reading()?)? {
        let monitor = Monitor::on_documents(args.report.is_quiet(), false)?;
        let files = inputs(&args.files)?;
        let summary = documents.each(&files, &monitor, |fingerprint, id, _| {
            Ok(found.push(id.to_string(), Some(fingerprint))?)
        })?;
        report_documents(&summary);
        return Ok(found);
    }
    let lines = args.documents.lines(&args.read)?;
    for file in inputs(&args.files)? {
        if Store::is_at(&file) {
            found.push_store(&open_map(&file)?)?;
            continue;
        }
        let read = read_records(&file, &lines, |record| {
            let Some(id) = record.id else {
                bail!(without_id(&file.display().to_string()));
            };
            Ok(found.push(id.to_string(), Some(record.fingerprint))?)
        });
        report_skipped(&file, &read?);
    }
    Ok(found)
}

fn measured(
    args: &EvaluateArgs,
    name: &str,
    labels: &LabelFile,
    found: &MeasuredDocuments,
) -> anyhow::Result<Measured> {
    let pairs = found.pairs(labels).map_err(|fault| bad_label(args, fault))?;
    let found = found.evaluate(&pairs, args.unlisted_differ, None)?;
    let forecast = args.collection_size.map(|size| found.forecast(size));
    Ok(Measured { recipe: name.into(), of_keys: vec![found.best().f1], found, forecast })
}
