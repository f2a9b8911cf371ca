//! How an error ends the program: three kinds of errors are none of its own.
//!
//! Streams and the start of the program ask here. This file imports no other file of the program.

use std::{fmt, io};

use fpstore::Error;
use fpstore_base::Interrupted;

/// What the user asked for is not in the store: the message, and exit status 1 instead of 2.
#[derive(Debug)]
pub(crate) struct NotFound(pub(crate) String);

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotFound {}

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
