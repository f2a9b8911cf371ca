//! What is searched for, and how the answers are printed.

use fpstore::Limits;

use super::output::AnswerColumns;
use crate::cli::output::row_writer::Layout;
use crate::cli::session::stores::StoreNames;

/// The limits of `--limit`.
pub(in crate::cli) fn limits_of(most: Option<u64>) -> Limits {
    let limits = Limits::default();
    match most {
        Some(most) => limits.limit(usize::try_from(most).unwrap_or(usize::MAX)),
        None => limits,
    }
}

/// What all queries of a command have in common.
pub(in crate::cli) struct QueryOptions {
    pub(in crate::cli) k: u32,
    pub(in crate::cli) limits: Limits,
    /// How many of the nearest are wanted, if not all within `k`.
    pub(in crate::cli) nearest: Option<usize>,
    pub(in crate::cli) layout: Layout,
    pub(in crate::cli) quiet: bool,
    /// The similarity that a match must have.
    pub(in crate::cli) confirm: Option<f64>,
    /// Whether the labels of matches are printed.
    pub(in crate::cli) labels: bool,
    /// The names of the stores, if several are asked: each match then names its own.
    pub(in crate::cli) stores: Option<StoreNames>,
}

impl QueryOptions {
    /// The columns of answers that are there only if somebody wants them.
    pub(in crate::cli) fn columns(&self) -> AnswerColumns {
        let (confirms, labels, stores) =
            (self.confirm.is_some(), self.labels, self.stores.is_some());
        AnswerColumns { confirms, labels, stores, ..AnswerColumns::default() }
    }
}
