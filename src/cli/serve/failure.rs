//! What a client is told when a request cannot be answered: a status, a stable code, a sentence.

use std::fmt::Display;

use hyper::StatusCode;
use serde::Serialize;

/// Why a request was not answered as it was asked.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) status: StatusCode,
    /// Stable, for programs.
    pub(super) code: &'static str,
    /// For people: what was found, what was expected, what helps.
    pub(super) message: String,
    /// The limit that was met: the name of its option, and its value.
    pub(super) limit: Option<(&'static str, u64)>,
    /// After how many seconds it is worth to try again.
    pub(super) retry_after: Option<u32>,
    /// Which methods the place has, if another one was used.
    pub(super) allow: Option<String>,
}

#[derive(Serialize)]
struct Shown<'a> {
    error: ShownError<'a>,
}

#[derive(Serialize)]
struct ShownError<'a> {
    code: &'a str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<ShownLimit<'a>>,
}

#[derive(Serialize)]
struct ShownLimit<'a> {
    name: &'a str,
    value: u64,
}

impl Failure {
    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Display) -> Self {
        let message = message.to_string();
        Failure { status, code, message, limit: None, retry_after: None, allow: None }
    }

    pub(super) fn bad(code: &'static str, message: impl Display) -> Self {
        Failure::new(StatusCode::BAD_REQUEST, code, message)
    }

    /// The request is larger than a limit allows.
    pub(super) fn over(
        code: &'static str,
        option: &'static str,
        value: u64,
        message: impl Display,
    ) -> Self {
        let message = format!("{message}; the limit is --{option} {value}");
        let failure = Failure::new(StatusCode::PAYLOAD_TOO_LARGE, code, message);
        Failure { limit: Some((option, value)), ..failure }
    }

    /// The server is busy now.
    pub(super) fn busy(message: impl Display) -> Self {
        let failure = Failure::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message);
        Failure { retry_after: Some(1), ..failure }
    }

    pub(super) fn internal(code: &'static str, message: impl Display) -> Self {
        Failure::new(StatusCode::INTERNAL_SERVER_ERROR, code, message)
    }

    /// The work panicked or its thread is gone, which is a fault of the program.
    pub(super) fn broken() -> Self {
        Failure::internal("internal", "the work broke down; the log of the server says where")
    }

    /// Writes it as one JSON object without an end of line.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let limit = self.limit.map(|(name, value)| ShownLimit { name, value });
        let error = ShownError { code: self.code, message: &self.message, limit };
        serde_json::to_writer(out, &Shown { error }).expect("a vector takes all bytes");
    }
}

impl From<fpstore::Error> for Failure {
    fn from(error: fpstore::Error) -> Self {
        let code = match error {
            fpstore::Error::Corrupt { .. } => "store-damaged",
            _ => "store-failed",
        };
        Failure::internal(code, format_args!("{:#}", anyhow::Error::from(error)))
    }
}
