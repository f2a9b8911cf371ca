//! The plot of the possible schemes: space for the tables against time for a query.

use maud::{Markup, html};

use super::{figure, table};
use fpstore::plan::{SchemeEstimate, SchemePlan};
use fpstore_plot::numbers::{bytes, grouped, rounded, short};
use fpstore_plot::{Chart, Label, LogAxis, Marks, Size};

/// Schemes that are not on the frontier are drawn only up to this multiple of the greatest space
/// and time on the frontier.
const BEYOND: f64 = 3.0;

/// Draws the space and time of each scheme of a plan, the frontier as a line, and `now`, the scheme
/// of the existing tables.
pub(super) fn frontier(plan: &SchemePlan, now: Option<&SchemeEstimate>) -> Markup {
    let best: Vec<&SchemeEstimate> = plan.frontier().collect();
    let chosen = plan.chosen();
    let must = || best.iter().copied().chain([chosen]).chain(now);
    let greatest = |of: fn(&SchemeEstimate) -> f64| must().map(of).fold(0.0, f64::max);
    let (most_bytes, most_micros) =
        (greatest(|e| e.bytes_per_fingerprint) * BEYOND, greatest(|e| e.hot_micros) * BEYOND);
    let drawn: Vec<&SchemeEstimate> = plan
        .estimates
        .iter()
        .filter(|e| e.bytes_per_fingerprint <= most_bytes && e.hot_micros <= most_micros)
        .chain(now)
        .collect();
    let axis = |of: fn(&SchemeEstimate) -> f64| {
        let least = drawn.iter().map(|e| of(e)).fold(f64::INFINITY, f64::min);
        let most = drawn.iter().map(|e| of(e)).fold(0.0, f64::max);
        LogAxis::close(least, most)
    };
    let (space, time) = (axis(|e| e.bytes_per_fingerprint), axis(|e| e.hot_micros));
    let place = |e: &SchemeEstimate| (space.at(e.bytes_per_fingerprint), time.at(e.hot_micros));
    let text = |e: &SchemeEstimate| {
        let (bytes, micros) = (rounded(e.bytes_per_fingerprint), rounded(e.hot_micros));
        format!("{}: {bytes} bytes a fingerprint, {micros} \u{b5}s", e.name)
    };
    let points: Vec<(f64, f64)> = best.iter().map(|e| place(e)).collect();
    let mut marks = Marks::new(Size::CARD);
    for e in drawn.iter().filter(|e| !e.on_frontier && !e.chosen) {
        marks.dot(place(e), 2.5, "dot faint", &text(e));
    }
    if points.len() > 1 {
        marks.line(&points, "front");
    }
    best.iter().for_each(|e| marks.dot(place(e), 3.5, "dot", &text(e)));
    marks.dot(place(chosen), 5.5, "dot chosen", &text(chosen));
    marks.labels(&[Label { at: place(chosen), text: &chosen.name, class: "label strong" }]);
    if let Some(now) = now {
        marks.dot(place(now), 5.5, "ring", &text(now));
    }
    let shown = format!(
        "Best within {}: {}, {}.",
        bytes(plan.budget_len as u64),
        chosen.name,
        summary(chosen)
    );
    let shown = match now {
        Some(now) => format!("{shown} These tables: {}.", summary(now)),
        None => shown,
    };
    let chart = Chart {
        id: "plot-frontier",
        title: "Schemes: bytes for each fingerprint against microseconds for a query",
        description: &shown,
        x_label: "bytes a fingerprint (log)",
        y_label: "\u{b5}s a query (log)",
        x_ticks: space.ticks(short),
        y_ticks: time.ticks(short),
    };
    let rows = best.iter().map(|e| row(e)).chain((!chosen.on_frontier).then(|| row(chosen)));
    let head =
        ["scheme", "tables", "bytes a fingerprint", "\u{b5}s a query", "\u{b5}s from disk", ""];
    let legend = html! {
        span.key.dot { "frontier" } " " span.key.chosen { "best within the budget" } " "
        span.key.faint { "others" }
        @if now.is_some() { " " span.key.ring { "these tables" } }
    };
    figure("Schemes for these fingerprints", &chart, &marks, &legend, &table(&head, rows))
}

fn summary(e: &SchemeEstimate) -> String {
    let (bytes, micros) = (rounded(e.bytes_per_fingerprint), rounded(e.hot_micros));
    format!("{bytes} bytes a fingerprint, {micros} \u{b5}s a query")
}

fn row(e: &SchemeEstimate) -> Vec<String> {
    vec![
        e.name.clone(),
        grouped(e.scheme.masks().len() as u64),
        rounded(e.bytes_per_fingerprint),
        rounded(e.hot_micros),
        rounded(e.cold_micros),
        e.reason.clone(),
    ]
}
