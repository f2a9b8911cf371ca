//! The marks of a chart: bars, lines, dots and labels, at positions from 0 to 1.

use std::fmt::Write;

use crate::axis::Column;

/// The height of a line of labels.
const LINE_HEIGHT: f64 = 15.0;

/// The size of a chart in SVG units, and the margins around the data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// The width of the drawing.
    pub(crate) width: f64,
    /// The height of the drawing.
    pub(crate) height: f64,
    /// Margin to the left of the data, for the labels of the vertical axis.
    pub(crate) left: f64,
    /// Margin to the right of the data.
    pub(crate) right: f64,
    /// Margin above the data, for the name of the vertical axis.
    pub(crate) top: f64,
    /// Margin below the data, for the labels of the horizontal axis.
    pub(crate) bottom: f64,
    /// An upper bound for the average width of a letter.
    pub(crate) letter: f64,
}

impl Size {
    /// The size of one of several charts on a page.
    pub const CARD: Size = Size {
        width: 320.0,
        height: 220.0,
        left: 44.0,
        right: 10.0,
        top: 26.0,
        bottom: 42.0,
        letter: 7.2,
    };

    /// The size of a chart in a separate file, with a title above and room for names at the right.
    pub const SHEET: Size = Size {
        width: 800.0,
        height: 500.0,
        left: 56.0,
        right: 96.0,
        top: 56.0,
        bottom: 46.0,
        letter: 8.0,
    };

    /// The horizontal coordinate of a position from 0, the left end of the data, to 1, the right
    /// end.
    pub(crate) fn x(&self, at: f64) -> f64 {
        self.left + at * (self.width - self.left - self.right)
    }

    /// The vertical coordinate of a position from 0, the lower end of the data, to 1, the upper
    /// end.
    pub(crate) fn y(&self, at: f64) -> f64 {
        self.height - self.bottom - at * (self.height - self.top - self.bottom)
    }
}

/// Marks in the order of drawing. Each `class` argument is a CSS class of [`STYLE`](crate::STYLE).
#[derive(Clone, Debug)]
pub struct Marks {
    size: Size,
    elements: String,
}

/// The name of a point.
#[derive(Clone, Copy, Debug)]
pub struct Label<'a> {
    /// The position of the point.
    pub at: (f64, f64),
    /// The name.
    pub text: &'a str,
    /// The CSS class of the text.
    pub class: &'a str,
}

impl Marks {
    /// An empty list of marks for a chart of this size.
    pub fn new(size: Size) -> Self {
        Marks { size, elements: String::new() }
    }

    /// The size of the chart.
    pub(crate) fn size(&self) -> Size {
        self.size
    }

    /// The marks as SVG elements.
    pub(crate) fn elements(&self) -> &str {
        &self.elements
    }

    fn add(&mut self, element: std::fmt::Arguments<'_>) {
        self.elements.write_fmt(element).expect("a string takes every write");
    }

    /// A bar in a column, from one height to another. `text` is the tooltip of the bar.
    pub fn bar(&mut self, column: Column, heights: (f64, f64), class: &str, text: &str) {
        let full = self.size.x(1.0) - self.size.x(0.0);
        let width = (full / column.count.max(1) as f64 * 0.76).min(full / 6.0);
        let top = self.size.y(heights.0.max(heights.1));
        // At least one unit, so that the smallest bar is visible.
        let height = (self.size.y(heights.0.min(heights.1)) - top).max(1.0);
        let x = self.size.x(column.middle()) - width / 2.0;
        self.add(format_args!(
            "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\">\
             <title>{}</title></rect>\n",
            number(x),
            number(top),
            number(width),
            number(height),
            escaped(text)
        ));
    }

    /// A line through points.
    pub fn line(&mut self, points: &[(f64, f64)], class: &str) {
        let mut path = String::new();
        for (at, point) in points.iter().enumerate() {
            let step = if at == 0 { 'M' } else { 'L' };
            let (x, y) = (number(self.size.x(point.0)), number(self.size.y(point.1)));
            path += &format!("{step}{x} {y}");
        }
        self.add(format_args!("<path class=\"{class}\" d=\"{path}\"/>\n"));
    }

