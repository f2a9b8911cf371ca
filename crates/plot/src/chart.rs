//! The frame of a chart: its size, its axes with their labels, and its text.

use crate::axis::Tick;
use crate::marks::{Marks, Size, escaped, number};

/// The colours as CSS variables, for a light and for a dark theme.
pub const PALETTE: &str = include_str!("palette.css");

/// The styles of charts in a page; they need [`PALETTE`].
pub const STYLE: &str = include_str!("chart.css");

/// The frame of a chart, without its marks.
#[derive(Clone, Debug)]
pub struct Chart<'a> {
    /// An id that is unique in the page.
    pub id: &'a str,
    /// The subject of the chart in a few words.
    pub title: &'a str,
    /// The content in a sentence, for readers who do not see the chart.
    pub description: &'a str,
    /// The name of the horizontal axis.
    pub x_label: &'a str,
    /// The name of the vertical axis.
    pub y_label: &'a str,
    /// The labels of the horizontal axis.
    pub x_ticks: Vec<Tick>,
    /// The labels of the vertical axis, each with a line across the data.
    pub y_ticks: Vec<Tick>,
}

impl Chart<'_> {
    /// The chart as an `svg` element of a page that has [`PALETTE`] and [`STYLE`].
    pub fn inline(&self, marks: &Marks) -> String {
        self.draw(marks, "plot", "")
    }

    /// The chart as an SVG file, with a title and styles of its own.
    pub fn to_file(&self, marks: &Marks) -> String {
        let Size { width, height, .. } = marks.size();
        let style = format!(
            "<style>\n{PALETTE}{STYLE}</style>\n<rect class=\"paper\" width=\"{width}\" \
             height=\"{height}\"/>\n<text class=\"title\" x=\"12\" y=\"22\">{}</text>\n",
            escaped(self.title)
        );
        self.draw(marks, "plot file", &style)
    }

    fn draw(&self, marks: &Marks, class: &str, first: &str) -> String {
        let size = marks.size();
        let Size { width, height, .. } = size;
        let (id, title, text) = (self.id, escaped(self.title), escaped(self.description));
        let mut grid = String::new();
        let mut labels = String::new();
        let (left, right) = (number(size.left), number(size.x(1.0)));
        for (at, label) in &self.y_ticks {
            let y = number(size.y(*at));
            grid += &format!("<line x1=\"{left}\" x2=\"{right}\" y1=\"{y}\" y2=\"{y}\"/>\n");
            labels += &label_at("end", size.left - 5.0, size.y(*at) + 4.0, label);
        }
        for (at, label) in &self.x_ticks {
            labels += &label_at("middle", size.x(*at), height - size.bottom + 15.0, label);
        }
        labels += &label_at("middle name", size.x(0.5), height - 8.0, self.x_label);
        labels += &label_at("name", 4.0, size.top - 14.0, self.y_label);
        let axis = number(size.y(0.0));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"{class}\" id=\"{id}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\" \
             aria-labelledby=\"{id}-title {id}-text\">\n\
             <title id=\"{id}-title\">{title}</title>\n<desc id=\"{id}-text\">{text}</desc>\n\
             {first}<g class=\"grid\">\n{grid}</g>\n<g class=\"marks\">\n{}</g>\n\
             <line class=\"axis\" x1=\"{left}\" x2=\"{right}\" y1=\"{axis}\" y2=\"{axis}\"/>\n\
             <g class=\"labels\" aria-hidden=\"true\">\n{labels}</g>\n</svg>\n",
            marks.elements()
        )
    }
}

fn label_at(class: &str, x: f64, y: f64, text: &str) -> String {
    let (x, y) = (number(x), number(y));
    format!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{}</text>\n", escaped(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Label;

    #[test]
    fn a_file_has_a_title_styles_and_every_mark_and_text_is_escaped() {
        let mut marks = Marks::new(Size::SHEET);
        marks.dot((0.5, 0.5), 3.0, "dot", "a < b & \"c\"");
        marks.labels(&[Label { at: (0.5, 0.5), text: "<one>", class: "label" }]);
        let chart = Chart {
            id: "chart",
            title: "x & y",
            description: "a dot",
            x_label: "x",
            y_label: "y",
            x_ticks: vec![(0.0, "0".into())],
            y_ticks: vec![(0.0, "0".into()), (1.0, "1".into())],
        };
        let file = chart.to_file(&marks);
        for part in ["<style>", "x &amp; y", "a &lt; b &amp; &quot;c&quot;", "&lt;one&gt;"] {
            assert!(file.contains(part), "{part}: {file}");
        }
        assert!(file.starts_with("<svg xmlns=") && file.ends_with("</svg>\n"));
        assert!(!chart.inline(&marks).contains("<style>"));
    }
}
