//! What the rows of answers to many queries have in common, of a store and of a server.

use pyo3::prelude::*;

use crate::errors::input_error;

/// The columns of answers.
pub(crate) const ANSWER_NAMES: [&str; 5] = ["query", "fingerprint", "distance", "label", "id"];

/// Refuses more queries than rows can have numbers for.
pub(crate) fn check_count(py: Python<'_>, count: usize) -> PyResult<()> {
    if count > u32::MAX as usize {
        let message = format!("{count} queries, one call takes 2**32 - 1 at most");
        return Err(input_error(py, message));
    }
    Ok(())
}
