//! The class `Documents`: files of documents, and the options for reading them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use fpstore::options::{MAX_PAIRS, NumberOption};
use fpstore::{IdKind, IdRef, Resources};
use fpstore_base::{InputPlace, fields};
use fpstore_corpus::{DocumentTable, Error, Loss, LossOf};
use fpstore_disk::ScratchDirectory;
use fpstore_documents::Error::BadInput;
use fpstore_documents::{
    DocumentFormat, DocumentOptions, FileChoice, HtmlPart, TextEncoding, TextFormat, read_texts,
};
use fpstore_text::PassageUnit;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::table::{Columns, RowWriter, each_arrow_part, is_table};
use crate::answer_columns::IdColumn;
use crate::columns::RowsBuilder;
use crate::errors::{Failure, input_error, named};
use crate::input::arguments::{is_one_path, path, paths, text, text_or_none, texts};
use crate::input::texts::TextInput;
use crate::input::whole::Bytes;
use crate::options::{choice, count};
use crate::stream::RowStream;
use crate::work::Reporter;

/// The Python module that reads and writes files at addresses such as `s3://bucket/name`.
pub(super) const REMOTE: &str = "fpstore._remote";
/// Maximum length of a path; a longer text is not the path of a file.
const NAME_LEN_MAX: usize = 4096;
/// Maximum number of characters of a text that is quoted in a message.
const SHOWN_LEN: usize = 40;
/// The option `max_document`: the maximum length of a document in bytes.
const MAX_DOCUMENT: NumberOption = NumberOption { name: "max_document", min: 1, ..MAX_PAIRS };

/// Documents in files and folders, or in a table, with the options for reading them. Functions that
/// take documents also accept paths or a table directly, with default options.
///
/// Parameters
/// ----------
/// paths : path, list of paths, or table
///     Paths are files, folders, glob patterns, or addresses such as `s3://bucket/name`, which the
///     package fsspec reads (with s3fs, gcsfs, huggingface_hub, ...). A table is a data frame of
///     pandas or polars, a `Dataset` of datasets, a relation of DuckDB, an Arrow table or stream,
///     an iterator over these, a dictionary of columns, a list or an iterator of dictionaries, or a
///     column of texts. A list of texts is taken for paths.
/// format : str, optional
///     The format of all files: `"jsonl"`, `"csv"`, `"tsv"`, `"parquet"`, `"warc"`, `"lines"`,
///     `"text"`, `"html"` or `"features"`. By default the file extension decides.
/// id_field, text_field : str, optional
///     Fields or columns with the ids and texts; in JSON also paths such as `doc.body`. By default
///     `id` and `text`; if a file has no such field, the only field with another usual name, such
///     as `url` or `content`. Without an id column, the ids of a table are row numbers.
/// line_ids : bool, default False
///     Whether the ids are line numbers.
/// text_format : str, default "plain"
///     The format of the texts: `"plain"`, `"html"` or `"markdown"`.
/// unit : str, optional
///     `"paragraph"`, `"line"` or `"words:100"`: each passage of a text becomes a document. Its id
///     is the id of the text, `#` and a number.
/// encoding : str, optional
///     `"utf-8"`, `"detect"` or a name such as `"gbk"`. By default UTF-8; for HTML pages the
///     declared encoding, or the detected encoding if a page declares none.
/// html_part : str, default "auto"
///     The part of an HTML page to read: `"auto"`, `"main"` or `"full"`.
/// max_document : int or str, optional
///     Maximum length of a document in bytes. A longer document is a bad record.
/// include, exclude : str or list of str, optional
///     Glob patterns of the files to read in folders, and of files to skip.
/// hidden : bool, default False
///     Whether hidden files in folders are read.
/// skip_bad : bool, default False
///     Whether bad records are skipped; otherwise they are errors.
///
/// Examples
/// --------
/// >>> fpstore.Documents(["a.jsonl", "b.jsonl"], text_field="body")
/// <fpstore.Documents in 2 paths>
/// >>> [document.text for document in fpstore.Documents({"id": [7], "text": ["some words"]})]
/// ['some words']
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
    /// The table, if the documents come from a table.
    pub(crate) table: Option<DocumentTable>,
    /// Prefixes of temporary paths, each with the name that messages and answers show.
    pub(super) shown: Vec<(String, String)>,
    /// The folder with copies of files at addresses; dropping this field deletes it.
    _copies: Option<ScratchDirectory>,
}

