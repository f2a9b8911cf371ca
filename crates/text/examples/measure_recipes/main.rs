//! Measures recipes on labelled sets of texts: best F1 and its k for each recipe and set.
//!
//!     cargo run --release -p fpstore-text --example measure_recipes -- DATA [SET]... > table.md
//!
//! DATA is the folder of the collection, with `text/SET/docs.jsonl.zst`, `near.tsv.zst` and, for
//! some sets, `pairs.tsv.zst`. The environment variable `RECIPES` may name a file with a recipe on
//! each line; the default list is `recipes::RECIPES`.
//!
//! Documents in Chinese and in other languages are measured separately: a column contains the
//! documents of one language in one set, with the labels of one truth. A recipe selected on some
//! data looks better there than on other data, so everything is also measured on two halves of each
//! set; documents labelled as duplicates are in the same half.
//!
//! There are two truths:
//!
//! * *near*: all pairs of documents, of which only one of each group with equal shingles counts.
//!   Pairs with Jaccard 0.8 or more are duplicates, pairs missing from `near.tsv.zst` are not, and
//!   other listed pairs are skipped.
//! * *pairs*: labels from people or from the source of the texts. If all labelled pairs are
//!   duplicates, the pairs that are listed in neither table count as different.
//!
//! Each recipe is measured with [`KEY_COUNT`] keys of the hash, and the counts are added up. The
//! spread is the difference between the best F1 of the best key and that of the worst key.

mod curve;
mod recipes;
mod set;

use std::path::Path;

use curve::Curve;
use recipes::{Candidate, RECIPES};
use set::{Column, Set, VIEW_COUNT};

/// The number of keys of the hash. With a single key, chance strongly affects the result for a set
/// with many documents made from one template.
const KEY_COUNT: u64 = 3;

/// The values of k for which F1 is printed.
const K_SHOWN: [usize; 3] = [3, 5, 7];

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let data = arguments.next().ok_or("usage: measure_recipes DATA [SET]...")?;
    let folder = Path::new(&data).join("text");
    let wanted: Vec<String> = arguments.collect();
    let mut sets: Vec<String> = std::fs::read_dir(&folder)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<Result<_, std::io::Error>>()?;
    sets.retain(|set| wanted.is_empty() || wanted.contains(set));
    sets.sort();
    let listed = match std::env::var("RECIPES") {
        Ok(file) => std::fs::read_to_string(file)?,
        Err(_) => RECIPES.join("\n"),
    };
    let lines = listed.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let candidates: Vec<Candidate> = lines.map(Candidate::parse).collect::<Result<_, _>>()?;
    let shown = K_SHOWN.map(|k| format!("F1 at {k}")).join(" | ");
    println!(
        "| set | language | truth | recipe | best F1 | spread | k | precision | recall | {shown} | \
         area | half 1 | half 2 |"
    );
    println!("|---|---|---|---|{}", "---:|".repeat(8 + K_SHOWN.len()));
    let mut scores: Vec<Score> = Vec::new();
    for set in &sets {
        let set = Set::read(&folder, set)?;
        for candidate in &candidates {
            for score in measure(&set, candidate)? {
                score.print(&set.name);
                scores.push(score);
            }
        }
    }
    let names: Vec<&str> = candidates.iter().map(|candidate| candidate.name.as_str()).collect();
    print_means(&names, &scores);
    print_halves(&names, &scores);
    Ok(())
}

/// The result of a recipe in one column.
struct Score {
    recipe: String,
    column: Column,
    views: [Curve; VIEW_COUNT],
    /// The best F1 with each key of the hash.
    of_keys: Vec<f64>,
}

/// Measures a recipe with each key of the hash.
fn measure(set: &Set, candidate: &Candidate) -> Result<Vec<Score>, Failure> {
    let mut scores: Vec<Score> = Vec::new();
    for key in 0..if candidate.is_keyed() { KEY_COUNT } else { 1 } {
        for (column, views) in set.curves(&candidate.fingerprints(set, key)?) {
            let best = views[0].best_f1();
            match scores.iter_mut().find(|score| score.column == column) {
                Some(score) => {
                    score.views.iter_mut().zip(&views).for_each(|(sum, curve)| sum.add(curve));
                    score.of_keys.push(best);
                }
                None => scores.push(Score {
                    recipe: candidate.name.clone(),
                    column,
                    views,
                    of_keys: vec![best],
                }),
            }
        }
    }
    Ok(scores)
}

