//! Errors with their own exit status: a missing result, a signal, a closed pipe.
//!
//! This file imports no other file of the program, because all of them may import it.

use std::io;

use fpstore::Error;
use fpstore_base::Interrupted;

/// The store does not contain the requested record. The program prints the message and exits with
/// status 1 instead of 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NotFound(pub(crate) String);

/// Whether the command ended with this error because of a signal.
pub(crate) fn is_interrupted(error: &anyhow::Error) -> bool {
    let is_ended_wait = |cause: &io::Error| Interrupted::is_in(cause);
    error.chain().any(|cause| cause.downcast_ref().is_some_and(is_ended_wait))
        || matches!(error.downcast_ref(), Some(Error::Interrupted))
        || matches!(error.downcast_ref(), Some(fpstore_documents::Error::Interrupted))
}

/// Whether the program that reads the output closed it, as `head` does. Most commands do not report
/// this error.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
    })
}
