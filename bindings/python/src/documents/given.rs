//! The class `Documents`: files of documents, and the options for reading them.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use fpstore::options::{MAX_PAIRS, NumberOption};
use fpstore::{IdKind, IdRef, Resources};
use fpstore_base::{InputPlace, fields};
use fpstore_corpus::{DocumentTable, Error, Loss, LossOf};
use fpstore_documents::Error::BadInput;
use fpstore_documents::{
    DocumentFormat, DocumentOptions, FileChoice, HtmlPart, TextEncoding, TextFormat, read_texts,
};
use fpstore_text::PassageUnit;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::table::{self, Columns, is_table};
use crate::answer_columns::IdColumn;
use crate::columns::RowsBuilder;
use crate::errors::{Failure, input_error, named};
use crate::input::arguments::{is_one_path, path, paths, text, text_or_none, texts};
use crate::input::texts::TextInput;
use crate::input::whole::Whole;
use crate::options::{choice, count};
use crate::stream::RowStream;
use crate::work::Reporter;

/// A longer name is no file on any system.
const NAME_LEN_MAX: usize = 4096;
/// Characters of a text in a message.
const SHOWN_LEN: usize = 40;
/// Maximum length of a document.
const MAX_DOCUMENT: NumberOption = NumberOption { name: "max_document", min: 1, ..MAX_PAIRS };

/// Files and folders of documents, or a table, with the options for reading them. Without options,
/// paths or a table can be given directly.
///
/// A table is a data frame of pandas or polars, a `Dataset` of datasets, a relation of DuckDB, an
/// Arrow table or stream, an iterator over these, a dictionary of columns, a list or an iterator of
/// dictionaries, or a single column of texts; a list of texts is taken for paths. Its columns are
/// named by `text_field` and `id_field`; without a column `id` the ids are the numbers of the rows.
/// The other options are for files.
///
/// - `format` is the format of all files (`"jsonl"`, `"csv"`, `"tsv"`, `"parquet"`, `"warc"`,
///   `"lines"`, `"text"`, `"html"`, `"features"`). By default it follows from the name of each file.
/// - `id_field` and `text_field` are names of fields or columns, in JSON also paths such as
///   `doc.body`. By default they are `id` and `text`, else the only field with another usual name,
///   such as `url` and `content`. With `line_ids` the ids are the numbers of the lines.
/// - `text_format` is `"plain"`, `"html"` or `"markdown"`.
/// - `unit` (`"paragraph"`, `"line"`, `"words:100"`) makes each passage of a text a document. Its
///   id is the id of the text, `#` and a number.
/// - `encoding` is `"utf-8"`, `"detect"` or a name such as `"gbk"`. Without it texts are UTF-8, and
///   pages have the encoding that they declare, else the detected one.
/// - `html_part` is `"auto"`, `"main"` or `"full"`.
/// - `max_document` is the maximum length in bytes. A longer document is a bad record.
/// - `include`, `exclude` and `hidden` choose the files in folders.
/// - `skip_bad` skips bad records, which are otherwise errors.
///
/// >>> fpstore.Documents(["a.jsonl", "b.jsonl"], text_field="body")
/// <fpstore.Documents in 2 paths>
#[pyclass(frozen, module = "fpstore")]
pub(crate) struct Documents {
    source: Source,
    options: DocumentOptions,
    max_document: Option<u64>,
    columns: Columns,
}

/// The source of documents.
enum Source {
    Paths(Vec<PathBuf>),
    Table(Py<PyAny>),
}

/// Documents that can be read several times.
pub(crate) struct Readable {
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) options: DocumentOptions,
    /// The table, if the documents are one.
    pub(crate) table: Option<DocumentTable>,
}

impl Documents {
    /// Makes the documents readable within the limits of a call. `fields` are the names of
    /// additional fields to read. A table is written to a temporary file.
    pub(crate) fn readable(
        &self,
        py: Python<'_>,
        resources: &Resources,
        fields: Vec<String>,
    ) -> PyResult<Readable> {
        let mut options = self.options.clone().resources(resources);
        if let Some(len) = self.max_document {
            options = options.max_document(len);
        }
        let object = match &self.source {
            Source::Paths(paths) => {
                return Ok(Readable { paths: paths.clone(), options, table: None });
            }
            Source::Table(object) => object.bind(py),
        };
        let folder = resources.temp_dir.clone().unwrap_or_else(std::env::temp_dir);
        let mut table = DocumentTable::create(&folder, &fields).map_err(Failure::from)?;
        let columns = Columns { fields, ..self.columns.clone() };
        table::write(object, &columns, &mut table)?;
        let path = table.finish().map_err(Failure::from)?;
        let options = table.options(options);
        Ok(Readable { paths: vec![path], options, table: Some(table) })
    }

