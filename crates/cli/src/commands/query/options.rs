//! What is searched for, and how the answers are printed.

use fpstore::Limits;

use super::output::AnswerColumns;
use crate::output::row_writer::Layout;
use crate::session::stores::StoreNames;

/// The limits of `--limit`.
pub(crate) fn limits_of(most: Option<u64>) -> Limits {
    let limits = Limits::default();
    match most {
        Some(most) => limits.limit(usize::try_from(most).unwrap_or(usize::MAX)),
        None => limits,
    }
}

/// What all queries of a command have in common.
pub(crate) struct QueryOptions {
    pub(crate) k: u32,
    pub(crate) limits: Limits,
    /// How many of the nearest are wanted, if not all within `k`.
    pub(crate) nearest: Option<usize>,
    pub(crate) layout: Layout,
    pub(crate) quiet: bool,
    /// The similarity that a match must have.
    pub(crate) confirm: Option<f64>,
    /// Whether the labels of matches are printed.
    pub(crate) labels: bool,
    /// The names of the stores, if several are asked: each match then names its own.
    pub(crate) stores: Option<StoreNames>,
}

impl QueryOptions {
    /// The columns of answers that are there only if somebody wants them.
    pub(crate) fn columns(&self) -> AnswerColumns {
        let (confirms, labels, stores) =
            (self.confirm.is_some(), self.labels, self.stores.is_some());
        AnswerColumns { confirms, labels, stores, ..AnswerColumns::default() }
    }
}
