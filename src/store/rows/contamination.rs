//! The row of an item of a benchmark that a document holds.

use fpstore_base::IdRef;
use serde::Serialize;

use super::row::{Cell, Column, Kind, Row};

/// An item of a benchmark, and the passage of a document that holds it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ContaminationRow<'a> {
    /// The id of the item.
    pub item: IdRef<'a>,
    /// The part of the distinct shingles of the item that the passage holds, up to 1.
    pub contained: f64,
    /// The name of the file of the document.
    pub file: &'a str,
    /// The id of the document.
    pub id: IdRef<'a>,
    /// Where the passage begins in the text of the document, in characters.
    pub start: u64,
    /// Where it ends.
    pub end: u64,
    /// Where it begins, in bytes of UTF-8.
    pub byte_start: u64,
    /// Where it ends, in bytes.
    pub byte_end: u64,
}

impl Row for ContaminationRow<'_> {
    const TABLE: &'static str = "contamination";

    const COLUMNS: &'static [Column] = &[
        Column::new("item", Kind::Text),
        Column::new("contained", Kind::Double),
        Column::new("file", Kind::Text),
        Column::new("id", Kind::Text),
        Column::new("start", Kind::U64),
        Column::new("end", Kind::U64),
        Column::new("byte_start", Kind::U64),
        Column::new("byte_end", Kind::U64),
    ];

    fn lines<E>(&self, mut each: impl FnMut(&[Cell<'_>]) -> Result<(), E>) -> Result<(), E> {
        each(&[
            Cell::Id(Some(self.item)),
            Cell::Similarity(self.contained),
            Cell::Text(self.file),
            Cell::Id(Some(self.id)),
            Cell::Number(self.start),
            Cell::Number(self.end),
            Cell::Number(self.byte_start),
            Cell::Number(self.byte_end),
        ])
    }
}
