//! Why a file was rejected.

use std::path::Path;

use crate::base::error::{Error, Fault};
use crate::base::section::Section;

/// Why a manifest, a deletion file or the header of a segment was rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FileFault {
    Version { found: u16, oldest: u16, newest: u16 },
    Fault { offset: u64, fault: Fault },
}

impl FileFault {
    pub(super) fn at(offset: usize, fault: Fault) -> Self {
        FileFault::Fault { offset: offset as u64, fault }
    }

    /// The error for a file at `path`; `section` is the rejected part.
    pub(crate) fn into_error(self, path: &Path, section: Section) -> Error {
        match self {
            FileFault::Version { found, oldest, newest } => {
                Error::UnsupportedVersion { path: path.into(), found, oldest, newest }
            }
            FileFault::Fault { offset, fault } => Error::corrupt(path, section, offset, fault),
        }
    }
}
