//! Documents between the reader and the workers: found, and not yet decoded.

use std::path::PathBuf;

use twox_hash::XxHash3_64;

use super::files::DocumentPlace;
use super::warc;
use crate::error::Error;

/// The digest of parts of a record, by which copying recognises the record. The parts are the line,
/// the fields, the text or id in Parquet, or the header and the block in a web archive.
pub(super) fn digest_of(parts: impl IntoIterator<Item: AsRef<[u8]>>) -> u64 {
    parts.into_iter().fold(0, |before, part| XxHash3_64::oneshot_with_seed(before, part.as_ref()))
}

/// A document found by the reader and not yet decoded.
pub(super) struct RawDocument {
    pub(super) place: DocumentPlace,
    /// The id, if it is a line number.
    pub(super) id: Option<String>,
    pub(super) body: Body,
}

/// The content of a raw document. All slow work is left to the workers.
pub(super) enum Body {
    /// A line of JSON, not yet parsed.
    JsonText(Vec<u8>),
    /// A line of JSON with features and weights, not yet parsed.
    JsonFeatures(Vec<u8>),
    /// The id and the bytes of a line.
    Line(String, Vec<u8>),
    /// The fields of a row of a table.
    Row(RowFields),
    /// The id, the requested fields, and the block of a web archive record, with the digest of its
    /// header.
    Archived(String, Vec<Option<String>>, warc::Block, u64),
    /// The id and the path of a file that is a single document.
    PlainFile(String, PathBuf),
    /// The id and the path of a file that is a single HTML page.
    HtmlFile(String, PathBuf),
    /// The reason why a record is bad.
    Bad(String),
    /// The reason why a record of a web archive is damaged; copies omit it.
    Damaged(String),
    /// The reason why the rest of a file cannot be read, and how many of its documents were read.
    BadFile(Error, u64),
}

impl Body {
    /// The digest of the record, if it can be copied.
    pub(super) fn digest(&self) -> Option<u64> {
        match self {
            Body::JsonText(line) | Body::JsonFeatures(line) | Body::Line(_, line) => {
                Some(digest_of([line]))
            }
            Body::Row(row) => row.digest,
            Body::Archived(_, _, block, header) => {
                Some(XxHash3_64::oneshot_with_seed(*header, &block.bytes))
            }
            Body::PlainFile(..) | Body::HtmlFile(..) => None,
            Body::Bad(_) | Body::Damaged(_) | Body::BadFile(..) => None,
        }
    }
}

/// The requested fields of a row.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RowFields {
    /// See [`DocumentPlace::digest`].
    pub(super) digest: Option<u64>,
    pub(super) id: String,
    pub(super) text: String,
    /// The values of [`DocumentOptions::fields`](crate::DocumentOptions::fields).
    pub(super) fields: Vec<Option<String>>,
}
