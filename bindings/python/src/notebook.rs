//! Output for notebooks: HTML tables of the first rows of an answer, and HTML pages in frames.

use crate::input::arguments::text;
use pyo3::prelude::*;

/// Maximum number of rows in an HTML table.
const SHOWN: usize = 20;

/// The row numbers to show for an answer of `count` rows.
pub(crate) fn shown(count: usize) -> std::ops::Range<usize> {
    0..count.min(SHOWN)
}

/// An HTML table under construction.
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

    /// The complete HTML table. A last row counts the rows of the answer that are not shown.
    pub(crate) fn finish(mut self, count: usize) -> String {
        let left = count - shown(count).end;
        if left > 0 {
            self.0.push_str(&format!("<tr><td>and {left} more</td></tr>"));
        }
        self.0.push_str("</tbody></table>");
        self.0
    }
}

/// A text, escaped for HTML.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// HTML for a frame, which isolates the style and the names of the page. `rights` are the sandbox
/// permissions of the page; if they are empty, its scripts do not run.
pub(crate) fn framed(page: &str, height: &str, rights: &str) -> String {
    let page = page.replace('&', "&amp;").replace('"', "&quot;");
    format!(
        "<iframe srcdoc=\"{page}\" style=\"width:100%;height:{height};border:1px solid #8888\" \
         sandbox=\"{rights}\"></iframe>"
    )
}

/// An HTML page: one file that needs no network. A notebook shows it in a frame, isolated from the
/// notebook.
///
/// >>> page = fpstore.Recipe().compare_page("the quick fox", "the slow fox")
/// >>> (folder / "page.html").write_text(page.html()) > 1000
/// True
#[pyclass(frozen, module = "fpstore", name = "Page")]
pub(crate) struct Page(pub(crate) String);

#[pymethods]
impl Page {
    /// The HTML text of the page, to be written to a file.
    fn html(&self) -> &str {
        &self.0
    }

    fn _repr_html_(&self) -> String {
        // Scripts can be allowed, because the content policy of the page accepts no others.
        framed(&self.0, "40em", "allow-scripts allow-downloads")
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((py.import("fpstore._fpstore")?.getattr("_page_of")?, (self.0.clone(),)))
    }

    fn __repr__(&self) -> String {
        format!("<fpstore.Page of {} bytes>", self.0.len())
    }
}

/// Restores a pickled page.
#[pyfunction]
pub(crate) fn _page_of(#[pyo3(from_py_with = text)] html: String) -> Page {
    Page(html)
}
