//! The frame of a plot: where data lie, axes with their labels, and the marks in them.

use std::fmt::Write;

use maud::{Markup, html};

/// Units of the drawing; the page scales it to the width there is.
const WIDTH: f64 = 320.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 44.0;
const RIGHT: f64 = 10.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 42.0;
/// The width of a letter of a name in bold, at most on average.
const LETTER: f64 = 7.2;

/// A label on an axis: where, 0 to 1, and what it says.
pub(super) type Tick = (f64, String);

/// What surrounds the marks of a plot.
pub(super) struct Frame<'a> {
    /// Unlike that of any other plot of the page.
    pub(super) id: &'a str,
    /// What it shows, in a few words.
    pub(super) title: &'a str,
    /// What it shows, for those who do not see it.
    pub(super) description: &'a str,
    pub(super) x_label: &'a str,
    pub(super) y_label: &'a str,
    pub(super) x_ticks: Vec<Tick>,
    pub(super) y_ticks: Vec<Tick>,
}

impl Frame<'_> {
    /// The whole plot.
    pub(super) fn draw(&self, marks: &Markup) -> Markup {
        let view = format!("0 0 {WIDTH} {HEIGHT}");
        let (title, description) = (format!("{}-title", self.id), format!("{}-text", self.id));
        let labelled = format!("{title} {description}");
        html! {
            svg.plot id=(self.id) viewBox=(view) role="img" aria-labelledby=(labelled)
                xmlns="http://www.w3.org/2000/svg" {
                title id=(title) { (self.title) }
                desc id=(description) { (self.description) }
                g.grid { @for (at, _) in &self.y_ticks {
                    line x1=(LEFT) x2=(number(x(1.0))) y1=(number(y(*at))) y2=(number(y(*at))) {}
                } }
                g.marks { (marks) }
                line.axis x1=(LEFT) x2=(number(x(1.0))) y1=(number(y(0.0))) y2=(number(y(0.0))) {}
                g.labels aria-hidden="true" {
                    @for (at, label) in &self.y_ticks {
                        text.end x=(LEFT - 5.0) y=(number(y(*at) + 4.0)) { (label) }
                    }
                    @for (at, label) in &self.x_ticks {
                        text.middle x=(number(x(*at))) y=(HEIGHT - BOTTOM + 15.0) { (label) }
                    }
                    text.middle.name x=(number(x(0.5))) y=(HEIGHT - 8.0) { (self.x_label) }
                    text.name x="4" y="12" { (self.y_label) }
                }
            }
        }
    }
}

/// From 0 to 1 to the left and right ends of the data.
pub(super) fn x(at: f64) -> f64 {
    LEFT + at * (WIDTH - LEFT - RIGHT)
}

/// From 0 to 1 to the lower and upper ends of the data.
pub(super) fn y(at: f64) -> f64 {
    HEIGHT - BOTTOM - at * (HEIGHT - TOP - BOTTOM)
}

/// A coordinate with as many places as can be seen.
pub(super) fn number(coordinate: f64) -> String {
    format!("{coordinate:.2}")
}

/// Where column `at` of `count` has its middle, 0 to 1.
pub(super) fn column(at: usize, count: usize) -> f64 {
    (at as f64 + 0.5) / count.max(1) as f64
}

/// A bar in column `at` of `count` from one height to another, with its text for the pointer.
pub(super) fn bar(at: usize, count: usize, from: f64, to: f64, class: &str, text: &str) -> Markup {
    let full = x(1.0) - x(0.0);
    let width = (full / count.max(1) as f64 * 0.76).min(full / 6.0);
    let (top, bottom) = (y(from.max(to)), y(from.min(to)));
    // What is there is seen, however little it is.
    let height = (bottom - top).max(1.0);
    html! {
        rect class=(class) x=(number(x(column(at, count)) - width / 2.0)) y=(number(top))
            width=(number(width)) height=(number(height)) { title { (text) } }
    }
}

/// A line through points.
pub(super) fn line(points: &[(f64, f64)], class: &str) -> Markup {
    let mut path = String::new();
    for (at, point) in points.iter().enumerate() {
        let step = if at == 0 { 'M' } else { 'L' };
        write!(path, "{step}{} {}", number(x(point.0)), number(y(point.1)))
            .expect("a string takes what is written");
    }
    html! { path class=(class) d=(path) {} }
}

/// A dot with its text for the pointer.
pub(super) fn dot(at: (f64, f64), radius: f64, class: &str, text: &str) -> Markup {
    html! {
        circle class=(class) cx=(number(x(at.0))) cy=(number(y(at.1))) r=(radius) { title { (text) } }
    }
}

/// A word beside a point, on the side where there is room.
pub(super) fn word(at: (f64, f64), text: &str, class: &str) -> Markup {
    let (point, len) = (x(at.0), text.chars().count() as f64 * LETTER);
    let (side, from) = match point {
        _ if point + 9.0 + len <= WIDTH => ("start", point + 9.0),
        _ if point - 9.0 - len >= LEFT => ("end", point - 9.0),
        _ => ("end", WIDTH - 4.0),
    };
    let above = if at.1 > 0.9 { 16.0 } else { -9.0 };
    html! {
        text class=(format!("{class} {side}")) x=(number(from)) y=(number(y(at.1) + above)) { (text) }
    }
}

