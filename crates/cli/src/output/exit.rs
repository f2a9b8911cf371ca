//! Errors that end the program in a special way: a missing result, a signal, a closed pipe.
//!
//! This file imports no other file of the program, because all of them may import it.

use std::io;

use fpstore::Error;
use fpstore_base::Interrupted;

/// The store does not contain the requested object. Prints the message; the exit status is 1, not
/// 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NotFound(pub(crate) String);

/// Whether a signal interrupted the command.
pub(crate) fn is_interrupted(error: &anyhow::Error) -> bool {
    let is_ended_wait = |cause: &io::Error| Interrupted::is_in(cause);
    error.chain().any(|cause| cause.downcast_ref().is_some_and(is_ended_wait))
        || matches!(error.downcast_ref(), Some(Error::Interrupted))
        || matches!(error.downcast_ref(), Some(fpstore_documents::Error::Interrupted))
}

/// Whether the reader of the output closed it, which is not reported as an error.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
    })
}
