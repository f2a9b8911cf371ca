//! What an error of a change says: whether the change took effect, and what the client is told.

use crate::protocol::failure::{Failure, chain};
use fpstore::Error;

/// Whether a change took effect before its error.
pub(super) fn is_in_effect(error: &Error) -> bool {
    matches!(error, Error::InEffect { .. })
}

/// Whether the next change will probably meet an error, too.
pub(super) fn is_of_disk(error: &Error) -> bool {
    matches!(
        error,
        Error::Io { .. }
            | Error::NoSpace { .. }
            | Error::Replaced { .. }
            | Error::NoStore { .. }
            | Error::InEffect { .. }
            | Error::InDoubt { .. }
    )
}

/// The answer to a change that failed: whether it took effect is in the code and in the message.
pub(crate) fn not_written(error: &Error) -> Failure {
    match error {
        Error::InvalidOptions { .. } | Error::InvalidId { .. } => {
            return Failure::bad("bad-parameter", chain(error));
        }
        Error::RecipeMismatch { .. } => {
            let status = hyper::StatusCode::CONFLICT;
            return Failure::new(status, "other-recipe", chain(error));
        }
        Error::InEffect { .. } => return Failure::internal("in-effect", chain(error)),
        Error::InDoubt { .. } => return Failure::internal("in-doubt", chain(error)),
        _ => {}
    }
    let why = chain(error);
    let message = format!("the store could not be written, so nothing was added or deleted: {why}");
    Failure {
        status: hyper::StatusCode::SERVICE_UNAVAILABLE,
        ..Failure::internal("not-written", message)
    }
}
