//! Errors of work on documents, in the words of the program.

use anyhow::anyhow;
use fpstore::corpus::Error;

/// The error of stores or of texts that an error of a corpus stands for, or what the user can do
/// about it.
pub(in crate::cli) fn unwrapped(error: anyhow::Error) -> anyhow::Error {
    match error.downcast() {
        Ok(Error::Store(error)) => error.into(),
        Ok(Error::Text(error)) => error.into(),
        Ok(error @ Error::Exists { adds: true, .. }) => anyhow!(
            "{error}; if an earlier run made it, the store has its documents, and --force would \
             replace it by what the store has not: move it away, or give --force if that is meant"
        ),
        Ok(error @ Error::Exists { .. }) => {
            anyhow!("{error}; --force replaces it once the new one is complete")
        }
        Ok(error @ Error::Unfinished { .. }) => {
            anyhow!(
                "{error}; finish it with the command that began it, in which --max-loss and --target may \
                 be others, or give it up with --force"
            )
        }
        Ok(error @ Error::TooMuchLost { .. }) => anyhow!(
            "{error}; nothing was added to a store. If the largest clusters should go, give the same \
             command with a higher --max-loss, or without it, and it goes on from here; a higher \
             --confirm or a smaller -k removes less, and begins again, with --force"
        ),
        Ok(error) => error.into(),
        Err(error) => error,
    }
}
