//! `fpstore evaluate`: measures how well a recipe finds labelled duplicates.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use fpstore::Fingerprint;
use fpstore::input::open_input;
use fpstore_base::parallel::Parallel;
use serde::Serialize;

use super::command::{ExitStatus, Run};
use super::curve::{Curve, K_MAX, Point, area, best};
use super::documents::{hash_all, report};
use super::monitor::Monitor;
use super::output::{ReportFormat, counted, stdout};
use super::plot;
use super::reading_args::ReadingArgs;
use super::recipe_args::RecipeArgs;
use super::sink::Sink;

const LONG_ABOUT: &str = "\
Measure how well a recipe tells duplicates from other documents, on labelled pairs of your own.

LABELS has one pair on each line: two ids and a label, separated by tabs. The label is 1 for \
duplicates, 0 for others, -1 for pairs to ignore. A header, further columns and lines that start \
with # are ignored.

For each k from 0 to 16 it prints the duplicates found within k bits, the others found wrongly, \
the duplicates missed, precision, recall, and F1. The best k has the greatest F1. The area is \
the area under precision over recall, up to k = 16.

A list of duplicates alone says nothing about precision. If it is complete, --unlisted-differ \
takes every other pair of its documents as different; this compares all pairs, in about a second \
for 50 000 documents.";

/// Documents that a thread compares with all later ones at a time.
const RANGE_LEN: usize = 64;

const AFTER_HELP: &str = "\
Examples:
  fpstore evaluate --pairs labels.tsv --docs articles.jsonl
  fpstore evaluate --pairs labels.tsv --docs pages/ --recipe 1e0ng --svg curve.svg";

/// Measure precision and recall on labelled pairs
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub(super) struct EvaluateArgs {
    /// Labelled pairs: id, id, label
    #[arg(long, value_name = "LABELS")]
    pairs: PathBuf,
    /// Documents: files and folders
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    docs: Vec<PathBuf>,
    /// Count every pair that is not listed as different documents
    #[arg(long)]
    unlisted_differ: bool,
    /// Draw precision, recall and F1 to an SVG file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Replace an existing picture
    #[arg(short, long)]
    force: bool,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    format: ReportFormat,
    /// Count bad records, show the first ten, and go on
    #[arg(long)]
    skip_bad: bool,
    /// Print only errors
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    recipe: RecipeArgs,
}

#[derive(Serialize)]
struct Report<'a> {
    points: &'a [Point],
    area: f64,
    best_k: usize,
    best_f1: f64,
    duplicates: u64,
}

impl Run for EvaluateArgs {
    fn run(&self) -> anyhow::Result<ExitStatus> {
        run(self)
    }

    fn can_skip_bad(&self) -> bool {
        true
    }
}

fn run(args: &EvaluateArgs) -> anyhow::Result<ExitStatus> {
    let hasher = args.recipe.hasher(args.reading.holds_features())?;
    let options = args.reading.options(args.skip_bad, None)?;
    let picture = args.svg.as_deref().map(|path| Sink::open(path, args.force)).transpose()?;
    let labels = Labels::read(&args.pairs)?;
    let mut ids: HashMap<String, u32> = HashMap::new();
    let mut fingerprints: Vec<Option<Fingerprint>> = Vec::new();
    let monitor = Monitor::on_documents(args.quiet, false)?;
    let summary = hash_all(&args.docs, &hasher, &options, Some(&monitor), |document| {
        let id = document.id.to_string();
        if ids.insert(id.clone(), u32::try_from(fingerprints.len())?).is_some() {
            bail!("two documents have the id '{id}'");
        }
        fingerprints.push(document.fingerprint);
        Ok(())
    })?;
    if !args.quiet {
        report(&summary);
    }
    let pairs = labels.numbered(&ids)?;
    let curve = measure(&pairs, &fingerprints, args.unlisted_differ);
    if !args.quiet
        && curve.others == [0; K_MAX + 1]
        && !args.unlisted_differ
        && !labels.has_others()
    {
        message!("all labels are 1, so precision has no meaning; see --unlisted-differ");
    }
    let points = curve.points();
    let best = best(&points).context("a curve has points")?;
    let area = area(&points);
    if !args.quiet && best.k == K_MAX {
        message!(
            "the best k is the greatest that was tried: the recipe may need a still larger one, \
             or does not suit these documents"
        );
    }
    let mut out = stdout();
    match args.format {
        ReportFormat::Text => {
            writeln!(out, "k\tfound\twrong\tmissed\tprecision\trecall\tf1")?;
            for p in &points {
                writeln!(
                    out,
                    "{}\t{}\t{}\t{}\t{:.4}\t{:.4}\t{:.4}",
                    p.k, p.found, p.wrong, p.missed, p.precision, p.recall, p.f1
                )?;
            }
            writeln!(out, "area\t{area:.4}\nbest k\t{}\nbest f1\t{:.4}", best.k, best.f1)?;
        }
        ReportFormat::Json => {
            let duplicates = curve.duplicate_count;
            let (best_k, best_f1) = (best.k, best.f1);
            let report = Report { points: &points, area, best_k, best_f1, duplicates };
            serde_json::to_writer(&mut out, &report)?;
            writeln!(out)?;
        }
    }
    out.flush()?;
    if let Some(mut picture) = picture {
        let duplicates = counted(curve.duplicate_count, "pair", "pairs");
        let title = format!("{duplicates} of duplicates: best F1 {:.3} at k = {}", best.f1, best.k);
        picture.write_all(plot::svg(&points, &title).as_bytes())?;
        picture.finish()?;
    }
    Ok(ExitStatus::Done)
}

