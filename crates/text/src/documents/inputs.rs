//! The inputs: which files there are, what their documents are called, which format each has.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

use super::folders::{self, FileChoice, PassedOver};
use crate::error::{Error, Result};
use fpstore_base::source;

/// A file to read, or standard input.
#[derive(Debug)]
pub(super) struct Input {
    pub(super) path: PathBuf,
    /// The name in messages: the id below a folder, else the path.
    pub(super) name: String,
    /// What the id of a document without one of its own is made of: the path below the folder that
    /// was given, with slashes; the path itself for a file. `None` if it is not UTF-8, so that two
    /// names could give one id.
    pub(super) id: Option<String>,
    /// The length in bytes, if it is a regular file.
    pub(super) len: Option<u64>,
    /// Whether it was found in a folder, and not named by the user.
    pub(super) is_found: bool,
    /// Why it cannot be read, if that is known.
    pub(super) fault: Option<std::io::Error>,
}

impl Input {
    /// A file that the user named.
    pub(super) fn named(path: PathBuf) -> Self {
        let (name, id) = (source::name_of(&path), path.to_str().map(str::to_string));
        Input { name, id, is_found: false, ..Input::at(path) }
    }

    fn at(path: PathBuf) -> Self {
        let metadata = if path == Path::new("-") { None } else { path.metadata().ok() };
        let len = metadata.filter(std::fs::Metadata::is_file).map(|metadata| metadata.len());
        Input { path, name: String::new(), id: None, len, is_found: true, fault: None }
    }
}

/// The inputs of a command, and what was passed over to find them.
pub(super) struct Inputs {
    pub(super) list: Vec<Input>,
    pub(super) passed_over: PassedOver,
}

/// All files that `paths` name or hold, those of a folder in the order of their names.
///
/// The ids of files in one folder are their paths below it. If there are several folders, the path
/// of each is put in front.
pub(super) fn inputs(paths: &[PathBuf], choice: &FileChoice) -> Result<Inputs> {
    let is_folder = |path: &Path| path != Path::new("-") && path.is_dir();
    let folder_count = paths.iter().filter(|path| is_folder(path)).count();
    if folder_count == 0 && !choice.is_default() {
        let reason = "the choice of files is for folders, and no folder is given".to_string();
        return Err(Error::InvalidInputs { reason });
    }
    let mut inputs = Inputs { list: Vec::new(), passed_over: PassedOver::default() };
    for path in paths {
        if is_folder(path) {
            let prefix = if folder_count > 1 { path.as_path() } else { Path::new("") };
            inputs.add_folder(path, prefix, choice)?;
        } else {
            inputs.list.push(Input::named(path.clone()));
        }
    }
    Ok(inputs)
}

impl Inputs {
    fn add_folder(&mut self, folder: &Path, prefix: &Path, choice: &FileChoice) -> Result<()> {
        let found = folders::search(folder, choice);
        let passed_over = found.passed_over;
        if found.files.is_empty() && found.unreadable.is_empty() && passed_over.count() > 0 {
            let PassedOver { hidden, unwanted, special } = passed_over;
            let name = source::name_of(folder);
            let reason = format!(
                "no file to read: {hidden} hidden, {unwanted} left out by patterns, {special} \
                 neither file nor folder"
            );
            return Err(Error::BadFile { name, reason });
        }
        self.passed_over.hidden += passed_over.hidden;
        self.passed_over.unwanted += passed_over.unwanted;
        self.passed_over.special += passed_over.special;
        for (path, fault) in found.unreadable {
            let name = source::name_of(&path);
            self.list.push(Input { name, fault: Some(fault), ..Input::at(path) });
        }
        for (path, below) in found.files {
            let parts = prefix.components().chain(below.components());
            let whole: PathBuf = parts.filter(|part| *part != Component::CurDir).collect();
            let separator = std::path::MAIN_SEPARATOR_STR;
            let id = whole.to_str().map(|whole| whole.replace(separator, "/"));
            let name = id.clone().unwrap_or_else(|| path.display().to_string());
            self.list.push(Input { name, id, ..Input::at(path) });
        }
        Ok(())
    }