impl Score {
    fn print(&self, set: &str) {
        let [curve, half_1, half_2] = &self.views;
        let best = curve.best();
        let high = self.of_keys.iter().fold(0.0, |a: f64, &b| a.max(b));
        let low = self.of_keys.iter().fold(1.0, |a: f64, &b| a.min(b));
        let shown = K_SHOWN.map(|k| format!("{:.3}", curve.f1(k))).join(" | ");
        println!(
            "| {set} | {} | {} | {} | {:.3} | {:.3} | {best} | {:.3} | {:.3} | {shown} | {:.3} | \
             {:.3} | {:.3} |",
            if self.column.is_chinese { "Chinese" } else { "other" },
            self.column.truth,
            self.recipe,
            curve.f1(best),
            high - low,
            curve.precision(best),
            curve.recall(best),
            curve.area(),
            half_1.best_f1(),
            half_2.best_f1(),
        );
    }
}

/// A group of columns: a function that returns whether a column belongs to it.
type Group = fn(&Column) -> bool;

/// The named groups of columns over which means are computed.
const GROUPS: &[(&str, Group)] = &[
    ("all", |_| true),
    ("Chinese", |column| column.is_chinese),
    ("other languages", |column| !column.is_chinese),
    ("near", |column| column.truth == "near"),
    ("pairs", |column| column.truth == "pairs"),
];

/// The mean of a figure of a recipe over a group of columns.
fn mean(scores: &[Score], name: &str, group: Group, figure: impl Fn(&Score) -> f64) -> f64 {
    let wanted = scores.iter().filter(|score| score.recipe == name && group(&score.column));
    let values: Vec<f64> = wanted.map(figure).collect();
    values.iter().sum::<f64>() / values.len() as f64
}

fn print_means(names: &[&str], scores: &[Score]) {
    let best = |name: &str, group: Group| mean(scores, name, group, |s| s.views[0].best_f1());
    let heads: Vec<&str> = GROUPS.iter().map(|(head, _)| *head).collect();
    let shown = K_SHOWN.map(|k| format!("F1 at {k}")).join(" | ");
    println!(
        "\nMeans of best F1, of F1 at given k, and the k with the highest mean, over all columns:\n"
    );
    println!("| recipe | {} | {shown} | common k | F1 there |", heads.join(" | "));
    println!("|---|{}", "---:|".repeat(heads.len() + K_SHOWN.len() + 2));
    let mut sorted = names.to_vec();
    sorted.sort_by(|a, b| best(b, GROUPS[0].1).total_cmp(&best(a, GROUPS[0].1)));
    for name in &sorted {
        let groups = GROUPS.iter().map(|(_, group)| best(name, *group));
        let at_k = |k: usize| mean(scores, name, GROUPS[0].1, |s| s.views[0].f1(k));
        let common = (0..=curve::K_MAX).max_by(|&a, &b| at_k(a).total_cmp(&at_k(b))).unwrap_or(0);
        let at = K_SHOWN.map(at_k);
        let values: Vec<String> = groups.chain(at).map(|value| format!("{value:.4}")).collect();
        println!("| {name} | {} | {common} | {:.4} |", values.join(" | "), at_k(common));
    }
}

fn print_halves(names: &[&str], scores: &[Score]) {
    println!("\nThe winner over one half, and its place on the other:\n");
    println!("| columns | chosen on | winner | place on the other half | behind its winner by |");
    println!("|---|---|---|---:|---:|");
    for (head, group) in &GROUPS[..3] {
        let by = |name: &str, view: usize| mean(scores, name, *group, |s| s.views[view].best_f1());
        for (chosen, other) in [(1, 2), (2, 1)] {
            let order_by = |view: usize| {
                let mut order = names.to_vec();
                order.sort_by(|a, b| by(b, view).total_cmp(&by(a, view)));
                order
            };
            let (winner, order) = (order_by(chosen)[0], order_by(other));
            let place = order.iter().position(|name| *name == winner).unwrap_or(0) + 1;
            let behind = by(order[0], other) - by(winner, other);
            let count = names.len();
            println!("| {head} | half {chosen} | {winner} | {place} of {count} | {behind:.4} |");
        }
    }
}
