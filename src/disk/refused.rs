//! Why a file was not opened.

use std::io;

/// Why a file was not opened.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The system refused.
    Io(io::Error),
    /// It is no plain file but this, such as `a named pipe`.
    Kind(&'static str),
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Refused::Io(error)
    }
}

#[cfg(feature = "write")]
impl From<Refused> for io::Error {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Io(error) => error,
            Refused::Kind(kind) => {
                io::Error::new(io::ErrorKind::InvalidInput, format!("it is {kind}"))
            }
        }
    }
}
