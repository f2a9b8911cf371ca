//! Reading documents in the formats that people have, and working on them with all cores.

mod decode;
mod format;
mod html;
mod json;
mod lines;
#[cfg(feature = "parquet")]
mod parquet;
mod pipeline;
mod plain;
mod reading;
mod rows;
mod walk;
mod work;

use std::path::PathBuf;

use crate::watch::Observer;

pub use decode::TextEncoding;
pub use format::DocumentFormat;
pub use pipeline::{DocumentSummary, HashedDocument, count_document_frequencies, hash_documents};

/// How to read documents.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DocumentOptions {
    /// The format; without, by the end of each file's name.
    pub format: Option<DocumentFormat>,
    /// The field or column of the id.
    pub id_field: String,
    /// The field or column of the text.
    pub text_field: String,
    /// How text is encoded.
    pub encoding: TextEncoding,
    /// Whether bad records are counted and passed over; otherwise the first one is an error.
    pub skip_bad: bool,
    /// How many threads work; 0 is one for each core. The result is the same for any number.
    pub threads: usize,
    /// Who is told how many bytes of the inputs were read ([`Phase::Documents`](crate::Phase::Documents)), and may
    /// end it.
    pub observer: Option<Observer>,
}

impl Default for DocumentOptions {
    fn default() -> Self {
        DocumentOptions {
            format: None,
            id_field: "id".into(),
            text_field: "text".into(),
            encoding: TextEncoding::Utf8,
            skip_bad: false,
            threads: 0,
            observer: None,
        }
    }
}

impl DocumentOptions {
    /// Sets the format of all files.
    #[must_use]
    pub fn format(mut self, format: DocumentFormat) -> Self {
        self.format = Some(format);
        self
    }

    /// Sets the names of the fields or columns of id and text.
    #[must_use]
    pub fn fields(mut self, id: impl Into<String>, text: impl Into<String>) -> Self {
        self.id_field = id.into();
        self.text_field = text.into();
        self
    }

    /// Sets how text is encoded.
    #[must_use]
    pub fn encoding(mut self, encoding: TextEncoding) -> Self {
        self.encoding = encoding;
        self
    }

    /// Sets whether bad records are passed over.
    #[must_use]
    pub fn skip_bad(mut self, skip_bad: bool) -> Self {
        self.skip_bad = skip_bad;
        self
    }

    /// Sets how many threads work; 0 is one for each core.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Sets who is told how many bytes of the inputs were read.
    #[must_use]
    pub fn observer(mut self, observer: Observer) -> Self {
        self.observer = Some(observer);
        self
    }
}

/// A document on its way from the reader to the one who works on it.
struct Item {
    place: Place,
    body: Body,
}

/// Where a document comes from.
#[derive(Clone, Debug)]
struct Place {
    /// The number of the input.
    input: usize,
    /// The line or record in it, or none if the input is one document.
    at: Option<crate::error::InputPlace>,
}

/// What the reader hands over. Whatever takes time is left to the one who works on it.
enum Body {
    /// A line of JSON, not yet parsed.
    JsonText(Vec<u8>),
    /// A line of JSON with features and weights, not yet parsed.
    JsonFeatures(Vec<u8>),
    /// A line, with its id.
    Line(String, Vec<u8>),
    /// Fields of a table.
    Row(String, String),
    /// A file that is one document, with its id.
    File(String, PathBuf, FileKind),
    /// A record that the reader could not make sense of.
    Bad(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileKind {
    Plain,
    Html,
}
