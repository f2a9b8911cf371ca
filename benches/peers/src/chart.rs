//! Draws a case as a chart: bytes per fingerprint against microseconds per query, on logarithmic
//! axes.

use std::path::Path;

use anyhow::{Context, Result};
use fpstore_plot::numbers::{rounded, short};
use fpstore_plot::{Chart, Label, LogAxis, Marks, Size};

use crate::data::count_name;
use crate::report::Row;

/// Draws every contender as a point: fpstore in orange, contenders that miss matches as a ring.
pub fn draw(rows: &[Row], path: &Path) -> Result<()> {
    std::fs::write(path, svg(rows)).with_context(|| path.display().to_string())
}

fn svg(rows: &[Row]) -> String {
    // The logarithm of 0 is undefined, and the clock may measure 0 for a very short time.
    let bytes = |row: &Row| row.bytes_per_fingerprint.max(0.01);
    let micros = |row: &Row| row.p50_us.max(0.001);
    let axis = |of: &dyn Fn(&Row) -> f64| {
        let numbers = rows.iter().map(of);
        let (least, most) =
            numbers.fold((f64::INFINITY, 0.0_f64), |(low, high), n| (low.min(n), high.max(n)));
        LogAxis::close(least, most)
    };
    let (space, time) = (axis(&bytes), axis(&micros));
    let place = |row: &Row| (space.at(bytes(row)), time.at(micros(row)));
    let mut marks = Marks::new(Size::SHEET);
    let mut labels = Vec::new();
    for row in rows {
        let exact = row.recall >= 1.0;
        let (dot, label) = if row.contender.starts_with("fpstore") {
            (if exact { "dot second" } else { "ring" }, "label second")
        } else if exact {
            ("dot", "label first")
        } else {
            ("ring faint", "label faint")
        };
        let (b, us) = (rounded(bytes(row)), rounded(micros(row)));
        let text = format!("{}: {b} bytes a fingerprint, {us} us", row.contender);
        marks.dot(place(row), 5.0, dot, &text);
        labels.push(Label { at: place(row), text: &row.contender, class: label });
    }
    marks.labels(&labels);
    let one = &rows[0];
    let title = format!("{}, {}, k = {}", count_name(one.n as usize), one.data, one.k);
    let chart = Chart {
        id: "case",
        title: &title,
        description: "Bytes a fingerprint against the median time of a query, by contender.",
        x_label: "bytes a fingerprint (log)",
        y_label: "microseconds a query, median (log)",
        x_ticks: space.ticks(short),
        y_ticks: time.ticks(short),
    };
    chart.to_file(&marks)
}
