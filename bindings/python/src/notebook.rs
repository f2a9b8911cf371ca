//! What notebooks show: tables of the first rows of an answer, and pages in frames of their own.

/// Rows that are shown.
const SHOWN: usize = 20;

/// The numbers of the rows that are shown of `count`.
pub(crate) fn shown(count: usize) -> std::ops::Range<usize> {
    0..count.min(SHOWN)
}

/// A table under construction.
pub(crate) struct Table(String);

impl Table {
    pub(crate) fn new<'a>(caption: &str, names: impl IntoIterator<Item = &'a str>) -> Self {
        let caption = escaped(caption);
        let mut html = format!("<table><caption>{caption}</caption><thead><tr>");
        for name in names {
            html.push_str(&format!("<th>{}</th>", escaped(name)));
        }
        html.push_str("</tr></thead><tbody>");
        Table(html)
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.0.push_str("<tr>");
        for cell in cells {
            self.0.push_str(&format!("<td>{}</td>", escaped(&cell)));
        }
        self.0.push_str("</tr>");
    }

    /// The whole table of an answer of `count` rows.
    pub(crate) fn finish(mut self, count: usize) -> String {
        let left = count - shown(count).end;
        if left > 0 {
            self.0.push_str(&format!("<tr><td>and {left} more</td></tr>"));
        }
        self.0.push_str("</tbody></table>");
        self.0
    }
}

/// A text between the tags of a page.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A page in a frame of its own, so that its style and its names stay inside.
pub(crate) fn framed(page: &str, height: &str) -> String {
    let page = page.replace('&', "&amp;").replace('"', "&quot;");
    format!(
        "<iframe srcdoc=\"{page}\" style=\"width:100%;height:{height};border:1px solid #8888\" \
         sandbox></iframe>"
    )
}