    /// As [`Documents::of`], with the names of fields, if they are given.
    pub(crate) fn of_fields<'py>(
        given: &Bound<'py, PyAny>,
        text_field: Option<&Bound<'py, PyAny>>,
        id_field: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, Documents>> {
        let (py, names) = (given.py(), PyDict::new(given.py()));
        for (name, field) in [("text_field", text_field), ("id_field", id_field)] {
            field.map(|field| names.set_item(name, field)).transpose()?;
        }
        if names.is_empty() {
            return Documents::of(given);
        }
        if given.is_instance_of::<Documents>() {
            return Err(input_error(py, "Documents have their own text_field and id_field"));
        }
        Ok(py.get_type::<Documents>().call((given,), Some(&names))?.cast_into()?)
    }

    /// The documents in an argument: `Documents`, a path, paths, or a table.
    pub(crate) fn of<'py>(given: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Documents>> {
        if let Ok(documents) = given.cast::<Documents>() {
            return Ok(documents.clone());
        }
        let documents = given.py().get_type::<Documents>().call1((given,))?;
        Ok(documents.cast_into::<Documents>()?)
    }

    /// Calls `each` with the texts and the values of `fields` of each part of an Arrow table.
    pub(crate) fn each_arrow_part(
        &self,
        py: Python<'_>,
        fields: Vec<String>,
        each: impl FnMut(&TextInput, &[Vec<Option<String>>]) -> PyResult<()>,
    ) -> PyResult<()> {
        let Source::Table(object) = &self.source else {
            return Err(input_error(py, "documents are an Arrow table here, not paths"));
        };
        let columns = Columns { fields, ..self.columns.clone() };
        table::each_arrow_part(object.bind(py), &columns, each)
    }

    /// The title of a page about them.
    pub(crate) fn title(&self) -> String {
        match &self.source {
            Source::Table(_) => "a table".into(),
            Source::Paths(paths) => match paths.as_slice() {
                [path] => path.display().to_string(),
                paths => format!("{} paths", paths.len()),
            },
        }
    }

    /// Whether they are a table.
    pub(crate) fn is_table(&self) -> bool {
        matches!(self.source, Source::Table(_))
    }

    /// The items of a benchmark: as [`Documents::of`], but the ids of items in paths are the
    /// numbers of their lines.
    pub(crate) fn of_items<'py>(given: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Documents>> {
        if given.is_instance_of::<Documents>() || is_table(given)? {
            return Documents::of(given);
        }
        let numbered = PyDict::new(given.py());
        numbered.set_item("line_ids", true)?;
        let class = given.py().get_type::<Documents>();
        Ok(class.call((given,), Some(&numbered))?.cast_into::<Documents>()?)
    }
}

fn paths_of(given: &Bound<'_, PyAny>) -> PyResult<Vec<PathBuf>> {
    let found = match is_one_path(given)? {
        true => path(given).map(|path| vec![path]),
        false => paths(given),
    };
    let found = found.map_err(|error| named(error, "paths"))?;
    let is_address = |path: &&PathBuf| path.to_str().is_some_and(|name| name.contains("://"));
    if let Some(address) = found.iter().find(is_address).filter(|path| !path.exists()) {
        let message = format!(
            "'{address}' is an address, and documents are read from local files: \
             fsspec.open_local('simplecache::{address}') copies it",
            address = address.display()
        );
        return Err(input_error(given.py(), message));
    }
    let is_text = |path: &&PathBuf| {
        let name = path.to_string_lossy();
        let words = name.split_whitespace().count();
        (words > 1 || name.len() > NAME_LEN_MAX) && !path.exists()
    };
    if let Some(text) = found.iter().find(is_text) {
        let text: String = text.to_string_lossy().chars().take(SHOWN_LEN).collect();
        let message = format!(
            "'{text}' is no file; texts are given as a column of a table: Documents({{'text': texts}})"
        );
        return Err(input_error(given.py(), message));
    }
    Ok(found)
}

