//! A case as a picture: bytes a fingerprint against microseconds, both logarithmic.

use std::path::Path;

use anyhow::{Result, anyhow};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::data::count_name;
use crate::report::Row;

const WIDE: u32 = 960;
const HIGH: u32 = 600;
const BLUE: RGBColor = RGBColor(31, 95, 160);
const ORANGE: RGBColor = RGBColor(214, 94, 0);
const GREY: RGBColor = RGBColor(110, 110, 110);

/// Draws every contender: fpstore in orange, who misses matches as a ring.
pub fn draw(rows: &[Row], path: &Path) -> Result<()> {
    let mut text = String::new();
    draw_into(rows, &mut text).map_err(|error| anyhow!("{}: {error}", path.display()))?;
    Ok(std::fs::write(path, text)?)
}

fn draw_into(rows: &[Row], text: &mut String) -> Result<(), Box<dyn std::error::Error>> {
    let root = SVGBackend::with_string(text, (WIDE, HIGH)).into_drawing_area();
    root.fill(&WHITE)?;
    // A logarithm has no place for 0, which a clock may tell of a very short time.
    let place = |row: &Row| (row.bytes_per_fingerprint.max(0.01), row.p50_us.max(0.001));
    let range = |of: fn((f64, f64)) -> f64| {
        let values = rows.iter().map(|row| of(place(row)));
        values.fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)))
    };
    let (smallest, largest) = range(|(bytes, _)| bytes);
    let (fastest, slowest) = range(|(_, micros)| micros);
    let one = &rows[0];
    let caption = format!("{}, {}, k = {}", count_name(one.n as usize), one.data, one.k);
    let mut chart = ChartBuilder::on(&root)
        .caption(caption, ("sans-serif", 22))
        .margin(16)
        .x_label_area_size(48)
        .y_label_area_size(72)
        .build_cartesian_2d(
            (smallest * 0.7..largest * 2.0).log_scale(),
            (fastest * 0.5..slowest * 2.5).log_scale(),
        )?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc("bytes a fingerprint")
        .y_desc("microseconds a query, median")
        .label_style(("sans-serif", 14))
        .axis_desc_style(("sans-serif", 15))
        .x_label_formatter(&|x| tick(*x))
        .y_label_formatter(&|y| tick(*y))
        .draw()?;
    let mut taken: Vec<(i32, i32, i32)> = Vec::new();
    for row in rows {
        let colour = match row.contender.starts_with("fpstore") {
            true => ORANGE,
            false if row.recall < 1.0 => GREY,
            false => BLUE,
        };
        let style = if row.recall < 1.0 { colour.stroke_width(2) } else { colour.filled() };
        chart.draw_series([Circle::new(place(row), 5, style)])?;
        let (x, y) = chart.backend_coord(&place(row));
        let wide = 8 * row.contender.len() as i32 + 12;
        // A name stands to the right of its point, as high as no other name is in its way.
        let mut high = y;
        let in_the_way = |high: i32, &(a, b, other): &(i32, i32, i32)| {
            (high - b).abs() < 15 && x < a + other && a < x + wide
        };
        while taken.iter().any(|other| in_the_way(high, other)) {
            high -= 3;
        }
        taken.push((x, high, wide));
        let to_left = x + wide > WIDE as i32 - 24;
        let side = if to_left { HPos::Right } else { HPos::Left };
        let font = ("sans-serif", 14).into_font().color(&colour).pos(Pos::new(side, VPos::Center));
        let shift = if to_left { -10 } else { 10 };
        root.draw(&Text::new(row.contender.clone(), (x + shift, high), font))?;
    }
    root.present()?;
    Ok(())
}

fn tick(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{v:.0e}"),
        v if v >= 10.0 || v.fract() == 0.0 => format!("{v:.0}"),
        v => format!("{v:.2}"),
    }
}
