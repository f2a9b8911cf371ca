//! `fpstore compare`: prints how similar two documents are, and where they differ.

mod features;
mod stored;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use clap::Args;
use fpstore::{Fingerprint, HexFingerprint, Width};
use fpstore_report::page::{ComparedFeatures, Comparison as ComparisonPage, differing_bits};
use fpstore_text::{Comparison, Error, TextHasher, TextRecipe};
use serde::Serialize;

use crate::args::documents::{fingerprint_of_file, text_of};
use crate::args::reading_args::ReadingArgs;
use crate::args::recipe_args::RecipeArgs;
use crate::args::report_args::{ReportArgs, ReportOut};
use crate::args::resources::ReadingLimits;
use crate::output::color::{self, Marked};
use crate::output::sink::{Sink, open_page, page_path};
use crate::output::text::ReportFormat;
use crate::session::command::{ExitStatus, open_map};
use crate::session::stores::StoreArg;
use features::FeatureReport;
use stored::{find, texts};

const LONG_ABOUT: &str = "\
Print the fingerprints of two documents, their distance in bits, and their similarity.

The estimate is computed from the distance: 1 - distance / 32 with the recipe minhash, which estimates \
the Jaccard similarity; cos(pi * distance / 64) with simhash, the cosine of the angle between the \
weighted features. Its error is a few bits: the distance of unrelated texts is 32, plus or minus 4. The \
exact Jaccard similarity is the share of common features.

Then the features that only one document has are printed, in the order of the text: the differences \
that the recipe detects.

With -s, A and B are records of a store: ids, or if no record has such an id, fingerprints in hex. The \
numbers of the different bits are printed; 63 is the first bit. --texts FILE contains the texts of the \
ids, so that their features are compared as well.

--html FILE also writes a page for a browser, without network: both texts with the differences \
marked by words, the features, and the different bits.";

const AFTER_HELP: &str = "\
Examples:
  fpstore compare old.html new.html --html differences.html
  fpstore compare --literal 'the quick brown fox' 'The quick, brown fox!'
  fpstore compare -s pages.fps 2026/a.html 2026/b.html --texts pages/

Exit status: 0 done; 1 if no record has such an id; 2 error.";

/// The default of `--limit`: the number of printed features that only one document has.
const LIMIT: usize = 10;

/// Print the similarity and the differences of two documents
#[derive(Args, Debug)]
#[command(
    long_about = LONG_ABOUT,
    after_help = AFTER_HELP,
    mut_arg("store", |arg| arg.conflicts_with("literal").help("A and B are records of this store"))
)]
pub(crate) struct CompareArgs {
    /// A file, or a text with --literal; - is standard input. With -s, an id or a fingerprint
    #[arg(value_name = "A")]
    first: String,
    /// The other document
    #[arg(value_name = "B")]
    second: String,
    /// A and B are the texts themselves
    #[arg(long)]
    literal: bool,
    #[command(flatten)]
    store: StoreArg,
    /// With -s: file of documents with the texts, found by id; may be repeated
    #[arg(long, value_name = "FILE", requires = "store")]
    texts: Vec<PathBuf>,
    /// Maximum number of printed features that only A or only B has, for each [default: 10]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    #[command(flatten)]
    report: ReportArgs,
    /// Also write a page with the differences marked, for a browser
    #[arg(long, value_name = "FILE", value_parser = page_path)]
    html: Option<PathBuf>,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    recipe: RecipeArgs,
}

/// The report as JSON. The same fields have the same names in the rows of `pairs` and in Python.
#[derive(Serialize)]
struct Report<'a> {
    first_name: &'a str,
    second_name: &'a str,
    first: HexFingerprint,
    second: HexFingerprint,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    second_id: Option<&'a str>,
    distance: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    differing_bits: Option<Vec<u32>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    estimate: Option<f64>,
    #[serde(flatten)]
    features: Option<&'a FeatureReport>,
}

