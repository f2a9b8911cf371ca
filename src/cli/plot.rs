//! Precision, recall and F1 over the distance as a chart.

use fpstore_plot::{Chart, Label, Marks, Size};

use super::curve::{K_MAX, Point};

/// A line of the chart: its name, its class, and the share that it shows of each point.
type Series = (&'static str, &'static str, fn(&Point) -> f64);

const SERIES: [Series; 3] = [
    ("precision", "first", |point| point.precision),
    ("recall", "second", |point| point.recall),
    ("F1", "third", |point| point.f1),
];

/// An SVG of precision, recall and F1 over k: figure 1 of Manku et al. (2007) for given data.
pub(super) fn svg(points: &[Point], title: &str) -> String {
    let mut marks = Marks::new(Size::SHEET);
    let x = |k: usize| k as f64 / K_MAX as f64;
    for (name, class, share) in SERIES {
        let line: Vec<(f64, f64)> = points.iter().map(|point| (x(point.k), share(point))).collect();
        marks.line(&line, &format!("line {class}"));
        for (point, &at) in points.iter().zip(&line) {
            let text = format!("{name} at k = {}: {:.3}", point.k, share(point));
            marks.dot(at, 3.0, &format!("dot {class}"), &text);
        }
    }
    let end = |share: fn(&Point) -> f64| points.last().map_or(0.0, share);
    let classes = SERIES.map(|(_, class, _)| format!("label {class}"));
    let mut labels: Vec<Label<'_>> = SERIES
        .iter()
        .zip(&classes)
        .map(|(&(text, _, share), class)| Label { at: (1.0, end(share)), text, class })
        .collect();
    labels.sort_by(|a, b| a.at.1.total_cmp(&b.at.1));
    marks.labels(&labels);
    let tick = |tenth: u32| (f64::from(tenth) / 10.0, format!("{:.1}", f64::from(tenth) / 10.0));
    let chart = Chart {
        id: "curve",
        title,
        description: "Precision, recall and F1 of the pairs within each distance.",
        x_label: "Hamming distance k",
        y_label: "share of pairs",
        x_ticks: (0..=K_MAX).map(|k| (x(k), k.to_string())).collect(),
        y_ticks: (0..=10).map(tick).collect(),
    };
    chart.to_file(&marks)
}
