//! The inputs: which files there are, and which format each has.

use std::path::{Path, PathBuf};

use crate::error::Result;
use fpstore_base::{IoError, source};

/// A file to read, or standard input.
pub(super) struct Input {
    pub(super) path: PathBuf,
    /// The name below the folder that was given, with slashes; the path itself for a file. Ids of
    /// documents without one of their own are made of it.
    pub(super) name: String,
    /// The length in bytes, if it is a regular file.
    pub(super) len: Option<u64>,
}

impl Input {
    fn new(path: PathBuf, name: String) -> Self {
        let metadata = if path == Path::new("-") { None } else { path.metadata().ok() };
        let len = metadata.filter(std::fs::Metadata::is_file).map(|metadata| metadata.len());
        Input { path, name, len }
    }
}

/// All files that `paths` name or hold, those of a folder in the order of their names. Hidden files
/// and folders, and links to folders, are skipped.
pub(super) fn inputs(paths: &[PathBuf]) -> Result<Vec<Input>> {
    let mut inputs = Vec::new();
    for path in paths {
        if path != Path::new("-") && path.is_dir() {
            walk(path, "", &mut inputs)?;
        } else {
            let name = source::name_of(path);
            inputs.push(Input::new(path.clone(), name));
        }
    }
    Ok(inputs)
}

fn walk(folder: &Path, prefix: &str, inputs: &mut Vec<Input>) -> Result<()> {
    let read = || -> std::io::Result<Vec<(String, PathBuf, bool)>> {
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let kind = entry.file_type()?;
            let is_folder = kind.is_dir();
            let linked_folder = kind.is_symlink() && entry.path().is_dir();
            if !name.starts_with('.') && !linked_folder {
                entries.push((name, entry.path(), is_folder));
            }
        }
        entries.sort_unstable();
        Ok(entries)
    };
    for (name, path, is_folder) in read().map_err(IoError::of("read", folder))? {
        let name = format!("{prefix}{name}");
        if is_folder {
            walk(&path, &format!("{name}/"), inputs)?;
        } else {
            inputs.push(Input::new(path, name));
        }
    }
    Ok(())
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
    /// A document a line; the number of the line is the id.
    Lines,
    /// The whole file is one document.
    Plain,
    /// The whole file is one document, in HTML.
    Html,
}

impl DocumentFormat {
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
            ("README", DocumentFormat::Plain),
            ("x.gz", DocumentFormat::Plain),
            ("-", DocumentFormat::JsonLines),
        ] {
            assert_eq!(DocumentFormat::of(Path::new(name)), format, "{name}");
        }
    }
}
