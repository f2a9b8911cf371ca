//! How an error ends the program: two kinds of errors are none of its own.
//!
//! Streams and the start of the program ask here. This file imports no other file of the program.

use std::io;

use fpstore::Error;
use fpstore_base::Interrupted;

/// Whether a signal ended the work.
pub(in crate::cli) fn is_interrupted(error: &anyhow::Error) -> bool {
    let is_ended_wait = |cause: &io::Error| Interrupted::is_in(cause);
    error.chain().any(|cause| cause.downcast_ref().is_some_and(is_ended_wait))
        || matches!(error.downcast_ref(), Some(Error::Interrupted))
        || matches!(error.downcast_ref(), Some(fpstore_documents::Error::Interrupted))
}

/// Whether the reader of the output has closed it, which is no error.
pub(in crate::cli) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
    })
}
