//! Documents as the reader hands them to the workers: found, and not yet decoded.

use std::path::PathBuf;

use super::files::DocumentPlace;
use super::warc;
use crate::error::Error;

/// A document as the reader found it, not yet decoded.
pub(super) struct RawDocument {
    pub(super) place: DocumentPlace,
    /// The id, if it is the number of a line.
    pub(super) id: Option<String>,
    pub(super) body: Body,
}

/// The content of a raw document. Everything that takes time is left to the workers.
pub(super) enum Body {
    /// A line of JSON, not yet parsed.
    JsonText(Vec<u8>),
    /// A line of JSON with features and weights, not yet parsed.
    JsonFeatures(Vec<u8>),
    /// The id and the bytes of a line.
    Line(String, Vec<u8>),
    /// The fields of a row of a table.
    Row(RowFields),
    /// The id, the fields that were asked for, and the block of a web archive.
    Archived(String, Vec<Option<String>>, warc::Block),
    /// The id and the path of a file that is one document.
    PlainFile(String, PathBuf),
    /// The id and the path of a file that is one page in HTML.
    HtmlFile(String, PathBuf),
    /// The reason why a record is bad.
    Bad(String),
    /// The reason why a record of a web archive is damaged, so that copies leave it out.
    Damaged(String),
    /// The reason why the rest of a file cannot be read, and how many of its documents were.
    BadFile(Error, u64),
}

/// The fields of a row that were asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RowFields {
    pub(super) id: String,
    pub(super) text: String,
    /// Those of [`DocumentOptions::fields`](crate::DocumentOptions::fields).
    pub(super) fields: Vec<Option<String>>,
}
