//! Removed documents of a cleaning, as rows.

use arrow_array::builder::{Float64Builder, StringBuilder};
use fpstore::rows::{RemovedRow, Side};
use fpstore::{IdKind, IdRef};

use crate::answer_columns::IdColumn;
use crate::columns::{Distances, RowsBuilder, U64, names_of};
use crate::errors::Failure;
use crate::rows::Rows;
use crate::store::Names;

/// The columns of [`RemovedRow`].
type Columns = (
    U64,
    U64,
    Distances,
    Float64Builder,
    IdColumn,
    IdColumn,
    StringBuilder,
    StringBuilder,
    IdColumn,
);

/// The rows of removed documents under construction. Ids are texts, because inputs may have ids of
/// different kinds.
pub(super) struct RemovedRows<'a> {
    rows: RowsBuilder<Columns>,
    names: Option<&'a Names>,
}

impl<'a> RemovedRows<'a> {
    /// An empty table. `names`: the names of the compared stores, if there are several.
    pub(super) fn new(names: Option<&'a Names>) -> Self {
        let mut columns = Columns::default();
        (columns.4, columns.5) = (IdColumn::new(IdKind::Text), IdColumn::new(IdKind::Text));
        columns.8 = IdColumn::new(if names.is_some() { IdKind::Text } else { IdKind::None });
        let rows = RowsBuilder::new(names_of::<RemovedRow<'_>>(), columns);
        RemovedRows { rows, names }
    }

    pub(super) fn push(&mut self, row: &RemovedRow<'_>) -> Result<(), Failure> {
        let RemovedRow {
            fingerprint, other, distance, similarity, id, other_id, side, reason, ..
        } = *row;
        let side = if side == Side::New { "new" } else { "stored" };
        let (fingerprint, other) = (fingerprint.fingerprint.value(), other.fingerprint.value());
        let (reason, store) = (reason.name(), store_of(row, self.names));
        self.rows.keep((
            fingerprint,
            other,
            distance,
            similarity,
            id,
            other_id,
            side,
            reason,
            store,
        ))
    }

    pub(super) fn finish(self) -> Result<Rows, Failure> {
        self.rows.finish()
    }
}

/// The name of the store that contains the kept document, if there are several stores.
pub(super) fn store_of<'a>(row: &RemovedRow<'_>, names: Option<&'a Names>) -> Option<IdRef<'a>> {
    let names = names.filter(|_| row.side == Side::Stored)?;
    Some(IdRef::Text(names.text(row.other_store)))
}