impl Documents {
    /// Prepares the documents for reading within the limits of a call: a table is written to a
    /// temporary file, and files at addresses are copied.
    pub(crate) fn readable(&self, py: Python<'_>, resources: &Resources) -> PyResult<Readable> {
        self.readable_as(py, resources, Vec::new(), |table| table)
    }

    /// Like [`Documents::readable`], but also reads the additional fields named in `fields`, and
    /// `make` sets further options of the temporary table.
    pub(super) fn readable_as(
        &self,
        py: Python<'_>,
        resources: &Resources,
        fields: Vec<String>,
        make: impl FnOnce(DocumentTable) -> DocumentTable,
    ) -> PyResult<Readable> {
        let mut options = self.options.clone().resources(resources);
        if let Some(len) = self.max_document {
            options = options.max_document(len);
        }
        let folder = resources.temp_dir.clone().unwrap_or_else(std::env::temp_dir);
        let object = match &self.source {
            Source::Paths(paths) => return copied(py, paths, &folder, options),
            Source::Table(object) => object.bind(py),
        };
        let mut table = make(DocumentTable::create(&folder, &fields).map_err(Failure::from)?);
        let columns = Columns { fields, ..self.columns.clone() };
        RowWriter { columns: &columns, table: &mut table }.write(object)?;
        let path = table.finish().map_err(Failure::from)?;
        let options = table.options(options);
        let shown = vec![(path.display().to_string(), "the table".to_owned())];
        Ok(Readable { paths: vec![path], options, table: Some(table), shown, _copies: None })
    }

    /// Like [`Documents::of`], but with optional names of the text and id fields. With
    /// `has_line_ids`, the ids of documents in files are line numbers.
    pub(super) fn of_fields<'py>(
        given: &Bound<'py, PyAny>,
        text_field: Option<&Bound<'py, PyAny>>,
        id_field: Option<&Bound<'py, PyAny>>,
        has_line_ids: bool,
    ) -> PyResult<Bound<'py, Documents>> {
        let (py, names) = (given.py(), PyDict::new(given.py()));
        for (name, field) in [("text_field", text_field), ("id_field", id_field)] {
            field.map(|field| names.set_item(name, field)).transpose()?;
        }
        if let Ok(documents) = given.cast::<Documents>() {
            if !names.is_empty() {
                let message = "Documents have their own text_field and id_field";
                return Err(input_error(py, message));
            }
            return Ok(documents.clone());
        }
        if has_line_ids && !is_table(given)? {
            names.set_item("line_ids", true)?;
        }
        Ok(py.get_type::<Documents>().call((given,), Some(&names))?.cast_into()?)
    }

    /// The documents in an argument: `Documents`, a path, paths, or a table.
    pub(crate) fn of<'py>(given: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Documents>> {
        Documents::of_fields(given, None, None, false)
    }

    /// Calls `each` for each part of an Arrow table, with its texts and its values of `fields`.
    pub(crate) fn each_arrow_part(
        &self,
        py: Python<'_>,
        fields: Vec<String>,
        each: impl FnMut(&TextInput, &[Vec<Option<String>>]) -> PyResult<()>,
    ) -> PyResult<()> {
        let Source::Table(object) = &self.source else {
            return Err(input_error(py, "documents must be an Arrow table, not paths"));
        };
        let columns = Columns { fields, ..self.columns.clone() };
        each_arrow_part(object.bind(py), &columns, each)
    }

    /// The title of an HTML page about the documents.
    pub(crate) fn title(&self) -> String {
        match &self.source {
            Source::Table(_) => "a table".into(),
            Source::Paths(paths) => match paths.as_slice() {
                [path] => path.display().to_string(),
                paths => format!("{} paths", paths.len()),
            },
        }
    }

    /// Whether each passage of a text is a document of its own (option `unit`).
    pub(super) fn are_passages(&self) -> bool {
        self.options.passage_unit().is_some()
    }

    /// Whether the documents come from a table.
    pub(crate) fn is_table(&self) -> bool {
        matches!(self.source, Source::Table(_))
    }
}

