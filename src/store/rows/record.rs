//! Rows with one line: records, hashed documents and changes.

use fpstore_base::rows::{Cell, Column, Row};
use fpstore_base::{HexFingerprint, IdRef, one_line_row};
use serde::Serialize;

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
