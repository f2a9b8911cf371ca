//! The error type of cleanings and contamination checks.

use std::path::PathBuf;

use super::loss::{Loss, LossLimit};
use super::overview::Overview;
use fpstore_base::Interrupted;

/// The result of a cleaning or a contamination check.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why documents could not be read or cleaned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of a store, of a join, or of a written file; also
    /// [`Interrupted`](fpstore::Error::Interrupted).
    #[error(transparent)]
    Store(#[from] fpstore::Error),
    /// An error of the documents or of their files.
    #[error(transparent)]
    Text(fpstore_documents::Error),
    /// An error of the items of a benchmark or of their files.
    #[error(transparent)]
    Items(fpstore_documents::Error),
    /// An output exists and may not be replaced.
    #[error("{} exists", path.display())]
    Exists {
        /// The path of the output.
        path: PathBuf,
        /// Whether documents are added to a store. If an earlier run wrote the output and added its
        /// documents, they would be near stored ones now, and a replaced output would contain none
        /// of them.
        adds: bool,
    },
    /// An output exists that an earlier run of the same cleaning wrote. That run was interrupted
    /// just before it removed its job folder, its last step.
    #[error(
        "{} exists: an earlier run of the same cleaning completed its outputs, so nothing is left \
         to do",
        path.display()
    )]
    Ended {
        /// The path of the output.
        path: PathBuf,
    },
    /// The store already contains the documents of a run of this name, and not all outputs exist:
    /// all documents would be near stored ones, and none would be kept.
    #[error(
        "{}{} already has the documents of the run '{run}', so all of them would be removed as \
         stored; nothing was changed",
        missing.as_ref().map(|it| format!("{} does not exist, and ", it.display())).unwrap_or_default(),
        store.display()
    )]
    KnownRun {
        /// The name of the run.
        run: String,
        /// The path of the store.
        store: PathBuf,
        /// A missing output; `None` if the cleaning writes no outputs.
        missing: Option<PathBuf>,
    },
    /// Another process works on the same output.
    #[error("{} is in use: another process works on the same output", folder.display())]
    InUse {
        /// The folder of the unfinished work.
        folder: PathBuf,
    },
    /// The output has unfinished work of a cleaning with other settings.
    #[error("{} holds unfinished work with other settings: {differences}", folder.display())]
    Unfinished {
        /// The folder of the unfinished work.
        folder: PathBuf,
        /// The names of the settings that differ.
        differences: String,
    },
    /// More documents are left than [`Cleaner::target`](super::Cleaner::target) allows, even with
    /// the lowest similarity or greatest distance. A run with another target resumes the work.
    #[error(
        "a target of {target} cannot be reached: {least} documents are left even at the most \
         relaxed threshold; relax it further, or name a target of {least} or more"
    )]
    TargetNotReached {
        /// The largest number of documents that may be kept.
        target: u64,
        /// The number of documents kept with the lowest similarity or greatest distance.
        least: u64,
    },
    /// More documents would be removed than [`Cleaner::max_loss`](super::Cleaner::max_loss) allows.
    /// A run with the same settings and another limit resumes the work.
    #[error("{} would lose {loss}, but only {limit} is allowed", loss.of)]
    TooMuchLost {
        /// The largest loss.
        loss: Box<Loss>,
        /// The exceeded limit.
        limit: LossLimit,
        /// The overview of the cleaning, with all losses.
        overview: Box<Overview>,
    },
}

impl Error {
    /// The error for invalid settings or inputs.
    pub(super) fn refused(reason: impl Into<String>) -> Self {
        Error::Store(fpstore::Error::InvalidOptions { reason: reason.into() })
    }

    /// Whether the error is about invalid settings or inputs.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(self, Error::Store(fpstore::Error::InvalidOptions { .. }))
    }

    /// Whether the observer has ended the work.
    pub(super) fn is_interruption(&self) -> bool {
        matches!(self, Error::Store(fpstore::Error::Interrupted))
    }
}

impl From<fpstore_base::IoError> for Error {
    fn from(error: fpstore_base::IoError) -> Self {
        Error::Store(error.into())
    }
}

impl From<fpstore_documents::Error> for Error {
    fn from(error: fpstore_documents::Error) -> Self {
        match error {
            fpstore_documents::Error::Interrupted => Error::Store(fpstore::Error::Interrupted),
            error => Error::Text(error),
        }
    }
}

impl From<Interrupted> for Error {
    fn from(interrupted: Interrupted) -> Self {
        Error::Store(interrupted.into())
    }
}
