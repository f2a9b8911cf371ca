//! Output for notebooks: tables of the first rows of an answer, and pages in frames.

use crate::input::arguments::text;
use pyo3::prelude::*;

/// Maximum number of rows in a table.
const SHOWN: usize = 20;

/// The row numbers to show for an answer of `count` rows.
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

/// A text, escaped for HTML.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A page in a frame, which isolates its style and names. `rights` are the permissions of its
/// scripts; without any no script runs.
pub(crate) fn framed(page: &str, height: &str, rights: &str) -> String {
    let page = page.replace('&', "&amp;").replace('"', "&quot;");
    format!(
        "<iframe srcdoc=\"{page}\" style=\"width:100%;height:{height};border:1px solid #8888\" \
         sandbox=\"{rights}\"></iframe>"
    )
}

/// A page for a browser: one file that needs no network. A notebook shows it in a frame, isolated
/// from the notebook.
///
/// >>> page = fpstore.Recipe().compare_page("the quick fox", "the slow fox")
/// >>> (folder / "page.html").write_text(page.html()) > 1000
/// True
#[pyclass(frozen, module = "fpstore", name = "Page")]
pub(crate) struct Page(pub(crate) String);

#[pymethods]
impl Page {
    /// The page, to be written to a file.
    fn html(&self) -> &str {
        &self.0
    }

    fn _repr_html_(&self) -> String {
        // The policy of the page allows only its own scripts.
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
