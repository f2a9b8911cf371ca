//! `fpstore features`: prints the features that a recipe extracts from a text.

use std::cmp::Reverse;
use std::io::Write;

use clap::Args;
use fpstore_text::Feature;
use serde::Serialize;

use crate::args::documents::text_of;
use crate::args::reading_args::ReadingArgs;
use crate::args::recipe_args::RecipeArgs;
use crate::args::report_args::{ReportArgs, ReportOut};
use crate::output::text::ReportFormat;
use crate::session::command::ExitStatus;

const LONG_ABOUT: &str = "\
Print the features from which the fingerprint of a document is computed: count, weight, hash and text \
of each feature, separated by tabs, in the order of their first occurrence. --limit N prints only the \
N heaviest features, heaviest first: with --df and --count these are the keywords of the text. --words \
prints the words or letters of the text, one on each line.

The recipe minhash has no weights; use --recipe simhash for them.";

const AFTER_HELP: &str = "\
Examples:
  fpstore features page.html | head
  fpstore features --literal \"Don't panic\" --words
  fpstore df corpus/ --recipe simhash --shingle 1 -o words.df
  fpstore features page.html --recipe simhash --shingle 1 --count count --df words.df --limit 10

Exit status: 0 done; 2 error.";

/// Print the words, features and weights of a document
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub(crate) struct FeaturesArgs {
    /// A file, or a text with --literal; - is standard input
    #[arg(value_name = "FILE")]
    document: String,
    /// FILE is the text itself
    #[arg(long)]
    literal: bool,
    /// Print the words or letters of the text
    #[arg(long, conflicts_with = "limit")]
    words: bool,
    /// Print only the N heaviest features; of equally heavy ones, the first in the text
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    #[command(flatten)]
    report: ReportArgs,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    recipe: RecipeArgs,
}

#[derive(Serialize)]
struct Report {
    fingerprint: Option<String>,
    words: Vec<String>,
    features: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    text: String,
    count: u64,
    weight: f64,
    hash: String,
}

impl From<Feature> for Row {
    fn from(feature: Feature) -> Self {
        Row {
            count: feature.count,
            weight: feature.weight.as_f64(),
            hash: format!("{:016x}", feature.hash),
            text: feature.text,
        }
    }
}

pub(crate) fn run(args: &FeaturesArgs) -> anyhow::Result<ExitStatus> {
    let mut hasher = args.recipe.hasher(false)?;
    let text = text_of(&args.document, args.literal, &args.reading)?;
    let mut words = Vec::new();
    hasher.each_token(&text, |word| words.push(word.to_string()));
    let mut features = hasher.features(&text);
    if let Some(limit) = args.limit {
        features.sort_by_key(|feature| Reverse(feature.weight));
        features.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    }
    let mut to = args.report.open()?;
    let ReportOut { format, out, printer } = &mut to;
    match format {
        ReportFormat::Text if args.words => {
            words.iter().try_for_each(|word| writeln!(out, "{}", printer.show(word)))?;
        }
        ReportFormat::Text => {
            for feature in features {
                let Row { text, count, weight, hash } = feature.into();
                writeln!(out, "{count}\t{weight:.3}\t{hash}\t{}", printer.show(&text))?;
            }
        }
        ReportFormat::Json => {
            let report = Report {
                fingerprint: hasher.fingerprint(&text).map(|value| value.to_string()),
                words,
                features: features.into_iter().map(Row::from).collect(),
            };
            to.write_json(&report)?;
        }
    }
    to.finish()?;
    Ok(ExitStatus::Done)
}
