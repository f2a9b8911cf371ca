//! Why a server was not asked, or did not answer.

use std::error::Error;
use std::fmt;

/// Why a server did not answer what it was asked.
///
/// A message is one line and describes its own layer only; a cause, if there is one, is in
/// [`source`](Error::source).
#[derive(Debug)]
#[non_exhaustive]
pub enum ClientError {
    /// An address that is none, or a token with characters that it cannot have.
    Invalid {
        /// The whole message: what is wrong, and what was expected.
        reason: String,
    },
    /// The server cannot be reached, or the connection broke off.
    Connection {
        /// The whole message: what was done, and where.
        doing: String,
        /// The error of the system or of the connection.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The server answered that it does not do what it was asked.
    Refused {
        /// The stable code of the failure, such as `answer-over-limit`.
        code: String,
        /// The sentence for people.
        message: String,
    },
    /// The answer is not one of this kind of server.
    NotAServer {
        /// The whole message: what was answered.
        reason: String,
    },
}

impl ClientError {
    pub(super) fn connection<E: Into<Box<dyn Error + Send + Sync>>>(
        doing: impl Into<String>,
    ) -> impl FnOnce(E) -> Self {
        let doing = doing.into();
        move |source| ClientError::Connection { doing, source: source.into() }
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClientError::Connection { doing, .. } => f.write_str(doing),
            ClientError::Refused { code, message } => {
                write!(f, "the server refused: {message} [{code}]")
            }
            ClientError::Invalid { reason } | ClientError::NotAServer { reason } => {
                f.write_str(reason)
            }
        }
    }
}

impl Error for ClientError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            ClientError::Connection { source, .. } => Some(&**source),
            _ => None,
        }
    }
}