#[pymethods]
impl Documents {
    #[new]
    #[pyo3(signature = (
        paths, *, format=None, id_field=None, line_ids=false, text_field=None,
        text_format="plain", unit=None, encoding=None, html_part="auto", max_document=None,
        include=Vec::new(), exclude=Vec::new(), hidden=false, skip_bad=false
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn new(
        py: Python<'_>,
        paths: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = text_or_none)] format: Option<&str>,
        #[pyo3(from_py_with = text_or_none)] id_field: Option<&str>,
        line_ids: bool,
        #[pyo3(from_py_with = text_or_none)] text_field: Option<&str>,
        #[pyo3(from_py_with = text)] text_format: &str,
        #[pyo3(from_py_with = text_or_none)] unit: Option<&str>,
        #[pyo3(from_py_with = text_or_none)] encoding: Option<&str>,
        #[pyo3(from_py_with = text)] html_part: &str,
        max_document: Option<Whole>,
        #[pyo3(from_py_with = texts)] include: Vec<String>,
        #[pyo3(from_py_with = texts)] exclude: Vec<String>,
        hidden: bool,
        skip_bad: bool,
    ) -> PyResult<Self> {
        if line_ids && id_field.is_some() {
            return Err(input_error(py, "line_ids takes no field as id; leave id_field out"));
        }
        let files = FileChoice::default()
            .include(&include)
            .and_then(|files| files.exclude(&exclude))
            .map_err(Failure::from)?
            .hidden(hidden);
        let text_format: TextFormat = choice(py, "text_format", text_format)?;
        let unit: Option<PassageUnit> = unit
            .map(str::parse)
            .transpose()
            .map_err(|expected| input_error(py, format!("unit: {expected}")))?;
        let html_part: HtmlPart = choice(py, "html_part", html_part)?;
        let mut options = DocumentOptions::default()
            .line_ids(line_ids)
            .text_format(text_format)
            .unit(unit)
            .encoding(encoding.map(TextEncoding::named).transpose().map_err(Failure::from)?)
            .html(html_part)
            .skip_bad(skip_bad)
            .files(files);
        if let Some(field) = id_field {
            options = options.id_field(field);
        }
        if let Some(field) = text_field {
            options = options.text_field(field);
        }
        if let Some(name) = format {
            let format: DocumentFormat = choice(py, "format", name)?;
            options = options.format(format);
        }
        let max_document = count(py, &MAX_DOCUMENT, max_document)?;
        let columns = Columns {
            text: text_field.unwrap_or(fields::TEXT[0]).into(),
            id: (!line_ids).then(|| id_field.unwrap_or(fields::ID[0]).into()),
            fields: Vec::new(),
        };
        let source = match is_table(paths)? {
            true => Source::Table(paths.clone().unbind()),
            false => Source::Paths(paths_of(paths)?),
        };
        Ok(Documents { source, options, max_document, columns })
    }

    /// The documents as a stream of rows of `id` and `text`, as `clean` reads them: the main text of
    /// a page, and a document for each passage with `unit`.
    ///
    /// >>> documents = fpstore.Documents({"id": [7], "text": ["some words"]})
    /// >>> documents.rows().read_all().to_pylist()
    /// [('7', 'some words')]
    /// >>> [document.text for document in documents]
    /// ['some words']
    fn rows(&self, py: Python<'_>) -> PyResult<RowStream> {
        let readable = self.readable(py, &Resources::default(), Vec::new())?;
        let columns = (IdColumn::new(IdKind::Text), StringBuilder::new());
        let mut rows = RowsBuilder::new(["id", "text"], columns);
        RowStream::start(Arc::clone(&rows.schema), Reporter::default(), move |shared, sink| {
            let options = readable.options.clone().observer(shared.observer());
            read_texts(&readable.paths, &options, |id, text| -> Result<(), Failure> {
                let id = id.to_id().to_string();
                rows.send((Some(IdRef::Text(&id)), text), sink)
            })
            .map_err(|failure| of_row(failure, &readable))?;
            rows.flush(sink)
        })
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let chain = py.import("itertools")?.getattr("chain")?;
        chain.call_method1("from_iterable", (self.rows(py)?,))
    }

    fn __repr__(&self) -> String {
        let Source::Paths(paths) = &self.source else {
            return "<fpstore.Documents in a table>".into();
        };
        let noun = if paths.len() == 1 { "path" } else { "paths" };
        format!("<fpstore.Documents in {} {noun}>", paths.len())
    }
}

impl Readable {
    /// Gives the temporary file of a table another name in losses.
    pub(super) fn rename(&self, losses: &mut [Loss]) {
        for loss in losses.iter_mut().filter(|_| self.table.is_some()) {
            if let LossOf::File(name) = &mut loss.of {
                *name = "the table".into();
            }
        }
    }
}

/// The error of a document in a table, with its row instead of its place in a file.
pub(crate) fn of_row(failure: Failure, documents: &Readable) -> Failure {
    let Some(table) = &documents.table else { return failure };
    match failure {
        Failure::Corpus(Error::TooMuchLost { mut loss, limit, mut overview }) => {
            documents.rename(std::slice::from_mut(&mut *loss));
            documents.rename(&mut overview.losses);
            Failure::Corpus(Error::TooMuchLost { loss, limit, overview })
        }
        Failure::Corpus(Error::Text(BadInput { name, place, reason }))
            if documents.paths.iter().any(|path| *path.to_string_lossy() == name) =>
        {
            let row = match place {
                InputPlace::Line(line) => table.row_of(line),
                _ => 0,
            };
            Failure::Input(format!("row {row} of the table: {reason}"))
        }
        failure => failure,
    }
}
