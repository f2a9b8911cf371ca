//! `fpstore compare`: how near two documents are.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use fpstore::{DocumentOptions, Fingerprint, SimHasher};
use serde::Serialize;

use super::Verdict;
use super::documents::{ReadingArgs, hash_all};
use super::output::{ReportFormat, stdout};
use super::recipe_args::RecipeArgs;

const LONG_ABOUT: &str = "\
Print the fingerprints of two documents, their distance in bits, and the similarity that it stands for: the cosine of \
the angle between the weighted features, cos(pi * distance / 64). A distance has an error of a few bits: \
for unrelated texts it is 32, give or take 4.";

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
    /// The other
    #[arg(value_name = "B")]
    second: String,
    /// A and B are the texts themselves
    #[arg(long)]
    text: bool,
    /// How to print
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

pub(super) fn run(args: &CompareArgs) -> anyhow::Result<Verdict> {
    let mut hasher = args.recipe.hasher(args.reading.holds_features())?;
    let options = args.reading.options(false)?;
    let mut fingerprint = |name: &str| match args.text {
        true => hasher.fingerprint(name).context("a text without features has no fingerprint"),
        false => fingerprint_of_file(name, &hasher, &options),
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
    Ok(Verdict::Yes)
}

/// The cosine that a distance stands for, to three places.
fn similarity(distance: u32) -> f64 {
    let cosine = (std::f64::consts::PI * f64::from(distance) / 64.0).cos();
    // Without the sign of a zero.
    (cosine * 1000.0).round() / 1000.0 + 0.0
}

/// The fingerprint of the one document in a file.
pub(super) fn fingerprint_of_file(
    name: &str,
    hasher: &SimHasher,
    options: &DocumentOptions,
) -> anyhow::Result<Fingerprint> {
    let mut found = Vec::new();
    let mut count = 0;
    hash_all(&[PathBuf::from(name)], hasher, options, None, |document| {
        count += 1;
        found.extend(document.fingerprint);
        Ok(())
    })?;
    match (found.as_slice(), count) {
        ([fingerprint], 1) => Ok(*fingerprint),
        ([], 1) => bail!("{name} has no features, so it has no fingerprint"),
        _ => bail!("{name} holds {count} documents, expected one"),
    }
}

#[cfg(test)]
mod tests {
    use super::similarity;

    #[test]
    fn similarity_is_the_cosine_of_the_angle() {
        assert_eq!([0, 16, 32, 64].map(similarity), [1.0, 0.707, 0.0, -1.0]);
    }
}
