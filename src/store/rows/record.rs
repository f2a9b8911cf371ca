//! Rows with one line: records, hashed documents, benchmark items, losses and changes.

use fpstore_base::{HexFingerprint, IdRef};
use serde::Serialize;

use super::row::{Cell, Column, Row, columns, one_line_row};
use crate::store::log::Change;

/// A record. Its printed line is valid input of `fpstore build`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RecordRow<'a> {
    /// The fingerprint.
    pub fingerprint: HexFingerprint,
    /// The id, if the record has one.
    pub id: Option<IdRef<'a>>,
}

one_line_row!(RecordRow<'_>, "records", |row|
    fingerprint: U64 = Cell::Fingerprint(row.fingerprint),
    id: Text = row.id.map_or(Cell::Absent, |id| Cell::Id(Some(id))),
);

/// A document and its fingerprint. Printed lines omit documents without a fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HashedRow<'a> {
    /// The id.
    pub id: IdRef<'a>,
    /// The fingerprint; `None` for a document without features.
    pub fingerprint: Option<HexFingerprint>,
}

impl Row for HashedRow<'_> {
    const TABLE: &'static str = RecordRow::TABLE;
    const COLUMNS: &'static [Column] = RecordRow::COLUMNS;

    fn lines<E>(&self, each: impl FnMut(&[Cell<'_>]) -> Result<(), E>) -> Result<(), E> {
        let Some(fingerprint) = self.fingerprint else { return Ok(()) };
        RecordRow { fingerprint, id: Some(self.id) }.lines(each)
    }
}

/// A benchmark item, and the passage of a document that contains it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ContaminationRow<'a> {
    /// The id of the benchmark item.
    pub item: IdRef<'a>,
    /// The share of the distinct shingles of the item that the passage contains, up to 1.
    pub contained: f64,
    /// The name of the file of the document.
    pub file: &'a str,
    /// The id of the document.
    pub id: IdRef<'a>,
    /// The start of the passage in the text of the document, in characters.
    pub start: u64,
    /// The end of the passage in the text, in characters.
    pub end: u64,
    /// The start of the passage in the text, in bytes of UTF-8.
    pub byte_start: u64,
    /// The end of the passage in the text, in bytes of UTF-8.
    pub byte_end: u64,
}

one_line_row!(ContaminationRow<'_>, "contamination", |row|
    item: Text = Cell::Id(Some(row.item)),
    contained: Double = Cell::Similarity(row.contained),
    file: Text = Cell::Text(row.file),
    id: Text = Cell::Id(Some(row.id)),
    start: U64 = Cell::Number(row.start),
    end: U64 = Cell::Number(row.end),
    byte_start: U64 = Cell::Number(row.byte_start),
    byte_end: U64 = Cell::Number(row.byte_end),
);

/// The number of documents that a cleaning removes from a file, a source, or all files together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LossRow<'a> {
    /// `all`, `file` or `source`.
    pub kind: &'static str,
    /// The name of the file or of the source.
    pub name: &'a str,
    /// The number of documents with a fingerprint.
    pub document_count: u64,
    /// The number of documents with a fingerprint that are removed or annotated.
    pub removed_count: u64,
    /// The number of documents without a fingerprint, because they have no features. They are kept.
    pub empty_count: u64,
}

one_line_row!(LossRow<'_>, "losses", |row|
    kind: Text = Cell::Text(row.kind),
    name: Text = Cell::Text(row.name),
    document_count: U64 = Cell::Number(row.document_count),
    removed_count: U64 = Cell::Number(row.removed_count),
    empty_count: U64 = Cell::Number(row.empty_count),
);

one_line_row!(Change, "changes", |row|
    generation: U64 = Cell::Number(row.generation),
    since: Text = Cell::Text(&text(row.since)),
    act: Text = Cell::Text(row.act.name()),
    segments: Text = Cell::Text(&list(&row.segments)),
    from: Text = Cell::Text(&list(&row.from)),
    label: Text = Cell::Text(&row.label),
    fingerprints: U64 = Cell::Number(row.fingerprints),
    fingerprints_before: U64 = Cell::Number(row.fingerprints_before),
    ids: U64 = Cell::Number(row.ids),
    ids_before: U64 = Cell::Number(row.ids_before),
    records_added: Text = Cell::Text(&text(row.records_added)),
    records_removed: Text = Cell::Text(&text(row.records_removed)),
);

fn text(number: Option<u64>) -> String {
    number.map_or_else(String::new, |it| it.to_string())
}

fn list(numbers: &[u64]) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<String>>().join(",")
}
