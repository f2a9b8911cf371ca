//! The formats of files and of texts, and the parts of HTML pages.

use std::path::Path;

use fpstore_base::source::Compression;

fpstore_base::choices! {
    /// The layout of documents in a file.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum DocumentFormat {
        JsonLines = "jsonl": "One JSON object on each line, with id and text",
        Features = "features":
            "One JSON object on each line, with id and an object 'features' of names and weights",
        Csv = "csv": "Comma-separated values with a header",
        Tsv = "tsv": "Tab-separated values with a header, no quotes",
        /// Needs the cargo feature `parquet`.
        Parquet = "parquet": "Columns of ids and texts",
        /// The id of a document is the URI of its record.
        Warc = "warc": "Web archives: pages and texts in responses, and converted texts",
        Lines = "lines": "One document on each line, with the number of the line as id",
        Plain = "text": "Each file is one document",
        Html = "html": "Each file is an HTML page, whose main text is the document",
    }
}

impl DocumentFormat {
    /// The format in words, for messages.
    pub fn words(self) -> &'static str {
        match self {
            DocumentFormat::JsonLines => "JSON Lines",
            DocumentFormat::Features => "JSON Lines of features",
            DocumentFormat::Csv => "CSV",
            DocumentFormat::Tsv => "TSV",
            DocumentFormat::Parquet => "Parquet",
            DocumentFormat::Warc => "a web archive",
            DocumentFormat::Lines => "lines of text",
            DocumentFormat::Plain => "plain text",
            DocumentFormat::Html => "a page",
        }
    }

    /// Whether a file of this format is a single document.
    pub fn is_one_document(self) -> bool {
        matches!(self, DocumentFormat::Plain | DocumentFormat::Html)
    }

    /// Whether each record of a compressed file of this format is a separate gzip or zstd member.
    pub fn has_members(self) -> bool {
        self == DocumentFormat::Warc
    }

    /// Whether files of this format are compressed internally, and so cannot be `.gz` or `.zst`
    /// files.
    pub fn is_compressed_inside(self) -> bool {
        self == DocumentFormat::Parquet
    }

    /// Whether documents of this format have fields in addition to the text: fields of an object, a
    /// row or a record.
    pub(crate) fn has_fields(self) -> bool {
        self.has_columns() || self == DocumentFormat::Warc
    }

    /// Whether documents of this format are objects or rows in which the caller can choose the
    /// field that contains the text or the fingerprint.
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

    /// The format of a document, determined by its first byte that is not white space: `{` means
    /// JSON, `<` HTML.
    pub fn of_content(bytes: &[u8]) -> Self {
        match bytes.trim_ascii_start().first() {
            Some(b'{') => DocumentFormat::JsonLines,
            Some(b'<') => DocumentFormat::Html,
            _ => DocumentFormat::Plain,
        }
    }

    /// The format of the extension of a name, before `.gz` or `.zst`; `None` if the extension is
    /// unknown.
    pub fn of_name(path: &Path) -> Option<Self> {
        let extension = |path: &Path| Some(path.extension()?.to_str()?.to_ascii_lowercase());
        let end = match Compression::of(path) {
            Some(_) => extension(Path::new(path.file_stem()?)),
            None => extension(path),
        };
        Some(match end?.as_str() {
            "jsonl" | "ndjson" | "json" => DocumentFormat::JsonLines,
            "csv" => DocumentFormat::Csv,
            "tsv" | "tab" => DocumentFormat::Tsv,
            "parquet" => DocumentFormat::Parquet,
            "warc" | "wet" => DocumentFormat::Warc,
            "html" | "htm" | "xhtml" => DocumentFormat::Html,
            // Such a file is refused later; the error contains the command to unpack it.
            "xz" | "bz2" | "lz4" | "lz" => {
                return DocumentFormat::of_name(&path.with_extension(""));
            }
            _ => return None,
        })
    }

    /// The format of a file, determined by its name. Standard input is JSON Lines; a file with an
    /// unknown extension is plain text.
    pub(super) fn of(path: &Path) -> Self {
        if path == Path::new("-") {
            return DocumentFormat::JsonLines;
        }
        DocumentFormat::of_name(path).unwrap_or(DocumentFormat::Plain)
    }
}

fpstore_base::choices! {
    /// The format of the texts in fields, rows and lines.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum TextFormat {
        #[default]
        Plain = "plain": "Plain text",
        /// HTML pages or fragments, from which
        /// [`DocumentOptions::html`](crate::DocumentOptions::html) selects the text.
        Html = "html": "HTML; --html-part selects the text",
        /// CommonMark with tables and footnotes.
        Markdown = "markdown": "Markdown; its markup is not part of the text",
    }
}

fpstore_base::choices! {
    /// The part of an HTML page that is its text.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum HtmlPart {
        /// The extractor can miss a short article inside menus: if its main part is a menu itself,
        /// all text except menus, lists of links, comments and the page footer is taken.
        #[default]
        Auto = "auto": "The main part, or all text if that is short or a small share of the page",
        /// If a page has no main part, all its text is taken.
        Main = "main": "The main part, without menus, advertisements and comments",
        Full = "full": "All text of title and body",
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
            ("a.jsonl.xz", DocumentFormat::JsonLines),
            ("README", DocumentFormat::Plain),
            ("x.gz", DocumentFormat::Plain),
            ("-", DocumentFormat::JsonLines),
        ] {
            assert_eq!(DocumentFormat::of(Path::new(name)), format, "{name}");
        }
    }
}
