//! The class `Documents`: files of documents, and how they are read.

use std::path::PathBuf;

use fpstore::Resources;
use fpstore::options::{MAX_PAIRS, NumberOption};
use fpstore_documents::{
    DocumentFormat, DocumentOptions, FileChoice, HtmlPart, TextEncoding, TextFormat,
};
use pyo3::prelude::*;

use crate::errors::{Failure, input_error};
use crate::options::{choice, count};

/// The longest document.
const MAX_DOCUMENT: NumberOption = NumberOption { name: "max_document", min: 1, ..MAX_PAIRS };

/// Files and folders of documents, and how they are read; where no option is needed, paths do.
///
/// `format` is that of all files (`"jsonl"`, `"csv"`, `"tsv"`, `"warc"`, `"lines"`, `"text"`,
/// `"html"`, `"features"`); by default the name of each decides. `id_field` and `text_field` name
/// fields or columns, in JSON also `doc.body`; with `line_ids` the number of the line is the id.
/// `text_format` says what texts are: `"plain"`, `"html"` or `"markdown"`. `encoding` is `"utf-8"`,
/// `"detect"` or a name such as `"gbk"`, `html_part` `"auto"`, `"main"` or `"full"`. A document of more
/// than `max_document` bytes is bad. `include`, `exclude` and `hidden` choose the files of folders.
/// Bad records are errors, unless `skip_bad`.
///
/// >>> fpstore.Documents(["a.jsonl", "b.jsonl"], text_field="body")
/// <fpstore.Documents in 2 paths>
#[pyclass(frozen, module = "fpstore")]
pub(crate) struct Documents {
    paths: Vec<PathBuf>,
    options: DocumentOptions,
    max_document: Option<u64>,
}

impl Documents {
    /// The paths, and the options of reading within the limits of a call.
    pub(crate) fn with(&self, resources: &Resources) -> (Vec<PathBuf>, DocumentOptions) {
        let mut options = self.options.clone().resources(resources);
        if let Some(len) = self.max_document {
            options = options.max_document(len);
        }
        (self.paths.clone(), options)
    }

    /// The documents that a caller gives: an object, a path, or paths.
    pub(crate) fn of(given: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(documents) = given.cast::<Documents>() {
            let Documents { paths, options, max_document } = documents.get();
            let (paths, options) = (paths.clone(), options.clone());
            return Ok(Documents { paths, options, max_document: *max_document });
        }
        let options = DocumentOptions::default();
        Ok(Documents { paths: paths_of(given)?, options, max_document: None })
    }
}

fn paths_of(given: &Bound<'_, PyAny>) -> PyResult<Vec<PathBuf>> {
    match given.extract() {
        Ok(path) => Ok(vec![path]),
        Err(_) => given.try_iter()?.map(|path| path?.extract()).collect(),
    }
}

#[pymethods]
impl Documents {
    #[new]
    #[pyo3(signature = (
        paths, *, format=None, id_field="id", line_ids=false, text_field="text",
        text_format="plain", encoding="utf-8", html_part="auto", max_document=None,
        include=Vec::new(), exclude=Vec::new(), hidden=false, skip_bad=false
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn new(
        py: Python<'_>,
        paths: &Bound<'_, PyAny>,
        format: Option<&str>,
        id_field: &str,
        line_ids: bool,
        text_field: &str,
        text_format: &str,
        encoding: &str,
        html_part: &str,
        max_document: Option<i64>,
        include: Vec<String>,
        exclude: Vec<String>,
        hidden: bool,
        skip_bad: bool,
    ) -> PyResult<Self> {
        if line_ids && id_field != "id" {
            return Err(input_error(py, "line_ids takes no field as id; leave id_field out"));
        }
        let files = FileChoice::default()
            .include(&include)
            .and_then(|files| files.exclude(&exclude))
            .map_err(Failure::from)?
            .hidden(hidden);
        let text_format: TextFormat = choice(py, "text_format", text_format)?;
        let html_part: HtmlPart = choice(py, "html_part", html_part)?;
        let mut options = DocumentOptions::default()
            .id_field(id_field)
            .line_ids(line_ids)
            .text_field(text_field)
            .text_format(text_format)
            .encoding(TextEncoding::named(encoding).map_err(Failure::from)?)
            .html(html_part)
            .skip_bad(skip_bad)
            .files(files);
        if let Some(name) = format {
            let format: DocumentFormat = choice(py, "format", name)?;
            options = options.format(format);
        }
        let max_document = count(py, &MAX_DOCUMENT, max_document)?;
        Ok(Documents { paths: paths_of(paths)?, options, max_document })
    }

    fn __repr__(&self) -> String {
        let noun = if self.paths.len() == 1 { "path" } else { "paths" };
        format!("<fpstore.Documents in {} {noun}>", self.paths.len())
    }
}
