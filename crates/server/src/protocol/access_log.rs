//! The access log, and the request ids by which a client finds its requests in it.

use std::net::IpAddr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::line_queue::LineQueue;
use super::request::{HttpRequest, HttpResponse};
use hyper::Method;
use hyper::body::Body as _;
use hyper::header::{HeaderName, HeaderValue};
use jiff::Timestamp;
use serde::Serialize;

/// The header with the id of a request; the answer repeats it.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The maximum length in bytes of a request id sent by a client. A longer id is ignored.
const REQUEST_ID_LEN_MAX: usize = 128;

/// The header to which each proxy appends the address of its client.
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// A line of the log. The parameters of the address, which contain the query, are omitted.
#[derive(Serialize)]
struct AccessEntry<'a> {
    /// The time of the answer, in UTC.
    time: String,
    request_id: &'a str,
    /// The address of the client; `None` for a Unix socket without a proxy, and for a frontend.
    client: Option<IpAddr>,
    method: &'a str,
    path: &'a str,
    status: u16,
    /// The code of the failure, if the request failed.
    code: Option<&'a str>,
    /// Bytes of the body of the answer; `None` for a stream.
    bytes: Option<u64>,
    /// The time from the head of the request to the answer, or to the head of a streamed answer.
    seconds: f64,
}

/// The address that the last proxy appended to the header: the address of its client.
pub(crate) fn forwarded_for(request: &HttpRequest) -> Option<IpAddr> {
    let last = request.headers().get_all(&FORWARDED_FOR).iter().next_back()?;
    last.to_str().ok()?.rsplit(',').next()?.trim().parse().ok()
}

/// The fields of a request that its log entry needs.
pub(crate) struct Noted {
    id: HeaderValue,
    method: Method,
    path: String,
    client: Option<IpAddr>,
    log: Option<LineQueue>,
}

impl Noted {
    /// Notes a request, if there is a log or the client sent an id.
    pub(crate) fn of(
        request: &HttpRequest,
        client: Option<IpAddr>,
        log: Option<&LineQueue>,
    ) -> Option<Self> {
        let named = request.headers().get(&REQUEST_ID).filter(|id| is_name(id));
        if named.is_none() && log.is_none() {
            return None;
        }
        let id = named.cloned().unwrap_or_else(new_name);
        let (method, path) = match log {
            Some(_) => (request.method().clone(), request.uri().path().to_string()),
            None => (Method::GET, String::new()),
        };
        Some(Noted { id, method, path, client, log: log.cloned() })
    }

    /// Adds the id to the answer, and logs the request.
    pub(crate) fn answered(self, response: &mut HttpResponse, code: Option<&str>, time: Duration) {
        if let Some(log) = self.log {
            let entry = AccessEntry {
                time: format!("{:.3}", Timestamp::now()),
                request_id: self.id.to_str().unwrap_or_default(),
                client: self.client,
                method: self.method.as_str(),
                path: &self.path,
                status: response.status().as_u16(),
                code,
                bytes: response.body().size_hint().exact(),
                seconds: time.as_secs_f64(),
            };
            let mut line = serde_json::to_vec(&entry).expect("a vector takes all bytes");
            line.push(b'\n');
            log.push(&line);
        }
        response.headers_mut().insert(REQUEST_ID, self.id);
    }
}

/// Whether an id of a client is valid in a log and in an answer.
fn is_name(id: &HeaderValue) -> bool {
    (1..=REQUEST_ID_LEN_MAX).contains(&id.len()) && id.as_bytes().iter().all(u8::is_ascii_graphic)
}

/// A unique id: a random number of the process, and a counter.
fn new_name() -> HeaderValue {
    static PROCESS: OnceLock<u64> = OnceLock::new();
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let process = PROCESS.get_or_init(|| {
        // Without random numbers of the system, the time distinguishes processes.
        getrandom::u64().unwrap_or_else(|_| Timestamp::now().as_nanosecond() as u64)
    });
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("{process:016x}-{number:x}");
    HeaderValue::try_from(name).expect("hex digits are allowed in headers")
}