fn paths_of(given: &Bound<'_, PyAny>) -> PyResult<Vec<PathBuf>> {
    let found = match is_one_path(given)? {
        true => path(given).map(|path| vec![path]),
        false => paths(given),
    };
    let found = found.map_err(|error| named(error, "paths"))?;
    let found = expanded(given.py(), found)?;
    let is_text = |path: &&PathBuf| {
        let name = path.to_string_lossy();
        let words = name.split_whitespace().count();
        (words > 1 || name.len() > NAME_LEN_MAX) && !path.exists()
    };
    if let Some(text) = found.iter().find(is_text) {
        let text: String = text.to_string_lossy().chars().take(SHOWN_LEN).collect();
        let message = format!(
            "'{text}' is not a file; texts are given as a column of a table: Documents({{'text': \
             texts}})"
        );
        return Err(input_error(given.py(), message));
    }
    Ok(found)
}

/// Replaces each glob pattern by the files that match it, and keeps a pattern without matches.
fn expanded(py: Python<'_>, paths: Vec<PathBuf>) -> PyResult<Vec<PathBuf>> {
    let mut all = Vec::new();
    for path in paths {
        let is_pattern = path.to_string_lossy().contains(['*', '?', '[']);
        let mut found: Vec<PathBuf> = match is_pattern && !is_address(&path) && !path.exists() {
            true => py.import(REMOTE)?.call_method1("expanded", (path.as_os_str(),))?.extract()?,
            false => Vec::new(),
        };
        match found.is_empty() {
            true => all.push(path),
            false => all.append(&mut found),
        }
    }
    Ok(all)
}

/// Whether a path is an address for the package fsspec, such as `s3://bucket/name`.
pub(super) fn is_address(path: &Path) -> bool {
    path.to_str().is_some_and(|name| name.contains("://")) && !path.exists()
}

/// Prepares the documents in `paths` for reading: files at addresses are copied to `folder`.
fn copied(
    py: Python<'_>,
    paths: &[PathBuf],
    folder: &Path,
    options: DocumentOptions,
) -> PyResult<Readable> {
    let (mut all, mut shown, mut copies) = (Vec::new(), Vec::new(), None);
    for (number, path) in paths.iter().enumerate() {
        if !is_address(path) {
            all.push(path.clone());
            continue;
        }
        let directory = match &mut copies {
            Some(directory) => directory,
            none => none.insert(
                ScratchDirectory::create(folder)
                    .map_err(fpstore::Error::Io)
                    .map_err(Failure::from)?,
            ),
        };
        let target = directory.path().join(number.to_string());
        let found =
            py.import(REMOTE)?.call_method1("fetch", (path.as_os_str(), target.as_os_str()))?;
        let (local, address): (Vec<PathBuf>, String) = found.extract()?;
        all.extend(local);
        shown.push((format!("{}/", target.display()), format!("{address}/")));
    }
    Ok(Readable { paths: all, options, table: None, shown, _copies: copies })
}