/// Labelled pairs as they are listed.
struct Labels {
    name: String,
    rows: Vec<(u64, String, String, i8)>,
}

/// Labels by the numbers of the documents, the smaller one first.
type NumberedPairs = HashMap<(u32, u32), i8>;

impl Labels {
    fn read(path: &Path) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        let mut rows = Vec::new();
        for (number, line) in (1..).zip(open_input(path)?.lines()) {
            let line = line.with_context(|| format!("cannot read {name}"))?;
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let mut fields = line.trim_end_matches('\r').split('\t');
            let (Some(a), Some(b), Some(label)) = (fields.next(), fields.next(), fields.next())
            else {
                bail!("{name}: line {number}: expected two ids and a label, separated by tabs");
            };
            let label = match label {
                "1" => 1,
                "0" => 0,
                "-1" => -1,
                _ if number == 1 => continue,
                other => bail!("{name}: line {number}: label '{other}', expected 1, 0 or -1"),
            };
            rows.push((number, a.to_string(), b.to_string(), label));
        }
        Ok(Labels { name, rows })
    }

    fn has_others(&self) -> bool {
        self.rows.iter().any(|(.., label)| *label == 0)
    }

    fn numbered(&self, ids: &HashMap<String, u32>) -> anyhow::Result<NumberedPairs> {
        let mut pairs = HashMap::new();
        for (line, a, b, label) in &self.rows {
            let number = |id: &String| {
                ids.get(id).copied().with_context(|| {
                    format!("{}: line {line}: no document has the id '{id}'", self.name)
                })
            };
            let (a, b) = (number(a)?, number(b)?);
            if a == b {
                bail!("{}: line {line}: a pair of one document with itself", self.name);
            }
            let before = pairs.insert((a.min(b), a.max(b)), *label);
            if before.is_some_and(|before| before != *label) {
                bail!("{}: line {line}: the pair has another label further up", self.name);
            }
        }
        Ok(pairs)
    }
}

fn measure(
    pairs: &NumberedPairs,
    fingerprints: &[Option<Fingerprint>],
    unlisted_differ: bool,
) -> Curve {
    let of = |number: u32| fingerprints.get(number as usize).copied().flatten();
    let mut curve = Curve::default();
    for (&(a, b), &label) in pairs.iter().filter(|(_, label)| **label >= 0) {
        curve.add(label == 1, of(a).zip(of(b)).map(|(a, b)| a.distance(b)));
    }
    if unlisted_differ {
        let counts = unlisted(pairs, fingerprints);
        curve.others.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    curve
}

/// Counts, by distance, the pairs that are not listed: every fingerprint with every later one.
fn unlisted(pairs: &NumberedPairs, fingerprints: &[Option<Fingerprint>]) -> [u64; K_MAX + 1] {
    let (numbers, values): (Vec<u32>, Vec<u64>) =
        (0..).zip(fingerprints).filter_map(|(n, f)| Some((n, (*f)?.value()))).unzip();
    let listed: HashSet<u32> = pairs.keys().flat_map(|&(a, b)| [a, b]).collect();
    let is_listed: Vec<bool> = numbers.iter().map(|number| listed.contains(number)).collect();
    let count_from = |first: usize, counts: &mut [u64; K_MAX + 1]| {
        let near = |value: u64| (value ^ values[first]).count_ones() as usize <= K_MAX;
        // Nearly all values are far apart: one branch rejects eight of them.
        for (block, chunk) in values[first + 1..].chunks(8).enumerate() {
            if !chunk.iter().fold(false, |any, &value| any | near(value)) {
                continue;
            }
            for (place, value) in chunk.iter().enumerate() {
                let second = first + 1 + block * 8 + place;
                let pair = (numbers[first], numbers[second]);
                let distance = (value ^ values[first]).count_ones() as usize;
                let known = is_listed[first] && is_listed[second] && pairs.contains_key(&pair);
                if let Some(count) = counts.get_mut(distance).filter(|_| !known) {
                    *count += 1;
                }
            }
        }
    };
    // Early values have many later ones: small ranges keep all threads busy to the end.
    let ranges = (0..values.len()).step_by(RANGE_LEN);
    let ranges = ranges.map(|start| start..values.len().min(start + RANGE_LEN));
    let mut sums = [0; K_MAX + 1];
    std::thread::scope(|scope| {
        let results = Parallel::new(0).run_in(
            scope,
            |feed| {
                let _ = ranges.into_iter().all(|range| feed.push(range, 0));
            },
            || {
                |range: Range<usize>| {
                    let mut counts = [0; K_MAX + 1];
                    range.for_each(|first| count_from(first, &mut counts));
                    counts
                }
            },
        );
        for counts in results {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
    });
    sums
}
