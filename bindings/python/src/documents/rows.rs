//! The decisions of a cleaning on the rows of a table.

use std::path::Path;

use arrow_array::builder::{Float64Builder, UInt8Builder, UInt64Builder};
use fpstore::rows::{RemovedRow, Side};
use fpstore::{IdKind, IdRef};
use fpstore_corpus::{Cleaned, DocumentTable};

use super::removed::store_of;
use crate::answer_columns::IdColumn;
use crate::columns::{Bits, RowsBuilder};
use crate::errors::Failure;
use crate::rows::Rows;
use crate::store::Names;

/// The column names. `near` is the number of the row that a removed row duplicates, or null if it
/// duplicates a stored document; `near_store` is the name of that document's store, if there are
/// several stores.
const NAMES: [&str; 8] =
    ["keep", "near", "near_id", "distance", "similarity", "side", "reason", "near_store"];

type Columns =
    (Bits, UInt64Builder, IdColumn, UInt8Builder, Float64Builder, IdColumn, IdColumn, IdColumn);

/// The decisions on the first `count` rows of the table.
struct TableRows<'a> {
    rows: RowsBuilder<Columns>,
    names: Option<&'a Names>,
    count: u64,
}

impl TableRows<'_> {
    /// Adds kept rows before row `row`: every row that is not removed, also texts without features.
    fn keep_until(&mut self, row: u64) -> Result<(), Failure> {
        while self.count < row {
            self.rows.keep((true, None, None, None, None, None, None, None))?;
            self.count += 1;
        }
        Ok(())
    }

    fn remove(&mut self, removed: &RemovedRow<'_>, near: Option<u64>) -> Result<(), Failure> {
        let side = if removed.side == Side::New { "new" } else { "stored" };
        let distance = Some(removed.distance as u8);
        let [side, reason] = [side, removed.reason.name()].map(|text| Some(IdRef::Text(text)));
        let (similarity, store) = (removed.similarity, store_of(removed, self.names));
        let row = (false, near, removed.other_id, distance, similarity, side, reason, store);
        self.rows.keep(row)?;
        self.count += 1;
        Ok(())
    }
}

/// The decision on each row of the table. `names`: the names of several compared stores.
pub(super) fn rows_of(
    cleaned: &Cleaned<'_>,
    table: &DocumentTable,
    names: Option<&Names>,
) -> Result<Rows, Failure> {
    let texts = || IdColumn::new(IdKind::Text);
    let columns = (
        Bits::default(),
        UInt64Builder::new(),
        texts(),
        UInt8Builder::new(),
        Float64Builder::new(),
        texts(),
        texts(),
        IdColumn::new(if names.is_some() { IdKind::Text } else { IdKind::None }),
    );
    let mut rows = TableRows { rows: RowsBuilder::new(NAMES, columns), names, count: 0 };
    cleaned.for_each_document(|document| {
        rows.keep_until(table.row_of(document.record))?;
        match document.removed {
            Some(removed) => {
                let near = document.other_record.map(|record| table.row_of(record));
                rows.remove(&removed, near)
            }
            None => Ok(()),
        }
    })?;
    rows.keep_until(table.row_count())?;
    rows.rows.finish()
}

/// For each row of a table of passages, whether any passage remains, and the remaining text, read
/// from the cleaned copy of the table.
pub(super) fn rest_of(table: &DocumentTable, copy: &Path) -> Result<Rows, Failure> {
    let mut rows =
        RowsBuilder::new(["keep", "text"], (Bits::default(), IdColumn::new(IdKind::Text)));
    for text in table.texts_of(copy)? {
        rows.keep((text.is_some(), text.as_deref().map(IdRef::Text)))?;
    }
    rows.finish()
}