    /// A short horizontal line in a column.
    pub fn level(&mut self, column: Column, height: f64, class: &str) {
        let half = (0.46 / column.count.max(1) as f64).min(0.1);
        let middle = column.middle();
        self.line(&[(middle - half, height), (middle + half, height)], class);
    }

    /// A dot. `text` is the tooltip of the dot.
    pub fn dot(&mut self, at: (f64, f64), radius: f64, class: &str, text: &str) {
        let (x, y) = (number(self.size.x(at.0)), number(self.size.y(at.1)));
        self.add(format_args!(
            "<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{radius}\">\
             <title>{}</title></circle>\n",
            escaped(text)
        ));
    }

    /// Names of points, the most important first. A name is placed to the right of its point, or to
    /// the left if there is no room. If it overlaps earlier names, it is raised by up to three
    /// lines; if it still overlaps, it is left out.
    pub fn labels(&mut self, labels: &[Label<'_>]) {
        let mut placed: Vec<(f64, f64, f64)> = Vec::new();
        for label in labels {
            let width = label.text.chars().count() as f64 * self.size.letter;
            let (class, from, left) = self.side_of(label.at.0, width);
            let lowest = self.size.y(label.at.1) + if label.at.1 > 0.9 { 16.0 } else { -9.0 };
            let is_free = |y: f64| {
                placed.iter().all(|&(other, other_width, other_y)| {
                    (y - other_y).abs() >= LINE_HEIGHT
                        || left >= other + other_width
                        || other >= left + width
                })
            };
            let steps = (0..=12).map(|step| lowest - f64::from(step) * LINE_HEIGHT / 4.0);
            let inside = steps.filter(|&y| y > LINE_HEIGHT);
            let Some(y) = inside.into_iter().find(|&y| is_free(y)) else { continue };
            placed.push((left, width, y));
            let (x, y) = (number(from), number(y));
            self.add(format_args!(
                "<text class=\"{} {class}\" x=\"{x}\" y=\"{y}\">{}</text>\n",
                label.class,
                escaped(label.text)
            ));
        }
    }

    /// The class and the anchor of a text next to a point, and the left end of the text.
    fn side_of(&self, at: f64, width: f64) -> (&'static str, f64, f64) {
        let point = self.size.x(at);
        if point + 9.0 + width <= self.size.width {
            ("start", point + 9.0, point + 9.0)
        } else if point - 9.0 - width >= self.size.left {
            ("end", point - 9.0, point - 9.0 - width)
        } else {
            ("end", self.size.width - 4.0, self.size.width - 4.0 - width)
        }
    }
}

/// A coordinate with two decimals; more digits make no visible difference.
pub(crate) fn number(coordinate: f64) -> String {
    format!("{coordinate:.2}")
}

/// Text, escaped for an element or an attribute of XML.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_would_overlap_are_raised_and_then_left_out() {
        let mut marks = Marks::new(Size::SHEET);
        let names: Vec<String> = (0..9).map(|i| format!("name {i}")).collect();
        let labels: Vec<Label<'_>> =
            names.iter().map(|text| Label { at: (0.5, 0.5), text, class: "label" }).collect();
        marks.labels(&labels);
        let heights: Vec<&str> = marks.elements().split(" y=\"").skip(1).collect();
        assert_eq!(heights.len(), 4, "{}", marks.elements());
        assert!(marks.elements().contains("name 0") && !marks.elements().contains("name 8"));
    }

    #[test]
    fn names_at_the_right_end_stand_to_the_left() {
        let mut marks = Marks::new(Size::CARD);
        marks.labels(&[Label { at: (1.0, 0.5), text: "a long name", class: "label" }]);
        assert!(marks.elements().contains("label end"), "{}", marks.elements());
    }
}
