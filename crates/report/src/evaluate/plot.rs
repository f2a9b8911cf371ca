//! Draws precision, recall and F1 at each distance as a chart.

use fpstore_plot::numbers::grouped;
use fpstore_plot::{Chart, Label, Marks, Size};

use super::curve::{K_MAX, Point};
use super::evaluation::Evaluation;

/// Function that selects which value of a point a line of the chart shows.
type Share = fn(&Point) -> f64;

/// A line of the chart.
struct Series<'a> {
    name: &'a str,
    class: String,
    points: &'a [Point],
    share: Share,
}

/// The CSS classes for the colours of the lines, used in turn.
const CLASSES: [&str; 5] = ["first", "second", "third", "fourth", "fifth"];

/// Draws precision, recall and F1 over k as SVG, like figure 1 of Manku et al. (2007). For several
/// evaluations, given with their names, draws only the F1 of each.
pub fn svg(evaluations: &[(&str, &Evaluation)]) -> String {
    let class = |number: usize| CLASSES[number % CLASSES.len()].to_string();
    match evaluations {
        [(_, found)] => {
            let lines: [(&str, Share); 3] =
                [("precision", |p| p.precision), ("recall", |p| p.recall), ("F1", |p| p.f1)];
            let series = lines.iter().enumerate().map(|(number, &(name, share))| Series {
                name,
                class: class(number),
                points: found.points(),
                share,
            });
            let duplicates = match found.duplicate_count() {
                1 => "1 pair".into(),
                count => format!("{} pairs", grouped(count)),
            };
            let Point { f1, k, .. } = found.best();
            let title = format!("{duplicates} of duplicates: best F1 {f1:.3} at k = {k}");
            draw(&series.collect::<Vec<_>>(), &title, "Precision, recall and F1")
        }
        several => {
            let series = several.iter().enumerate().map(|(number, (name, found))| Series {
                name,
                class: class(number),
                points: found.points(),
                share: |p| p.f1,
            });
            draw(&series.collect::<Vec<_>>(), "F1 by recipe", "F1 of each recipe")
        }
    }
}

fn draw(series: &[Series<'_>], title: &str, what: &str) -> String {
    let mut marks = Marks::new(Size::SHEET);
    let x = |k: usize| k as f64 / K_MAX as f64;
    for Series { name, class, points, share } in series {
        let line: Vec<(f64, f64)> = points.iter().map(|point| (x(point.k), share(point))).collect();
        marks.line(&line, &format!("line {class}"));
        for (point, &at) in points.iter().zip(&line) {
            let text = format!("{name} at k = {}: {:.3}", point.k, share(point));
            marks.dot(at, 3.0, &format!("dot {class}"), &text);
        }
    }
    let classes: Vec<String> = series.iter().map(|of| format!("label {}", of.class)).collect();
    let end = |of: &Series<'_>| of.points.last().map_or(0.0, of.share);
    let mut labels: Vec<Label<'_>> = series
        .iter()
        .zip(&classes)
        .map(|(of, class)| Label { at: (1.0, end(of)), text: of.name, class })
        .collect();
    labels.sort_by(|a, b| a.at.1.total_cmp(&b.at.1));
    marks.labels(&labels);
    let tick = |tenth: u32| (f64::from(tenth) / 10.0, format!("{:.1}", f64::from(tenth) / 10.0));
    let chart = Chart {
        id: "curve",
        title,
        description: &format!("{what} of the pairs within each distance."),
        x_label: "Hamming distance k",
        y_label: "share of pairs",
        x_ticks: (0..=K_MAX).step_by(2).map(|k| (x(k), k.to_string())).collect(),
        y_ticks: (0..=10).map(tick).collect(),
    };
    chart.to_file(&marks)
}
