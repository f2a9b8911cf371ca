//! The rows of single records: a stored one, and a document with its fingerprint.

use fpstore_base::{HexFingerprint, IdRef};
use serde::Serialize;

use super::row::{Cell, Column, Kind, Row};

/// A record: its line is one that `fpstore build` reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RecordRow<'a> {
    /// The fingerprint.
    pub fingerprint: HexFingerprint,
    /// The id, if the record has one.
    pub id: Option<IdRef<'a>>,
}

impl Row for RecordRow<'_> {
    const TABLE: &'static str = "records";

    const COLUMNS: &'static [Column] =
        &[Column::new("fingerprint", Kind::U64), Column::new("id", Kind::Text)];

    fn lines<E>(&self, mut each: impl FnMut(&[Cell<'_>]) -> Result<(), E>) -> Result<(), E> {
        let id = self.id.map_or(Cell::Absent, |id| Cell::Id(Some(id)));
        each(&[Cell::Fingerprint(self.fingerprint), id])
    }
}

/// A document and its fingerprint, of which lines show those that have one.
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
