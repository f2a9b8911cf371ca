//! A line of the log of requests.

use std::net::IpAddr;

use serde::Serialize;

/// Takes requests that were answered.
pub type AccessLog = fn(&AccessEntry<'_>);

/// A request that was answered. What it asked for, the parameters of its address, is not part of it.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct AccessEntry<'a> {
    /// When it was answered, in UTC.
    pub time: String,
    /// The name of the request: that of its header `X-Request-Id`, or a new one.
    pub request_id: &'a str,
    /// The address of the client; `None` for a Unix socket and for requests that a frontend received.
    pub client: Option<IpAddr>,
    /// The method.
    pub method: &'a str,
    /// The path.
    pub path: &'a str,
    /// The status of the answer.
    pub status: u16,
    /// The code of the error, if it is one.
    pub code: Option<&'a str>,
    /// Bytes of the body of the answer; `None` for a stream.
    pub bytes: Option<u64>,
    /// From the head of the request to the answer; of a stream, to the head of the answer.
    pub seconds: f64,
}
