//! The frontier as a picture: bytes a fingerprint against microseconds.

use std::path::Path;

use anyhow::anyhow;
use fpstore::{PlanRequest, SchemeEstimate, SchemePlan};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::cli::output::grouped;

const WIDE: u32 = 960;
const HIGH: u32 = 600;
const GREY: RGBColor = RGBColor(150, 150, 150);
const BLUE: RGBColor = RGBColor(31, 95, 160);
const ORANGE: RGBColor = RGBColor(214, 94, 0);

/// Draws all schemes, the frontier as a line, the choice with a ring, the budget as a rule.
pub(super) fn draw(request: &PlanRequest, plan: &SchemePlan, path: &Path) -> anyhow::Result<()> {
    let mut text = String::new();
    draw_into(request, plan, &mut text).map_err(|error| anyhow!("{error}"))?;
    Ok(std::fs::write(path, text)?)
}

type Drawn = Result<(), Box<dyn std::error::Error>>;

fn draw_into(request: &PlanRequest, plan: &SchemePlan, text: &mut String) -> Drawn {
    let root = SVGBackend::with_string(text, (WIDE, HIGH)).into_drawing_area();
    root.fill(&WHITE)?;
    let place = |e: &SchemeEstimate| (e.bytes_per_fingerprint, e.hot_micros);
    let budget = plan.budget_len / request.fingerprint_count as f64;
    let spread = |values: &mut dyn Iterator<Item = f64>| {
        values.fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)))
    };
    let (smallest, largest) = spread(
        &mut plan.estimates.iter().map(|e| place(e).0).chain(plan.frontier().map(|e| place(e).0)),
    );
    let (fastest, slowest) = spread(&mut plan.estimates.iter().map(|e| place(e).1));
    let caption = format!(
        "{} fingerprints, k = {}: {}",
        grouped(request.fingerprint_count),
        request.k,
        plan.chosen().name
    );
    let mut chart = ChartBuilder::on(&root)
        .caption(caption, ("sans-serif", 22))
        .margin(16)
        .x_label_area_size(48)
        .y_label_area_size(72)
        .build_cartesian_2d(
            (smallest * 0.85..largest * 1.3).log_scale(),
            (fastest * 0.7..slowest * 1.6).log_scale(),
        )?;
    chart
        .configure_mesh()
        .light_line_style(WHITE.mix(0.0))
        .x_desc("bytes a fingerprint in tables")
        .y_desc("microseconds a query, data in memory")
        .label_style(("sans-serif", 14))
        .axis_desc_style(("sans-serif", 15))
        .x_label_formatter(&|x| tick(*x))
        .y_label_formatter(&|y| tick(*y))
        .draw()?;
    let others = plan.estimates.iter().filter(|e| !e.on_frontier && !e.chosen);
    chart.draw_series(others.map(|e| Circle::new(place(e), 3, GREY.filled())))?;
    if budget > smallest * 0.85 && budget < largest * 1.3 {
        let rule = [(budget, fastest * 0.7), (budget, slowest * 1.6)];
        chart.draw_series(LineSeries::new(rule, ORANGE.mix(0.6)))?;
        let style = ("sans-serif", 14).into_font().color(&ORANGE);
        chart.draw_series([Text::new(" budget", (budget, slowest * 1.45), style)])?;
    }
    chart.draw_series(LineSeries::new(plan.frontier().map(place), BLUE.stroke_width(2)))?;
    chart.draw_series(plan.frontier().map(|e| Circle::new(place(e), 4, BLUE.filled())))?;
    let chosen = plan.chosen();
    chart.draw_series([Circle::new(place(chosen), 9, ORANGE.stroke_width(3))])?;
    // Names above to the right of their points; those that would lie on one before are left out.
    let mut taken: Vec<(i32, i32)> = Vec::new();
    let mut named: Vec<&SchemeEstimate> = vec![chosen];
    named.extend(plan.frontier().filter(|e| !e.chosen));
    for estimate in named {
        let (x, y) = chart.backend_coord(&place(estimate));
        let wide = 8 * estimate.name.len() as i32;
        if taken.iter().any(|&(a, b)| (y - b).abs() < 16 && (x - a).abs() < wide.max(90)) {
            continue;
        }
        taken.push((x, y));
        let to_left = x + wide > WIDE as i32 - 20;
        let side = if to_left { HPos::Right } else { HPos::Left };
        let style = ("sans-serif", 14).into_font().color(&BLACK).pos(Pos::new(side, VPos::Bottom));
        let shift = if to_left { -10 } else { 10 };
        root.draw(&Text::new(estimate.name.clone(), (x + shift, y - 4), style))?;
    }
    root.present()?;
    Ok(())
}

fn tick(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{v:.0e}"),
        v if v >= 10.0 || v.fract() == 0.0 => format!("{v:.0}"),
        v => format!("{v:.1}"),
    }
}