    /// Refuses two inputs whose documents would get the same ids.
    pub(super) fn check_ids(&self, takes_id: impl Fn(&Input) -> bool) -> Result<()> {
        let mut seen = HashSet::new();
        let mut with_ids = self.list.iter().filter(|input| takes_id(input));
        match with_ids.find(|input| input.id.as_ref().is_some_and(|id| !seen.insert(id))) {
            None => Ok(()),
            Some(input) => Err(Error::InvalidInputs {
                reason: format!(
                    "two files would get the id '{}'; give each file once, and folders by names \
                     that tell them apart",
                    input.name
                ),
            }),
        }
    }
}

/// The layout of documents in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DocumentFormat {
    /// A JSON object a line, with an id and a text.
    JsonLines,
    /// A JSON object a line, with an id and an object `features` of names and weights.
    Features,
    /// Comma-separated values with a header.
    Csv,
    /// Tab-separated values with a header, without quotes.
    Tsv,
    /// Parquet with columns of ids and texts. Needs the cargo feature `parquet`.
    Parquet,
    /// Records of a web archive: pages and texts in responses, and texts made of them. The URI is the
    /// id.
    Warc,
    /// A document a line; the number of the line is the id.
    Lines,
    /// The whole file is one document.
    Plain,
    /// The whole file is one document, in HTML.
    Html,
}

impl DocumentFormat {
    /// Whether a file of this format is one document.
    pub fn is_one_document(self) -> bool {
        matches!(self, DocumentFormat::Plain | DocumentFormat::Html)
    }

    /// Whether its documents have fields beside the text: of an object, a row or a record.
    pub fn has_fields(self) -> bool {
        self.has_columns() || self == DocumentFormat::Warc
    }

    /// Whether a field can be taken for the text, or for the fingerprint.
    pub(super) fn has_columns(self) -> bool {
        match self {
            DocumentFormat::JsonLines
            | DocumentFormat::Csv
            | DocumentFormat::Tsv
            | DocumentFormat::Parquet => true,
            DocumentFormat::Features
            | DocumentFormat::Warc
            | DocumentFormat::Lines
            | DocumentFormat::Plain
            | DocumentFormat::Html => false,
        }
    }

    /// The format of a file by the end of its name, before `.gz` or `.zst`. Standard input is JSON
    /// Lines; a file without a known ending is plain text.
    pub(super) fn of(path: &Path) -> Self {
        if path == Path::new("-") {
            return DocumentFormat::JsonLines;
        }
        let is_compressed = |end: &str| ["gz", "zst"].iter().any(|c| end.eq_ignore_ascii_case(c));
        let extension = |path: &Path| Some(path.extension()?.to_str()?.to_ascii_lowercase());
        let mut end = extension(path);
        if end.as_deref().is_some_and(is_compressed) {
            end = path.file_stem().and_then(|stem| extension(Path::new(stem)));
        }
        match end.as_deref() {
            Some("jsonl" | "ndjson" | "json") => DocumentFormat::JsonLines,
            Some("csv") => DocumentFormat::Csv,
            Some("tsv" | "tab") => DocumentFormat::Tsv,
            Some("parquet") => DocumentFormat::Parquet,
            Some("warc" | "wet") => DocumentFormat::Warc,
            Some("html" | "htm" | "xhtml") => DocumentFormat::Html,
            _ => DocumentFormat::Plain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_the_name_says_the_format() {
        for (name, format) in [
            ("a.jsonl", DocumentFormat::JsonLines),
            ("a.b.JSONL.Zst", DocumentFormat::JsonLines),
            ("a.csv.gz", DocumentFormat::Csv),
            ("a.tsv", DocumentFormat::Tsv),
            ("dir.csv/page.HTM", DocumentFormat::Html),
            ("crawl.warc.gz", DocumentFormat::Warc),
            ("crawl.warc.wet.gz", DocumentFormat::Warc),
            ("README", DocumentFormat::Plain),
            ("x.gz", DocumentFormat::Plain),
            ("-", DocumentFormat::JsonLines),
        ] {
            assert_eq!(DocumentFormat::of(Path::new(name)), format, "{name}");
        }
    }
}
