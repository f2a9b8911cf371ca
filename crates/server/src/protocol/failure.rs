//! Failures of requests: a status, a stable code, and a sentence.

use std::fmt::Display;

use hyper::StatusCode;

use fpstore::Error;
use fpstore::options::NumberOption;
use fpstore_client::{FailureBody, FailureFields, FailureLimit};

pub(crate) use fpstore_base::chain;

/// The code of a fault that `/readyz` reports, for the access log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FaultCode(pub(crate) &'static str);

/// The reason why a request failed.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) status: StatusCode,
    /// A stable code for programs.
    pub(crate) code: &'static str,
    /// A sentence for people: the found value, the expected value, the remedy.
    pub(crate) message: String,
    /// The limit that the request exceeds.
    pub(crate) limit: Option<FailureLimit<'static>>,
    /// The expected cost in microseconds, if the request was refused for its cost.
    pub(crate) cost_us: Option<f64>,
    /// The number of seconds after which a retry makes sense.
    pub(crate) retry_after: Option<u32>,
    /// The allowed methods, if the request used another method.
    pub(crate) allow: Option<Box<str>>,
}

impl Failure {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Display) -> Self {
        let message = message.to_string();
        let (limit, cost_us, retry_after, allow) = (None, None, None, None);
        Failure { status, code, message, limit, cost_us, retry_after, allow }
    }

    pub(crate) fn bad(code: &'static str, message: impl Display) -> Self {
        Failure::new(StatusCode::BAD_REQUEST, code, message)
    }

    /// The failure of a request that is larger than a limit allows.
    pub(crate) fn over(
        code: &'static str,
        option: &NumberOption,
        value: u64,
        message: impl Display,
    ) -> Self {
        Failure::new(StatusCode::PAYLOAD_TOO_LARGE, code, message).of_limit(option, value)
    }

    /// The failure of a request with a parameter above a limit.
    pub(crate) fn above(
        code: &'static str,
        option: &NumberOption,
        value: u64,
        message: impl Display,
    ) -> Self {
        let failure = Failure::over(code, option, value, message);
        Failure { status: StatusCode::BAD_REQUEST, ..failure }
    }

    /// Names the failed part of the request in the message.
    pub(crate) fn of_part(self, part: impl Display) -> Self {
        Failure { message: format!("{part}: {}", self.message), ..self }
    }

    /// Adds the limit that the request exceeds.
    pub(crate) fn of_limit(self, option: &NumberOption, value: u64) -> Self {
        let name = option.flag();
        let message = format!("{}; the limit is --{name} {value}", self.message);
        Failure { message, limit: Some(FailureLimit { name: name.into(), value }), ..self }
    }

    /// The failure of a busy server; a retry may succeed.
    pub(crate) fn busy(message: impl Display) -> Self {
        let failure = Failure::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message);
        Failure { retry_after: Some(1), ..failure }
    }

    pub(crate) fn internal(code: &'static str, message: impl Display) -> Self {
        Failure::new(StatusCode::INTERNAL_SERVER_ERROR, code, message)
    }

    /// The failure if the work panicked or its thread ended, which is a fault of the program.
    pub(crate) fn broken() -> Self {
        Failure::internal(
            "internal",
            "the work panicked; the log of the server contains the position in the code",
        )
    }

    /// Writes the failure as one JSON object without a newline.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let (code, message) = (self.code.into(), self.message.as_str().into());
        let limit = self.limit.clone();
        let body =
            FailureBody { error: FailureFields { code, message, limit, cost_us: self.cost_us } };
        serde_json::to_writer(out, &body).expect("a vector takes all bytes");
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            // The options that the store refuses come from the request: an error of the client.
            Error::InvalidOptions { .. }
            | Error::InvalidDistance { .. }
            | Error::InvalidFingerprint(_) => Failure::bad("bad-parameter", chain(&error)),
            Error::TooWide { .. } => Failure::bad("bad-fingerprint", chain(&error)),
            Error::Corrupt { .. } => Failure::internal("store-damaged", chain(&error)),
            _ => Failure::internal("store-failed", chain(&error)),
        }
    }
}