/// Percentages from 0 to a round number above `most`, for heights as shares of that.
pub(super) fn percent_axis(most: f64) -> (f64, Vec<Tick>) {
    let (top, step) = [(0.02, 0.005), (0.05, 0.01), (0.1, 0.02), (0.2, 0.05), (0.5, 0.1)]
        .into_iter()
        .find(|&(top, _)| most <= top)
        .unwrap_or((1.0, 0.25));
    let count = (top / step + 0.5) as usize;
    let label = |i: usize| {
        let percent = i as f64 * step * 100.0;
        if step < 0.01 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
    };
    (top, (0..=count).map(|i| (i as f64 / count as f64, label(i))).collect())
}

/// A logarithmic axis over the powers of ten around these numbers, which are above 0.
#[derive(Clone, Copy)]
pub(super) struct LogAxis {
    low: f64,
    high: f64,
}

impl LogAxis {
    /// From the power of ten below `least` to that above `most`.
    pub(super) fn around(least: f64, most: f64) -> Self {
        let low = (least.log10() + 1e-9).floor();
        let high = (most.log10() - 1e-9).ceil().max(low + 1.0);
        LogAxis { low, high }
    }

    /// From closely below `least` to closely above `most`.
    pub(super) fn close(least: f64, most: f64) -> Self {
        LogAxis { low: least.log10() - 0.08, high: most.log10() + 0.08 }
    }

    /// Where a number lies, 0 to 1.
    pub(super) fn at(&self, number: f64) -> f64 {
        ((number.log10() - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// Powers of ten, with 2 and 5 between them where there are few.
    pub(super) fn ticks(&self, name: impl Fn(f64) -> String) -> Vec<Tick> {
        let powers = self.low.ceil() as i32 - 1..=self.high.floor() as i32;
        let steps: &[f64] = match self.high - self.low {
            span if span < 0.7 => &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0],
            span if span < 2.2 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let all = powers.flat_map(|p| steps.iter().map(move |step| step * 10_f64.powi(p)));
        let inside: Vec<f64> =
            all.filter(|v| (self.low - 1e-9..=self.high + 1e-9).contains(&v.log10())).collect();
        let every = inside.len().div_ceil(7).max(1);
        inside.into_iter().step_by(every).map(|v| (self.at(v), name(v))).collect()
    }
}

/// A power of two in at most four characters, k for 1024: `1`, `512`, `4k`, `1M`.
pub(super) fn short_binary(number: u64) -> String {
    let unit = (number.max(1).ilog2() / 10) as usize;
    format!("{}{}", number >> (10 * unit), ["", "k", "M", "G", "T", "P", "E"][unit])
}

/// A number in at most four characters: `1`, `64`, `1k`, `2M`, `17G`.
pub(super) fn short(number: f64) -> String {
    let (unit, name) = match number {
        n if n >= 1e18 => return format!("{n:.0e}"),
        n if n >= 1e15 => (1e15, "P"),
        n if n >= 1e12 => (1e12, "T"),
        n if n >= 1e9 => (1e9, "G"),
        n if n >= 1e6 => (1e6, "M"),
        n if n >= 1e3 => (1e3, "k"),
        _ => (1.0, ""),
    };
    let scaled = number / unit;
    if number < 0.095 {
        format!("{number:.2}")
    } else if scaled >= 9.95 || (scaled - scaled.round()).abs() < 0.05 {
        format!("{scaled:.0}{name}")
    } else {
        format!("{scaled:.1}{name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_hold_their_numbers_and_have_few_labels() {
        for (least, most) in [(1.0, 1.3), (1.0, 1e6), (0.064, 0.064), (3.0, 9.0), (5.0, 30_000.0)] {
            for axis in [LogAxis::around(least, most), LogAxis::close(least, most)] {
                assert!(axis.at(least) < axis.at(most * 1.001), "{least} {most}");
                let ticks = axis.ticks(short);
                assert!(ticks.len() <= 8, "{least} {most}: {ticks:?}");
                assert!(ticks.iter().all(|(at, _)| (0.0..=1.0).contains(at)));
            }
        }
        for most in [0.0, 0.001, 0.02, 0.3, 1.0] {
            let (top, ticks) = percent_axis(most);
            assert!(most <= top && (3..=6).contains(&ticks.len()), "{most}: {ticks:?}");
            assert_eq!((ticks[0].0, ticks[ticks.len() - 1].0), (0.0, 1.0));
        }
    }

    #[test]
    fn labels_are_short() {
        let shown = [0.064, 0.5, 1.0, 12.0, 999.0, 1500.0, 1e4, 2e6].map(short);
        assert_eq!(shown, ["0.06", "0.5", "1", "12", "999", "1.5k", "10k", "2M"]);
        let shown = [1, 512, 1024, 1 << 15, 1 << 20, 1 << 63].map(short_binary);
        assert_eq!(shown, ["1", "512", "1k", "32k", "1M", "8E"]);
    }
}
