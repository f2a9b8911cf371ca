//! What the rows of answers to many queries have in common, of a store and of a server.

use pyo3::prelude::*;

use crate::columns::{Distances, U32, U64};
use crate::errors::input_error;
use crate::id_columns::{IdColumn, NameColumn};

/// The columns of answers: `store` where several are asked as one, `label` where it is wanted.
pub(crate) const ANSWER_NAMES: [&str; 6] =
    ["query", "fingerprint", "distance", "store", "label", "id"];

/// These columns under construction.
pub(crate) type AnswerColumns = (U32, U64, Distances, NameColumn, NameColumn, IdColumn);

/// These columns with the names of stores and with labels, if they are wanted.
pub(crate) fn answer_columns(stores: bool, labels: bool, ids: IdColumn) -> AnswerColumns {
    let (stores, labels) = (NameColumn::new(stores), NameColumn::new(labels));
    (U32::default(), U64::default(), Distances::default(), stores, labels, ids)
}

/// Refuses more queries than rows can have numbers for.
pub(crate) fn check_count(py: Python<'_>, count: usize) -> PyResult<()> {
    if count > u32::MAX as usize {
        let message = format!("{count} queries, one call takes 2**32 - 1 at most");
        return Err(input_error(py, message));
    }
    Ok(())
}
