//! How a backup is made, and what it did.

use std::path::PathBuf;

use crate::base::setters::setters;
use crate::writing::directory::Waiting;
use fpstore_base::watch::Observer;

/// How a backup is made.
#[derive(Clone, Debug, Default)]
pub struct BackupOptions {
    pub(super) verify: bool,
    pub(super) max_rate: Option<u64>,
    pub(super) wait: Waiting,
    pub(super) observer: Option<Observer>,
}

impl BackupOptions {
    setters!(max_rate, wait, observer);

    /// Sets whether segments that are in the folder already are read and checked as a whole, and
    /// copied again if they are damaged. Copies are always checked when they are made.
    #[must_use]
    pub fn verify(self, verify: bool) -> Self {
        BackupOptions { verify, ..self }
    }
}

/// What [`backup`](super::backup) did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackedUp {
    /// The folder.
    pub path: PathBuf,
    /// The generation that it holds now.
    pub generation: u64,
    /// Whether it held another one before, or none.
    pub is_new: bool,
    /// Segments that were copied.
    pub copied: u64,
    /// Bytes of their files.
    pub copied_len: u64,
    /// Segments that were there already.
    pub kept: u64,
}