/// The data of the two documents A and B.
struct Compared {
    width: Width,
    fingerprints: [Fingerprint; 2],
    /// For records of a store: for each record the id given by the user, or the first id of the
    /// given fingerprint. `None` for documents that are not in a store.
    ids: Option<[Option<String>; 2]>,
    texts: Option<[String; 2]>,
    features: Option<FeatureReport>,
    /// The recipe of the fingerprints, if it is a recipe for texts.
    recipe: Option<TextRecipe>,
}

pub(crate) fn run(args: &CompareArgs) -> anyhow::Result<ExitStatus> {
    let mut to = args.report.open()?;
    let page = open_page(args.html.as_deref(), args.report.output.force, "the report")?;
    let compared = match &args.store.named {
        Some(path) => records(args, path)?,
        None => documents(args)?,
    };
    let [a, b] = compared.fingerprints;
    let width = compared.width;
    let distance = a.distance(b);
    let estimate = compared.recipe.as_ref().map(|recipe| recipe.similarity_at(distance));
    if let (Some(page), Some(path)) = (page, &args.html) {
        write_page(page, args, &compared, estimate)?;
        if !args.report.is_quiet() {
            message!("wrote {}", path.display());
        }
    }
    let ids = |side: usize| compared.ids.as_ref().map(|ids| ids[side].as_deref());
    let (id_a, id_b) = (ids(0), ids(1));
    let bits = compared.ids.is_some().then(|| differing_bits(a, b));
    let ReportOut { format, out, printer } = &mut to;
    match format {
        ReportFormat::Text => {
            let is_colored = color::is_on(out.is_terminal());
            for (fingerprint, name, id) in [(a, &args.first, id_a), (b, &args.second, id_b)] {
                // The id of a record is printed, even if the user gave its fingerprint instead.
                let name = printer.show(id.map_or(name.as_str(), Option::unwrap_or_default));
                let (fingerprint, from) = (width.hex(fingerprint), width.hex(a));
                match is_colored {
                    true => writeln!(out, "{}\t{name}", Marked { fingerprint, from })?,
                    false => writeln!(out, "{fingerprint}\t{name}")?,
                }
            }
            writeln!(out, "distance\t{distance}")?;
            if let Some(bits) = bits {
                let bits: Vec<String> = bits.iter().map(u32::to_string).collect();
                writeln!(out, "bits\t{}", bits.join(" "))?;
            }
            if let Some(estimate) = estimate {
                writeln!(out, "estimate\t{estimate:.3}")?;
            }
            if let Some(features) = &compared.features {
                features.write(out, printer)?;
            }
        }
        ReportFormat::Json => {
            let report = Report {
                first_name: &args.first,
                second_name: &args.second,
                first: width.hex(a),
                second: width.hex(b),
                first_id: id_a.flatten(),
                second_id: id_b.flatten(),
                distance,
                differing_bits: bits,
                estimate,
                features: compared.features.as_ref(),
            };
            to.write_json(&report)?;
        }
    }
    to.finish()?;
    Ok(ExitStatus::Done)
}

/// Reads the documents A and B from files, or with `--literal` from the arguments.
fn documents(args: &CompareArgs) -> anyhow::Result<Compared> {
    let mut hasher = args.recipe.hasher(args.reading.holds_features())?;
    let names = [args.first.as_str(), args.second.as_str()];
    if args.reading.holds_features() {
        if args.literal {
            args.reading.check_unused()?;
        }
        let options = args.reading.options(false, ReadingLimits::default())?;
        let of = |name| fingerprint_of_file(name, &hasher, &options);
        let fingerprints = [of(names[0])?, of(names[1])?];
        let recipe = Some(hasher.recipe().clone());
        return Ok(Compared {
            width: Width::FULL,
            fingerprints,
            ids: None,
            texts: None,
            features: None,
            recipe,
        });
    }
    let of = |name| text_of(name, args.literal, &args.reading);
    let texts = [of(names[0])?, of(names[1])?];
    let compared = compare(args, &mut hasher, &texts)?;
    Ok(Compared {
        width: Width::FULL,
        fingerprints: compared.fingerprints,
        ids: None,
        texts: Some(texts),
        features: Some(FeatureReport::of(compared, args.limit.unwrap_or(LIMIT))),
        recipe: Some(hasher.recipe().clone()),
    })
}

