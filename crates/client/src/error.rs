//! Errors of requests to a server.

use std::error::Error;

/// An error of a request to a server.
///
/// A message is one line and describes its own layer only; a cause, if there is one, is in
/// [`source`](Error::source).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// An invalid URL, or a token with invalid characters.
    #[error("{reason}")]
    Invalid {
        /// The whole message: the problem, and the expected form.
        reason: String,
    },
    /// The server cannot be reached, or the connection broke off.
    #[error("{doing}")]
    Connection {
        /// The whole message: the attempted operation, and the place.
        doing: String,
        /// The error of the system or of the connection.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The server refused the request.
    #[error("the server refused: {message} [{code}]")]
    Refused {
        /// The stable code of the failure, such as `answer-over-limit`.
        code: String,
        /// The sentence for people.
        message: String,
    },
    /// The answer does not come from an fpstore server.
    #[error("{reason}")]
    NotAServer {
        /// The whole message, with the answer that was received.
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
