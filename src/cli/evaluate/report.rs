//! The results of a measurement, for people and for programs.

use std::io::Write;

use serde::Serialize;

use super::curve::{Curve, K_MAX, Point, area, best};
use super::forecast::{Expected, forecast, recommended};
use crate::cli::output::{counted, grouped};
use crate::cli::sink::Sink;

/// The values of k for which several recipes are compared.
const K_SHOWN: [usize; 3] = [3, 5, 7];

/// The result of one recipe.
#[derive(Serialize)]
pub(super) struct Measured {
    pub(super) recipe: String,
    pub(super) points: Vec<Point>,
    pub(super) area: f64,
    pub(super) best_k: usize,
    pub(super) best_f1: f64,
    /// Labelled pairs of duplicates.
    pub(super) duplicates: u64,
    /// Other pairs, at any distance.
    pub(super) others: u64,
    /// The best F1 of each key of the hash, that of the recipe first.
    pub(super) of_keys: Vec<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) forecast: Option<Forecast>,
}

/// What to expect in a larger collection.
#[derive(Serialize)]
pub(super) struct Forecast {
    collection_size: u64,
    recommended_k: usize,
    points: Vec<Expected>,
}

impl Measured {
    /// The result of a curve; `size` has the number of documents measured and that of a collection
    /// whose figures are wanted.
    pub(super) fn new(recipe: &str, curve: &Curve, size: Option<(u64, u64)>) -> Self {
        let points = curve.points();
        let (best_k, best_f1) = best(&points).map_or((0, 0.0), |best| (best.k, best.f1));
        let forecast = size.map(|(document_count, collection_size)| {
            let points = forecast(curve, &points, document_count, collection_size);
            let recommended_k = recommended(&points).map_or(0, |best| best.k);
            Forecast { collection_size, recommended_k, points }
        });
        Measured {
            recipe: recipe.into(),
            area: area(&points),
            best_k,
            best_f1,
            duplicates: curve.duplicate_count,
            others: curve.others.iter().sum(),
            of_keys: vec![best_f1],
            points,
            forecast,
        }
    }

    /// The lowest and the highest best F1 of the keys.
    fn spread(&self) -> (f64, f64) {
        let low = self.of_keys.iter().fold(f64::INFINITY, |low, &f1| low.min(f1));
        (low, self.of_keys.iter().fold(0.0, |high: f64, &f1| high.max(f1)))
    }
}

/// Says on standard error what a reader could misread.
pub(super) fn warn(results: &[Measured], tells_others: bool) {
    if !tells_others {
        message!("all labels are 1, so precision has no meaning; see --unlisted-differ");
    }
    for result in results {
        if result.best_k == K_MAX {
            message!(
                "{}: the best k is the greatest that was tried: it does not suit these documents",
                result.recipe
            );
        }
    }
}

pub(super) fn write_text(out: &mut Sink, results: &[Measured]) -> anyhow::Result<()> {
    match results {
        [result] => write_one(out, result),
        results => write_side_by_side(out, results),
    }
}

fn write_one(out: &mut Sink, result: &Measured) -> anyhow::Result<()> {
    writeln!(out, "k\tfound\twrong\tmissed\tprecision\trecall\tf1")?;
    for p in &result.points {
        writeln!(
            out,
            "{}\t{}\t{}\t{}\t{:.4}\t{:.4}\t{:.4}",
            p.k, p.found, p.wrong, p.missed, p.precision, p.recall, p.f1
        )?;
    }
    writeln!(out, "area\t{:.4}", result.area)?;
    writeln!(out, "best k\t{}\nbest f1\t{:.4}", result.best_k, result.best_f1)?;
    if result.of_keys.len() > 1 {
        let (low, high) = result.spread();
        let keys = counted(result.of_keys.len() as u64, "key", "keys");
        writeln!(out, "spread\t{low:.4}\t{high:.4}\t{keys}")?;
    }
    let Some(forecast) = &result.forecast else { return Ok(()) };
    writeln!(out, "\nexpected in {} documents", grouped(forecast.collection_size))?;
    writeln!(out, "k\tfound\twrong\tby chance\tprecision\trecall\tf1")?;
    for p in &forecast.points {
        writeln!(
            out,
            "{}\t{:.0}\t{}\t{}\t{:.4}\t{:.4}\t{:.4}",
            p.k,
            p.found,
            rough(p.wrong),
            rough(p.by_chance),
            p.precision,
            p.recall,
            p.f1
        )?;
    }
    Ok(writeln!(out, "recommended k\t{}", forecast.recommended_k)?)
}

fn write_side_by_side(out: &mut Sink, results: &[Measured]) -> anyhow::Result<()> {
    let shown = K_SHOWN.map(|k| format!("f1 at {k}")).join("\t");
    write!(out, "recipe\tbest f1\tlowest\thighest\tbest k\tprecision\trecall\t{shown}\tarea")?;
    let is_forecast = results.iter().any(|result| result.forecast.is_some());
    writeln!(out, "{}", if is_forecast { "\trecommended k" } else { "" })?;
    for result in results {
        let (low, high) = result.spread();
        let at = |k: usize| &result.points[k];
        let best = at(result.best_k);
        let shown = K_SHOWN.map(|k| format!("{:.4}", at(k).f1)).join("\t");
        write!(
            out,
            "{}\t{:.4}\t{low:.4}\t{high:.4}\t{}\t{:.4}\t{:.4}\t{shown}\t{:.4}",
            result.recipe, result.best_f1, best.k, best.precision, best.recall, result.area
        )?;
        match &result.forecast {
            Some(forecast) => writeln!(out, "\t{}", forecast.recommended_k)?,
            None => writeln!(out)?,
        }
    }
    Ok(())
}

#[derive(Serialize)]
struct Report<'a> {
    recipes: &'a [Measured],
}

pub(super) fn write_json(out: &mut Sink, results: &[Measured]) -> anyhow::Result<()> {
    serde_json::to_writer(&mut *out, &Report { recipes: results })?;
    Ok(writeln!(out)?)
}

/// A count that need not be exact: two digits after the point below ten.
fn rough(count: f64) -> String {
    if count < 10.0 { format!("{count:.2}") } else { format!("{count:.0}") }
}
