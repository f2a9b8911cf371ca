//! `fpstore compare`: prints the distance of two documents.

use std::io::Write;

use anyhow::Context;
use clap::Args;
use serde::Serialize;

use super::command::{ExitStatus, Run};
use super::documents::fingerprint_of_file;
use super::output::{ReportFormat, stdout};
use super::reading_args::ReadingArgs;
use super::recipe_args::RecipeArgs;

const LONG_ABOUT: &str = "\
Print the fingerprints of two documents, their distance in bits, and their estimated similarity: \
cos(pi * distance / 64), the cosine of the angle between the weighted features. The distance has \
an error of a few bits: for unrelated texts it is 32, give or take 4.";

const AFTER_HELP: &str = "\
Examples:
  fpstore compare old.html new.html
  fpstore compare --text 'the quick brown fox' 'The quick, brown fox!'";

/// Print the distance of two documents
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub(super) struct CompareArgs {
    /// A file, or a text with --text; - is standard input
    #[arg(value_name = "A")]
    first: String,
    /// The other file or text
    #[arg(value_name = "B")]
    second: String,
    /// A and B are the texts themselves
    #[arg(long)]
    text: bool,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    format: ReportFormat,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    recipe: RecipeArgs,
}

#[derive(Serialize)]
struct Report<'a> {
    a: &'a str,
    fingerprint_a: String,
    b: &'a str,
    fingerprint_b: String,
    distance: u32,
    similarity: f64,
}

impl Run for CompareArgs {
    fn run(&self) -> anyhow::Result<ExitStatus> {
        run(self)
    }
}

fn run(args: &CompareArgs) -> anyhow::Result<ExitStatus> {
    if args.text {
        args.reading.check_unused()?;
    }
    let mut hasher = args.recipe.hasher(args.reading.holds_features())?;
    let options = args.reading.options(false, None)?;
    let mut fingerprint = |name: &str| {
        if args.text {
            hasher.fingerprint(name).context("a text without features has no fingerprint")
        } else {
            fingerprint_of_file(name, &hasher, &options)
        }
    };
    let (a, b) = (fingerprint(&args.first)?, fingerprint(&args.second)?);
    let distance = a.distance(b);
    let similarity = similarity(distance);
    let mut out = stdout();
    match args.format {
        ReportFormat::Text => {
            writeln!(out, "{a}\t{}\n{b}\t{}", args.first, args.second)?;
            writeln!(out, "distance\t{distance}\nsimilarity\t{similarity:.3}")?;
        }
        ReportFormat::Json => {
            let report = Report {
                a: &args.first,
                fingerprint_a: a.to_string(),
                b: &args.second,
                fingerprint_b: b.to_string(),
                distance,
                similarity,
            };
            serde_json::to_writer(&mut out, &report)?;
            writeln!(out)?;
        }
    }
    out.flush()?;
    Ok(ExitStatus::Done)
}

/// The cosine that a distance estimates, to three places.
fn similarity(distance: u32) -> f64 {
    let cosine = (std::f64::consts::PI * f64::from(distance) / 64.0).cos();
    // Adding 0.0 removes the sign of a negative zero.
    (cosine * 1000.0).round() / 1000.0 + 0.0
}

#[cfg(test)]
mod tests {
    use super::similarity;

    #[test]
    fn similarity_is_the_cosine_of_the_angle() {
        assert_eq!([0, 16, 32, 64].map(similarity), [1.0, 0.707, 0.0, -1.0]);
    }
}
