//! The columns that say what a record is near: the same in the answers of `dedup` and of
//! `Writer.check_and_add`.

use arrow_array::builder::{UInt8Builder, UInt64Builder};
use fpstore::{Id, IdKind, IdRef};

use crate::id_columns::IdColumn;

/// The record because of which another one is no new one.
pub(crate) struct Near {
    pub(crate) fingerprint: u64,
    pub(crate) distance: u32,
    pub(crate) id: Option<Id>,
}

impl Near {
    /// The cells of a record that is near this one; nulls for one that is near nothing.
    pub(crate) fn cells(near: Option<&Near>) -> (Option<u64>, Option<IdRef<'_>>, Option<u8>) {
        let id = near.and_then(|near| near.id.as_ref()).map(Id::as_ref);
        // A distance is at most 64.
        (near.map(|near| near.fingerprint), id, near.map(|near| near.distance as u8))
    }
}

/// The columns `near`, `near_id` and `distance` under construction.
pub(crate) fn near_columns(ids: IdKind) -> (UInt64Builder, IdColumn, UInt8Builder) {
    (UInt64Builder::new(), IdColumn::new(ids), UInt8Builder::new())
}
