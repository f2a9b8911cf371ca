//! The curve as a picture.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::curve::{K_MAX, Point};

const SIZE: (u32, u32) = (760, 460);

/// What a line shows of each point.
type Share = fn(&Point) -> f64;

/// An SVG of precision, recall and F1 over k: figure 1 of Manku et al. (2007), for one's own data.
///
/// # Errors
///
/// What the plotting library says.
pub(super) fn svg(points: &[Point], title: &str) -> anyhow::Result<String> {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(title, ("sans-serif", 18))
            .margin(16)
            .margin_right(90)
            .x_label_area_size(42)
            .y_label_area_size(52)
            .build_cartesian_2d(0.0..K_MAX as f64, 0.0..1.0)?;
        chart
            .configure_mesh()
            .x_labels(K_MAX + 1)
            .y_labels(11)
            .x_label_formatter(&|k| format!("{k:.0}"))
            .y_label_formatter(&|share| format!("{share:.1}"))
            .light_line_style(TRANSPARENT)
            .bold_line_style(RGBColor(225, 225, 225))
            .x_desc("Hamming distance k")
            .label_style(("sans-serif", 14))
            .axis_desc_style(("sans-serif", 15))
            .draw()?;
        let series: [(&str, RGBColor, Share); 3] = [
            ("precision", RGBColor(0, 90, 170), |point| point.precision),
            ("recall", RGBColor(200, 90, 0), |point| point.recall),
            ("F1", RGBColor(0, 130, 90), |point| point.f1),
        ];
        // The names stand at the ends of the lines, apart from one another.
        let mut ends: Vec<(f64, usize)> = Vec::new();
        for (number, (_, colour, share)) in series.iter().enumerate() {
            let line = points.iter().map(|point| (point.k as f64, share(point)));
            chart.draw_series(LineSeries::new(line.clone(), colour.stroke_width(2)))?;
            chart.draw_series(line.map(|place| Circle::new(place, 3, colour.filled())))?;
            ends.push((points.last().map_or(0.0, share), number));
        }
        ends.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut above = f64::INFINITY;
        for (end, number) in ends {
            let (name, colour, _) = series[number];
            let height = end.min(above - 0.05);
            above = height;
            let (x, y) = chart.backend_coord(&(K_MAX as f64, height));
            let style = ("sans-serif", 15).into_font().color(&colour);
            let style = style.pos(Pos::new(HPos::Left, VPos::Center));
            area.draw(&Text::new(name, (x + 10, y), style))?;
        }
        area.present()?;
    }
    Ok(text)
}
