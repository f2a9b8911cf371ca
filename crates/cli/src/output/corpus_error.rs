//! Converts errors of the crate `fpstore_corpus` to errors of the program, with hints.

use anyhow::anyhow;
use fpstore_corpus::Error;

use super::text::quoted;

/// An error in a file of benchmark items. Hints for it name other options than for documents.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(crate) struct OfItems(pub(crate) fpstore_documents::Error);

impl OfItems {
    /// Replaces options for documents in a hint by the corresponding options for benchmark items.
    pub(crate) fn hint(&self, hint: String) -> String {
        hint.replace("--text-field", "--against-text-field")
            .replace("--id-field", "--against-id-field")
    }
}

/// Unwraps the error of a store or a text from an error of `fpstore_corpus`; adds a hint to the
/// other errors of that crate.
pub(crate) fn unwrapped(error: anyhow::Error) -> anyhow::Error {
    match error.downcast() {
        Ok(Error::Store(error)) => error.into(),
        Ok(Error::Text(error)) => error.into(),
        Ok(Error::Items(error)) => OfItems(error).into(),
        Ok(error @ Error::Exists { adds: true, .. }) => anyhow!(
            "{error}; if an earlier run made it, the store already has its documents, and --force \
             would replace it by an output without them: move it away, or give --force"
        ),
        Ok(error @ Error::Exists { .. }) => {
            anyhow!("{error}; to replace it once the new one is complete, use --force")
        }
        Ok(ref error @ Error::KnownRun { ref store, .. }) => {
            let place = quoted(store);
            anyhow!(
                "{error}; 'fpstore dump -s {place}' prints its ids. To list the kept documents again, \
                 repeat the command without --add and --run, with a copy of the store from before \
                 that run; or delete their ids from the store ('fpstore delete'), and give \
                 another --run"
            )
        }
        Ok(error @ Error::Unfinished { .. }) => {
            anyhow!(
                "{error}; finish it with the same command (--max-loss and --target may differ), \
                 or discard it with --force"
            )
        }
        Ok(error @ Error::TooMuchLost { .. }) => anyhow!(
            "{error}; nothing was added to a store. To accept the loss, repeat the command with a \
             higher --max-loss or without it, which continues from here; to remove less, repeat it \
             with a higher --confirm or a smaller -k, and with --force, which begins again"
        ),
        Ok(error @ Error::TargetNotReached { least, .. }) => anyhow!(
            "{error}; repeat the command with --target {least}, which continues from here, or with \
             a lower --confirm or a larger -k, and with --force, which begins again"
        ),
        Ok(error) => error.into(),
        Err(error) => error,
    }
}
