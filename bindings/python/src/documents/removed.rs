//! The documents that a cleaning removes, as rows.

use arrow_array::builder::{Float64Builder, StringBuilder};
use fpstore::IdKind;
use fpstore::rows::{RemovedRow, Side};

use crate::columns::{Distances, RowsBuilder, U64, names_of};
use crate::errors::Failure;
use crate::id_columns::IdColumn;
use crate::rows::Rows;

type Columns =
    (U64, U64, Distances, Float64Builder, IdColumn, IdColumn, StringBuilder, StringBuilder);

/// Rows under construction. Ids are texts: those of one input may be numbers, those of another one
/// not.
pub(super) struct RemovedRows(RowsBuilder<Columns>);

impl RemovedRows {
    pub(super) fn new() -> Self {
        let mut columns = Columns::default();
        (columns.4, columns.5) = (IdColumn::new(IdKind::Text), IdColumn::new(IdKind::Text));
        RemovedRows(RowsBuilder::new(names_of::<RemovedRow<'_>>(), columns))
    }

    pub(super) fn push(&mut self, row: &RemovedRow<'_>) -> Result<(), Failure> {
        let RemovedRow {
            fingerprint, other, distance, similarity, id, other_id, side, reason, ..
        } = *row;
        let side = if side == Side::New { "new" } else { "stored" };
        let (fingerprint, other) = (fingerprint.fingerprint.value(), other.fingerprint.value());
        let reason = reason.name();
        self.0.keep((fingerprint, other, distance, similarity, id, other_id, side, reason))
    }

    pub(super) fn finish(self) -> Result<Rows, Failure> {
        self.0.finish()
    }
}