#[pymethods]
impl Documents {
    #[new]
    #[pyo3(signature = (
        paths, *, format=None, id_field=None, line_ids=false, text_field=None,
        text_format="plain", unit=None, encoding=None, html_part="auto", max_document=None,
        include=Vec::new(), exclude=Vec::new(), hidden=false, skip_bad=false
    ))]
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
        max_document: Option<Bytes>,
        #[pyo3(from_py_with = texts)] include: Vec<String>,
        #[pyo3(from_py_with = texts)] exclude: Vec<String>,
        hidden: bool,
        skip_bad: bool,
    ) -> PyResult<Self> {
        if line_ids && id_field.is_some() {
            return Err(input_error(py, "line_ids uses line numbers as ids; leave id_field out"));
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
        let format: Option<DocumentFormat> =
            format.map(|name| choice(py, "format", name)).transpose()?;
        let mut options = DocumentOptions::default()
            .format(format)
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

    /// The documents as `clean` reads them: the main text of a page, and with `unit` a document for
    /// each passage.
    ///
    /// Returns
    /// -------
    /// fpstore.types.RowStream
    ///     Rows of `id` and `text`.
    ///
    /// Examples
    /// --------
    /// >>> fpstore.Documents({"id": [7], "text": ["some words"]}).rows().read_all().to_pylist()
    /// [('7', 'some words')]
    fn rows(&self, py: Python<'_>) -> PyResult<RowStream> {
        let readable = self.readable(py, &Resources::default())?;
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

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("Documents are not pickled; their paths and options can be"))
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
    /// Replaces temporary paths in a text by the names of the documents.
    pub(crate) fn shown(&self, text: String) -> String {
        self.shown.iter().fold(text, |text, (path, name)| text.replace(path, name))
    }

    /// Replaces temporary paths in the file names of losses.
    pub(super) fn rename(&self, losses: &mut [Loss]) {
        for loss in losses {
            if let LossOf::File(name) = &mut loss.of {
                *name = self.shown(std::mem::take(name));
            }
        }
    }

    /// Replaces temporary paths in an exception.
    fn rename_error(&self, py: Python<'_>, error: &PyErr) -> PyResult<()> {
        let value = error.value(py);
        for name in ["message", "filename", "path"] {
            if let Ok(text) = value.getattr(name).and_then(|text| text.extract::<String>()) {
                value.setattr(name, self.shown(text))?;
            }
        }
        let arguments = value.getattr("args")?.try_iter()?.map(|argument| {
            let argument = argument?;
            match argument.extract::<String>() {
                Ok(text) => self.shown(text).into_bound_py_any(py),
                Err(_) => Ok(argument),
            }
        });
        value.setattr("args", PyTuple::new(py, arguments.collect::<PyResult<Vec<_>>>()?)?)
    }
}

/// Converts an error of reading documents: replaces temporary paths by the names of the documents,
/// and a position in the temporary file of a table by the row.
pub(crate) fn of_row(failure: Failure, documents: &Readable) -> Failure {
    let is_of_table = |name: &str| {
        documents.table.is_some()
            && documents.paths.iter().any(|path| *path.to_string_lossy() == *name)
    };
    match failure {
        Failure::Corpus(Error::TooMuchLost { mut loss, limit, mut overview }) => {
            documents.rename(std::slice::from_mut(&mut *loss));
            documents.rename(&mut overview.losses);
            Failure::Corpus(Error::TooMuchLost { loss, limit, overview })
        }
        Failure::Corpus(Error::Text(BadInput { ref name, place, ref reason }))
            if is_of_table(name) =>
        {
            let row = match (place, &documents.table) {
                (InputPlace::Line(line), Some(table)) => table.row_of(line),
                _ => 0,
            };
            Failure::Input(format!("row {row} of the table: {reason}"))
        }
        failure if documents.shown.is_empty() || failure.took_effect() => failure,
        failure => {
            let error = PyErr::from(failure);
            match Python::attach(|py| documents.rename_error(py, &error)) {
                Ok(()) => Failure::Python(error),
                Err(other) => Failure::Python(other),
            }
        }
    }
}
