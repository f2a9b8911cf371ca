//! Why a file was not opened.

use std::io;

use fpstore_base::IoError;

/// The result of an operation on files.
pub type Result<T> = std::result::Result<T, IoError>;

/// Why a file was not opened.
#[derive(Debug)]
pub enum Refused {
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
