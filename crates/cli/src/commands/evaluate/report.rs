//! Prints the results of an evaluation as text or JSON.

use std::io::Write;

use fpstore_report::evaluate::{Evaluation, Forecast, K_MAX, Point};
use serde::Serialize;

use crate::output::sink::Sink;
use crate::output::text::{counted, grouped};

/// The values of k in the table that compares several recipes.
const K_SHOWN: [usize; 3] = [3, 5, 7];

/// The measured quality of one recipe.
pub(crate) struct Measured {
    pub(crate) recipe: String,
    pub(crate) found: Evaluation,
    /// The best F1 for each key of the hash. The recipe's own key is first.
    pub(crate) of_keys: Vec<f64>,
    /// The expected precision and recall in a larger collection.
    pub(crate) forecast: Option<Forecast>,
}

impl Measured {
    /// The lowest and the highest best F1 among the hash keys.
    fn spread(&self) -> (f64, f64) {
        let low = self.of_keys.iter().fold(f64::INFINITY, |low, &f1| low.min(f1));
        (low, self.of_keys.iter().fold(0.0, |high: f64, &f1| high.max(f1)))
    }
}

/// Prints notes on standard error about results that can be misread. `tells_others`: at least one
/// pair of different documents was counted.
pub(crate) fn warn(results: &[Measured], tells_others: bool) {
    if !tells_others {
        message!("all labels are 1, so precision has no meaning; see --unlisted-differ");
    }
    for result in results {
        if result.found.best().k == K_MAX {
            message!(
                "{}: the best k is the largest tried k, so the recipe does not suit these documents",
                result.recipe
            );
        }
    }
}

pub(crate) fn write_text(out: &mut Sink, results: &[Measured]) -> anyhow::Result<()> {
    match results {
        [result] => write_one(out, result),
        results => write_side_by_side(out, results),
    }
}

fn write_one(out: &mut Sink, result: &Measured) -> anyhow::Result<()> {
    writeln!(out, "k\tfound\twrong\tmissed\tprecision\trecall\tf1")?;
    for p in result.found.points() {
        writeln!(
            out,
            "{}\t{}\t{}\t{}\t{:.4}\t{:.4}\t{:.4}",
            p.k, p.found, p.wrong, p.missed, p.precision, p.recall, p.f1
        )?;
    }
    let best = result.found.best();
    writeln!(out, "area\t{:.4}", result.found.area())?;
    writeln!(out, "best k\t{}\nbest f1\t{:.4}", best.k, best.f1)?;
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
        let at = |k: usize| &result.found.points()[k];
        let best = result.found.best();
        let shown = K_SHOWN.map(|k| format!("{:.4}", at(k).f1)).join("\t");
        write!(
            out,
            "{}\t{:.4}\t{low:.4}\t{high:.4}\t{}\t{:.4}\t{:.4}\t{shown}\t{:.4}",
            result.recipe,
            best.f1,
            best.k,
            best.precision,
            best.recall,
            result.found.area()
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
    recipes: Vec<ReportOfRecipe<'a>>,
}

#[derive(Serialize)]
struct ReportOfRecipe<'a> {
    recipe: &'a str,
    points: &'a [Point],
    area: f64,
    best_k: usize,
    best_f1: f64,
    duplicates: u64,
    others: u64,
    of_keys: &'a [f64],
    #[serde(skip_serializing_if = "Option::is_none")]
    forecast: Option<&'a Forecast>,
}

impl<'a> From<&'a Measured> for ReportOfRecipe<'a> {
    fn from(result: &'a Measured) -> Self {
        let Measured { recipe, found, of_keys, forecast } = result;
        let Point { k: best_k, f1: best_f1, .. } = found.best();
        ReportOfRecipe {
            recipe,
            points: found.points(),
            area: found.area(),
            best_k,
            best_f1,
            duplicates: found.duplicate_count(),
            others: found.other_count(),
            of_keys,
            forecast: forecast.as_ref(),
        }
    }
}

pub(crate) fn write_json(out: &mut Sink, results: &[Measured]) -> anyhow::Result<()> {
    let recipes = results.iter().map(ReportOfRecipe::from).collect();
    serde_json::to_writer(&mut *out, &Report { recipes })?;
    Ok(writeln!(out)?)
}

/// Formats an expected count: below ten with two decimals, else as a whole number.
fn rough(count: f64) -> String {
    if count < 10.0 { format!("{count:.2}") } else { format!("{count:.0}") }
}
