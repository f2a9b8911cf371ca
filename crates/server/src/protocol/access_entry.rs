//! An entry of the access log.

use std::net::IpAddr;

use serde::Serialize;

/// Receives answered requests.
pub type AccessLog = fn(&AccessEntry<'_>);

/// An answered request. The parameters of its address, which contain the query, are omitted.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct AccessEntry<'a> {
    /// The time of the answer, in UTC.
    pub time: String,
    /// The id of the request: the value of its header `X-Request-Id`, or a new id.
    pub request_id: &'a str,
    /// The address of the client; `None` for a Unix socket and for requests from a frontend.
    pub client: Option<IpAddr>,
    /// The method.
    pub method: &'a str,
    /// The path.
    pub path: &'a str,
    /// The status of the answer.
    pub status: u16,
    /// The code of the failure, if the request failed.
    pub code: Option<&'a str>,
    /// Bytes of the body of the answer; `None` for a stream.
    pub bytes: Option<u64>,
    /// The time from the head of the request to the answer; of a stream, to the head of the answer.
    pub seconds: f64,
}
