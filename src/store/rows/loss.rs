//! The row of what a file, a source, or all files together lose in a cleaning.

use serde::Serialize;

use super::row::{Cell, Column, Kind, Row};

/// What a file, a source, or all files together lose in a cleaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LossRow<'a> {
    /// `all`, `file` or `source`.
    pub kind: &'static str,
    /// The name of the file or of the source.
    pub name: &'a str,
    /// Documents with a fingerprint.
    pub document_count: u64,
    /// Those of them that are removed or annotated.
    pub removed_count: u64,
    /// Documents without fingerprint: they have no features, and stay.
    pub empty_count: u64,
}

impl Row for LossRow<'_> {
    const TABLE: &'static str = "losses";

    const COLUMNS: &'static [Column] = &[
        Column::new("kind", Kind::Text),
        Column::new("name", Kind::Text),
        Column::new("document_count", Kind::U64),
        Column::new("removed_count", Kind::U64),
        Column::new("empty_count", Kind::U64),
    ];

    fn lines<E>(&self, mut each: impl FnMut(&[Cell<'_>]) -> Result<(), E>) -> Result<(), E> {
        each(&[
            Cell::Text(self.kind),
            Cell::Text(self.name),
            Cell::Number(self.document_count),
            Cell::Number(self.removed_count),
            Cell::Number(self.empty_count),
        ])
    }
}
