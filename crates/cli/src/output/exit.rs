//! How an error ends the program: three kinds of errors are none of its own.
//!
//! Streams and the start of the program ask here. This file imports no other file of the program.

use std::io;

use fpstore::Error;
use fpstore_base::Interrupted;

/// What the user asked for is not in the store: the message, and exit status 1 instead of 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NotFound(pub(crate) String);

/// Whether a signal ended the work.
pub(crate) fn is_interrupted(error: &anyhow::Error) -> bool {
    let is_ended_wait = |cause: &io::Error| Interrupted::is_in(cause);
    error.chain().any(|cause| cause.downcast_ref().is_some_and(is_ended_wait))
        || matches!(error.downcast_ref(), Some(Error::Interrupted))
        || matches!(error.downcast_ref(), Some(fpstore_documents::Error::Interrupted))
}

/// Whether the reader of the output has closed it, which is no error.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
    })
}
