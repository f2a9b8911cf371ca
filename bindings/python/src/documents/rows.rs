//! What became of the rows of a table.

use arrow_array::builder::{Float64Builder, UInt8Builder, UInt64Builder};
use fpstore::corpus::{Cleaned, DocumentTable};
use fpstore::rows::{RemovedRow, Side};
use fpstore::{IdKind, IdRef};

use crate::columns::{Bits, RowsBuilder};
use crate::errors::Failure;
use crate::id_columns::IdColumn;
use crate::rows::Rows;

/// The columns of the rows of a table. `near` is the row because of which a removed one goes, and null
/// if that is a stored document.
const NAMES: [&str; 7] = ["keep", "near", "near_id", "distance", "similarity", "side", "reason"];

type Columns = (Bits, UInt64Builder, IdColumn, UInt8Builder, Float64Builder, IdColumn, IdColumn);

/// Rows under construction.
struct TableRows {
    rows: RowsBuilder<Columns>,
    count: u64,
}

impl TableRows {
    /// Rows that stay, up to the row of this number: those without features have no document.
    fn keep_until(&mut self, row: u64) -> Result<(), Failure> {
        while self.count < row {
            self.rows.keep((true, None, None, None, None, None, None))?;
            self.count += 1;
        }
        Ok(())
    }

    fn remove(&mut self, removed: &RemovedRow<'_>, near: Option<u64>) -> Result<(), Failure> {
        let side = if removed.side == Side::New { "new" } else { "stored" };
        let distance = Some(removed.distance as u8);
        let [side, reason] = [side, removed.reason.name()].map(|text| Some(IdRef::Text(text)));
        let similarity = removed.similarity;
        self.rows.keep((false, near, removed.other_id, distance, similarity, side, reason))?;
        self.count += 1;
        Ok(())
    }
}

/// One row for each row of the table.
pub(super) fn rows_of(cleaned: &Cleaned<'_>, table: &DocumentTable) -> Result<Rows, Failure> {
    let texts = || IdColumn::new(IdKind::Text);
    let columns = (
        Bits::default(),
        UInt64Builder::new(),
        texts(),
        UInt8Builder::new(),
        Float64Builder::new(),
        texts(),
        texts(),
    );
    let mut rows = TableRows { rows: RowsBuilder::new(NAMES, columns), count: 0 };
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
