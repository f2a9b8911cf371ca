//! The formats of documents, and which file has which.

use std::path::Path;

/// How documents are laid out in a file.
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
    /// By the end of the name, before that of compression. Standard input is JSON Lines; what has no
    /// known end is plain text.
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
