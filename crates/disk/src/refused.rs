//! The reason why a file was not opened: an error of the system, or a wrong kind of file.

use std::io;

#[derive(Debug)]
pub enum Refused {
    /// The error of the system.
    Io(io::Error),
    /// The path is not a plain file; this is its kind, such as `a named pipe`.
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
