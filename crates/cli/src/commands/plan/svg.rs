//! Draws the schemes of a plan as a chart: bytes per fingerprint against microseconds per query.

use fpstore::plan::{PlanRequest, SchemeEstimate, SchemePlan};
use fpstore_plot::numbers::{grouped, rounded, short};
use fpstore_plot::{Chart, Label, LogAxis, Marks, Size};

/// Draws an SVG with a dot for each scheme, the frontier as a line, the chosen scheme as a larger
/// dot, and the budget as a dashed line.
pub(crate) fn draw(request: &PlanRequest, plan: &SchemePlan) -> String {
    let all = || plan.estimates.iter();
    let space = axis(all().map(|e| e.bytes_per_fingerprint));
    let time = axis(all().map(|e| e.hot_micros));
    let place = |e: &SchemeEstimate| (space.at(e.bytes_per_fingerprint), time.at(e.hot_micros));
    let text = |e: &SchemeEstimate| {
        let (bytes, micros) = (rounded(e.bytes_per_fingerprint), rounded(e.hot_micros));
        format!("{}: {bytes} bytes a fingerprint, {micros} us", e.name)
    };
    let chosen = plan.chosen();
    let frontier: Vec<&SchemeEstimate> = plan.frontier().collect();
    let mut marks = Marks::new(Size::SHEET);
    for e in all().filter(|e| !e.on_frontier && !e.chosen) {
        marks.dot(place(e), 3.0, "dot faint", &text(e));
    }
    let at = space.at(plan.budget_len / request.fingerprint_count() as f64);
    let budget_inside = at > 0.0 && at < 1.0;
    if budget_inside {
        marks.line(&[(at, 0.0), (at, 1.0)], "rule");
    }
    marks.line(&frontier.iter().map(|e| place(e)).collect::<Vec<_>>(), "line");
    frontier.iter().for_each(|e| marks.dot(place(e), 4.0, "dot", &text(e)));
    marks.dot(place(chosen), 7.0, "dot chosen", &text(chosen));
    let mut labels = vec![Label { at: place(chosen), text: &chosen.name, class: "label strong" }];
    if budget_inside {
        labels.push(Label { at: (at, 0.97), text: "budget", class: "label second" });
    }
    let others = frontier.iter().filter(|e| !e.chosen);
    labels.extend(others.map(|e| Label { at: place(e), text: &e.name, class: "label" }));
    marks.labels(&labels);
    let title = format!(
        "{} fingerprints, k = {}: {}",
        grouped(request.fingerprint_count()),
        request.k(),
        chosen.name
    );
    let chart = Chart {
        id: "plan",
        title: &title,
        description: &format!("Best within the budget: {}.", text(chosen)),
        x_label: "bytes a fingerprint in tables (log)",
        y_label: "microseconds a query, data in memory (log)",
        x_ticks: space.ticks(short),
        y_ticks: time.ticks(short),
    };
    chart.to_file(&marks)
}

fn axis(numbers: impl Iterator<Item = f64>) -> LogAxis {
    let (least, most) =
        numbers.fold((f64::INFINITY, 0.0_f64), |(low, high), n| (low.min(n), high.max(n)));
    LogAxis::close(least, most)
}
