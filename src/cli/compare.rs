//! `fpstore compare`: prints how alike two documents are, and where they differ.

use std::collections::HashSet;
use std::io::Write;

use anyhow::Context;
use clap::Args;
use fpstore::Fingerprint;
use fpstore_text::{Feature, TextHasher};
use serde::Serialize;

use super::command::{ExitStatus, Run};
use super::documents::{fingerprint_of_file, text_of};
use super::output::{IdPrinter, ReportFormat, Stdout, counted, stdout};
use super::reading_args::ReadingArgs;
use super::recipe_args::RecipeArgs;

const LONG_ABOUT: &str = "\
Print the fingerprints of two documents, their distance in bits, and how similar they are.

The estimate is what the distance says: 1 - distance / 32 with the recipe minhash, which estimates \
the Jaccard similarity; cos(pi * distance / 64) with simhash, the cosine of the angle between the \
weighted features. It has the error of a few bits: for unrelated texts the distance is 32, give or \
take 4. The exact Jaccard similarity is the share of features that both documents have.

Then come features that only one of them has, in the order of the text: the differences that the \
recipe sees.";

const AFTER_HELP: &str = "\
Examples:
  fpstore compare old.html new.html
  fpstore compare --text 'the quick brown fox' 'The quick, brown fox!'";

/// Print how alike two documents are, and where they differ
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
    /// Features of each document to print that the other does not have; 0 prints none
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,
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
    estimate: f64,
    #[serde(flatten)]
    features: Option<FeatureReport>,
}

/// What the features say. There are none of it where features are given instead of texts.
#[derive(Serialize)]
struct FeatureReport {
    jaccard: f64,
    shared_count: usize,
    only_a_count: usize,
    only_b_count: usize,
    only_a: Vec<String>,
    only_b: Vec<String>,
}

impl Run for CompareArgs {
    fn run(&self) -> anyhow::Result<ExitStatus> {
        run(self)
    }
}

fn run(args: &CompareArgs) -> anyhow::Result<ExitStatus> {
    let mut hasher = args.recipe.hasher(args.reading.holds_features())?;
    let names = [args.first.as_str(), args.second.as_str()];
    let ([a, b], features) = if args.reading.holds_features() {
        if args.text {
            args.reading.check_unused()?;
        }
        let options = args.reading.options(false, None)?;
        let of = |name| fingerprint_of_file(name, &hasher, &options);
        ([of(names[0])?, of(names[1])?], None)
    } else {
        let (a, of_a) = look(args, names[0], &mut hasher)?;
        let (b, of_b) = look(args, names[1], &mut hasher)?;
        ([a, b], Some(compare(of_a, of_b, args.limit)))
    };
    let distance = a.distance(b);
    let estimate = match hasher.recipe().votes() {
        Some(_) => cosine(distance),
        None => jaccard(distance),
    };
    let mut out = stdout();
    match args.format {
        ReportFormat::Text => {
            writeln!(out, "{a}\t{}\n{b}\t{}", args.first, args.second)?;
            writeln!(out, "distance\t{distance}\nestimate\t{estimate:.3}")?;
            if let Some(features) = &features {
                features.write(&mut out)?;
            }
        }
        ReportFormat::Json => {
            let report = Report {
                a: &args.first,
                fingerprint_a: a.to_string(),
                b: &args.second,
                fingerprint_b: b.to_string(),
                distance,
                estimate,
                features,
            };
            serde_json::to_writer(&mut out, &report)?;
            writeln!(out)?;
        }
    }
    out.flush()?;
    Ok(ExitStatus::Done)
}

/// The fingerprint and the features of a document.
fn look(
    args: &CompareArgs,
    name: &str,
    hasher: &mut TextHasher,
) -> anyhow::Result<(Fingerprint, Vec<Feature>)> {
    let text = text_of(name, args.text, &args.reading)?;
    let fingerprint = hasher.fingerprint(&text);
    let fingerprint =
        fingerprint.with_context(|| format!("{name} has no features, so it has no fingerprint"))?;
    Ok((fingerprint, hasher.features(&text)))
}

fn compare(a: Vec<Feature>, b: Vec<Feature>, limit: usize) -> FeatureReport {
    let hashes = |list: &[Feature]| list.iter().map(|of| of.hash).collect::<HashSet<u64>>();
    let (in_a, in_b) = (hashes(&a), hashes(&b));
    let shared_count = in_a.intersection(&in_b).count();
    let only = |list: Vec<Feature>, others: &HashSet<u64>| {
        let own = list.into_iter().filter(|feature| !others.contains(&feature.hash));
        own.take(limit).map(|feature| feature.text).collect()
    };
    FeatureReport {
        jaccard: shared_count as f64 / (in_a.len() + in_b.len() - shared_count) as f64,
        shared_count,
        only_a_count: in_a.len() - shared_count,
        only_b_count: in_b.len() - shared_count,
        only_a: only(a, &in_b),
        only_b: only(b, &in_a),
    }
}

impl FeatureReport {
    fn write(&self, out: &mut Stdout) -> anyhow::Result<()> {
        let shared = counted(self.shared_count as u64, "feature", "features");
        writeln!(out, "jaccard\t{:.3}\nshared\t{shared}", self.jaccard)?;
        let printer = IdPrinter::for_stdout();
        for (side, count, list) in
            [("A", self.only_a_count, &self.only_a), ("B", self.only_b_count, &self.only_b)]
        {
            writeln!(out, "only {side}\t{}", counted(count as u64, "feature", "features"))?;
            list.iter().try_for_each(|text| writeln!(out, "\t{}", printer.show(text)))?;
            if !list.is_empty() && list.len() < count {
                writeln!(out, "\t... --limit prints more")?;
            }
        }
        Ok(())
    }
}

/// The cosine that a distance of SimHash estimates.
fn cosine(distance: u32) -> f64 {
    rounded((std::f64::consts::PI * f64::from(distance) / 64.0).cos())
}

/// The Jaccard similarity that a distance of MinHash estimates.
fn jaccard(distance: u32) -> f64 {
    rounded((1.0 - f64::from(distance) / 32.0).max(0.0))
}

fn rounded(similarity: f64) -> f64 {
    // Adding 0.0 removes the sign of a negative zero.
    (similarity * 1000.0).round() / 1000.0 + 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_are_those_of_the_methods() {
        assert_eq!([0, 16, 32, 64].map(cosine), [1.0, 0.707, 0.0, -1.0]);
        assert_eq!([0, 8, 32, 40].map(jaccard), [1.0, 0.75, 0.0, 0.0]);
    }
}