/// Compares two texts. A text without features has no fingerprint.
fn compare(
    args: &CompareArgs,
    hasher: &mut TextHasher,
    texts: &[String; 2],
) -> anyhow::Result<Comparison> {
    let texts = texts.each_ref().map(String::as_str);
    Comparison::of(hasher, texts).map_err(|error| match error {
        Error::NoFeatures { number } => {
            let name = if number == 1 { &args.first } else { &args.second };
            anyhow!("{name} has no features, so it has no fingerprint")
        }
        error => error.into(),
    })
}

/// Reads the records A and B from the store at `path`, and with `--texts` their texts from files.
fn records(args: &CompareArgs, path: &Path) -> anyhow::Result<Compared> {
    if let (true, Some(option)) = (args.texts.is_empty(), args.reading.first_given()) {
        bail!("{option} is for documents; with -s, give the documents by --texts");
    }
    if args.texts.is_empty() && args.limit.is_some() {
        bail!("--limit limits the printed features of texts; with -s, name the texts with --texts");
    }
    if args.recipe.is_given() {
        bail!("the store has its recipe; leave out --recipe");
    }
    let store = open_map(path)?;
    let records = find(&store, [&args.first, &args.second])?;
    // Without a recipe for texts, the features are unknown, and only the fingerprints are compared.
    let is_of_texts = store.recipe().is_some_and(|it| TextRecipe::from_recipe(&it).is_ok());
    let mut hasher = match store.recipe() {
        Some(recipe) if is_of_texts => Some(args.recipe.hasher_of(&recipe)?),
        _ => None,
    };
    if let (None, Some(option)) = (&hasher, args.recipe.first_change()) {
        bail!("{option} is for texts, and the fingerprints of the store were made elsewhere");
    }
    let (mut found, mut features) = (None, None);
    if !args.texts.is_empty() {
        let options = args.reading.options(false, ReadingLimits::default())?;
        let checked_by = (hasher.as_mut(), store.width());
        let texts = texts(&records, &args.texts, &options, checked_by)?;
        if let Some(hasher) = &mut hasher {
            let compared = compare(args, hasher, &texts)?;
            features = Some(FeatureReport::of(compared, args.limit.unwrap_or(LIMIT)));
        }
        found = Some(texts);
    }
    let fingerprints = records.each_ref().map(|record| record.fingerprint);
    let recipe = hasher.map(|hasher| hasher.recipe().clone());
    let ids = Some(records.map(|it| it.id));
    Ok(Compared { width: store.width(), fingerprints, ids, texts: found, features, recipe })
}

fn write_page(
    page: Sink,
    args: &CompareArgs,
    compared: &Compared,
    estimate: Option<f64>,
) -> anyhow::Result<()> {
    let names = match &compared.ids {
        Some([a, b]) => [a.as_deref().unwrap_or(&args.first), b.as_deref().unwrap_or(&args.second)],
        None if args.literal => ["the first text", "the second text"],
        None => [args.first.as_str(), args.second.as_str()],
    };
    let comparison = ComparisonPage {
        names,
        fingerprints: compared.fingerprints,
        estimate,
        texts: compared.texts.as_ref().map(|texts| texts.each_ref().map(String::as_str)),
        features: compared.features.as_ref().map(|features| ComparedFeatures {
            jaccard: features.jaccard,
            common_count: features.common_count,
            only: [
                (features.only_first_count, &features.only_first),
                (features.only_second_count, &features.only_second),
            ],
            more: "--limit",
        }),
    };
    page.write_whole(&comparison.page())
}
