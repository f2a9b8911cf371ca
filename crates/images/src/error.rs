//! Why the pictures of a folder cannot be read.

use std::fmt;

use fpstore_base::IoError;

use crate::summary::PictureSummary;

/// Why the pictures of a folder cannot be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused an operation on a folder.
    Io(IoError),
    /// Some pictures cannot be read; the summary names the first ten.
    BadPictures(Box<PictureSummary>),
    /// The observer ended the work.
    Interrupted,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io(error) => error.fmt(f),
            Error::BadPictures(summary) => {
                let all = summary.picture_count + summary.bad_count;
                write!(f, "{} of {all} pictures cannot be read", summary.bad_count)?;
                let first = summary.bad.first().map_or("", String::as_str);
                write!(f, "; the first is {first}")
            }
            Error::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io(error) => std::error::Error::source(error),
            Error::BadPictures(_) | Error::Interrupted => None,
        }
    }
}
