//! Reads request bodies within their limits, and builds responses.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Either, Full, channel::Channel};
use hyper::body::{Body as _, Bytes, Frame, Incoming};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Request, Response, StatusCode};
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use tokio::time::{Instant, timeout_at};

use super::failure::Failure;
use super::memory_budget::HeldBody;
use super::params::no_options;
use crate::state::limits::millis;
use crate::state::shared::Shared;
use fpstore_client::limits::{BODY_TIMEOUT, MAX_BODIES, MAX_BODY, ServeLimits};

/// An error while reading a request body.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The body of a response: complete, or in parts.
pub type ResponseBody = Either<Full<Bytes>, Channel<Bytes>>;

/// The body of a request: from hyper, or from a frontend.
pub(crate) type RequestBody = Either<Incoming, UnsyncBoxBody<Bytes, BoxError>>;

/// A request to the server.
pub(crate) type HttpRequest = Request<RequestBody>;

/// A response of the server.
pub(crate) type HttpResponse = Response<ResponseBody>;

/// The result of a request.
pub(crate) type HttpResult = Result<HttpResponse, Failure>;

/// Shorter JSON bodies are parsed on the thread that read them, in about 100 us.
const SHORT_LEN: usize = 1 << 16;
/// Bytes of a parsed list element, spare capacity of the list included.
const ELEMENT_LEN: usize = 256;
/// If a body exceeds the limit, up to this multiple of the limit is read and discarded: a client
/// that is still writing would not see the answer.
const DISCARDED: u64 = 8;

pub(crate) const JSON: &str = "application/json";
pub(crate) const NDJSON: &str = "application/x-ndjson";
pub(crate) const BINARY: &str = "application/octet-stream";

/// A response with this body.
pub(crate) fn response(
    status: StatusCode,
    kind: &'static str,
    body: impl Into<Bytes>,
) -> HttpResponse {
    let mut response = Response::new(Either::Left(Full::new(body.into())));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

pub(crate) fn no_room(server: &Shared) -> Failure {
    let message = "the bodies and answers of other requests use all memory for bodies and answers";
    let failure = server.live.refused(message).of_limit(&MAX_BODIES, server.bodies.most());
    Failure { code: "bodies-over-limit", ..failure }
}

/// A response with this value as JSON, on one line.
pub(crate) fn json_response(status: StatusCode, value: &impl serde::Serialize) -> HttpResponse {
    let mut bytes = serde_json::to_vec(value).expect("a vector takes all bytes");
    bytes.push(b'\n');
    response(status, JSON, bytes)
}

/// A response whose body comes in parts.
pub(crate) fn streamed(kind: &'static str, body: Channel<Bytes>) -> HttpResponse {
    let mut response = Response::new(Either::Right(body));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

impl From<Failure> for HttpResponse {
    fn from(failure: Failure) -> Self {
        let mut body = Vec::new();
        failure.write(&mut body);
        body.push(b'\n');
        let mut response = response(failure.status, JSON, body);
        let headers = response.headers_mut();
        if let Some(seconds) = failure.retry_after {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if let Some(Ok(allow)) = failure.allow.map(|allow| HeaderValue::try_from(&*allow)) {
            headers.insert(header::ALLOW, allow);
        }
        if failure.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if matches!(failure.code, "body-over-limit" | "slow-body" | "bad-body") {
            // The rest of the body will still arrive, and would be parsed as the next request.
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// The media type of a body, and its encoding if the client declares one.
#[derive(Debug, Default)]
pub(crate) struct ContentType {
    /// The media type in lower case; empty if the client declares none.
    pub(crate) name: String,
    pub(crate) charset: Option<String>,
}

impl ContentType {
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self, Failure> {
        let mut values = headers.get_all(header::CONTENT_TYPE).iter();
        let Some(value) = values.next() else { return Ok(ContentType::default()) };
        let value = value.to_str().ok().filter(|_| values.next().is_none());
        let value =
            value.ok_or_else(|| Failure::bad("bad-content-type", "expected one Content-Type"))?;
        let mut parts = value.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default().to_ascii_lowercase();
        let charset = parts.find_map(|part| {
            let (name, value) = part.split_once('=')?;
            name.trim()
                .eq_ignore_ascii_case("charset")
                .then(|| value.trim().trim_matches('"').into())
        });
        Ok(ContentType { name, charset })
    }

    /// The failure for a media type that a route does not accept.
    pub(crate) fn unknown(&self, expected: &str) -> Failure {
        let found = if self.name.is_empty() { "none".into() } else { format!("'{}'", self.name) };
        let message = format!("Content-Type is {found}, expected {expected}");
        Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "bad-content-type", message)
    }
}

/// The complete JSON body of a request without parameters.
pub(crate) async fn whole_json(server: &Shared, request: HttpRequest) -> Result<HeldBody, Failure> {
    no_options(request.uri())?;
    let kind = ContentType::of(request.headers())?;
    if kind.name != JSON {
        return Err(kind.unknown(JSON));
    }
    let (head, body) = request.into_parts();
    whole(server, &head.headers, body).await
}

/// Reads a complete body.
pub(crate) async fn whole(
    server: &Shared,
    headers: &HeaderMap,
    mut body: RequestBody,
) -> Result<HeldBody, Failure> {
    refuse_encoding(headers)?;
    let limits = &server.limits;
    let most = limits.max_body;
    let end = Instant::now() + limits.body_timeout;
    let announced = body.size_hint().lower();
    let mut bytes = server.bodies.body(announced);
    let (mut len, mut has_room) = (0_u64, true);
    if announced > most && headers.contains_key(header::EXPECT) {
        // The client waits for permission to send the body, so there is nothing to discard.
        return Err(over(most, announced));
    }
    while let Some(frame) = next_frame(&mut body, end, limits.body_timeout).await? {
        let Ok(data) = frame.into_data() else { continue };
        len += data.len() as u64;
        if len > most || announced > most {
            bytes.clear();
            if len.max(announced) > most.saturating_mul(DISCARDED) {
                break;
            }
        } else if !has_room || !bytes.push(&data) {
            has_room = false;
            bytes.clear();
        }
    }
    if len.max(announced) > most {
        return Err(over(most, len.max(announced)));
    }
    if !has_room {
        return Err(no_room(server));
    }
    Ok(bytes)
}

fn over(most: u64, len: u64) -> Failure {
    let message = format!(
        "the body has {len} bytes or more; send it in several requests, or a stream of NDJSON"
    );
    Failure::over("body-over-limit", &MAX_BODY, most, message)
}

/// The next part of a body.
pub(crate) async fn next_frame(
    body: &mut RequestBody,
    end: Instant,
    limit: Duration,
) -> Result<Option<Frame<Bytes>>, Failure> {
    match timeout_at(end, body.frame()).await {
        Ok(Some(Ok(frame))) => Ok(Some(frame)),
        Ok(None) => Ok(None),
        Ok(Some(Err(error))) => {
            Err(Failure::bad("bad-body", format!("the body is incomplete: {error}")))
        }
        Err(_) => {
            let (option, limit) = (BODY_TIMEOUT.flag(), millis(limit));
            let message = format!("the body was not received within --{option} {limit}");
            Err(Failure::new(StatusCode::REQUEST_TIMEOUT, "slow-body", message))
        }
    }
}

/// Refuses compressed bodies, which are not supported.
pub(crate) fn refuse_encoding(headers: &HeaderMap) -> Result<(), Failure> {
    let mut transfers = headers.get_all(header::TRANSFER_ENCODING).iter();
    if transfers.any(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"chunked")) {
        let message = "the only supported transfer coding is 'chunked'";
        return Err(Failure::new(StatusCode::NOT_IMPLEMENTED, "bad-transfer-encoding", message));
    }
    match headers.get(header::CONTENT_ENCODING) {
        Some(encoding) if encoding != "identity" => {
            let message = "compressed bodies are not supported; send the body without \
                           Content-Encoding";
            Err(Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "bad-content-encoding", message))
        }
        _ => Ok(()),
    }
}

/// The numbers of elements in the lists of a JSON body.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Lists {
    #[serde(default)]
    fingerprints: Count,
    #[serde(default)]
    items: Count,
    #[serde(default)]
    ids: Count,
    #[serde(default)]
    from: Count,
}

/// The number of elements of a list; 0 for any other value. Counting needs no memory.
#[derive(Default)]
struct Count(usize);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Count(0))
    }
}

impl<'de> Visitor<'de> for Count {
    type Value = Count;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<Count, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {
            self.0 += 1;
        }
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Count, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Count, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Count, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Count, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Count, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Count, E> {
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Count, E> {
        Ok(self)
    }
}

/// Parses a JSON body with `parse`, which must itself check the lengths of lists. A long body is
/// parsed by [`parsed_apart`], because this thread answers other requests.
pub(crate) async fn parsed<T: Send + 'static>(
    server: &Arc<Shared>,
    bytes: HeldBody,
    check: impl FnOnce(&ServeLimits, usize) -> Result<(), Failure> + Send + 'static,
    parse: impl FnOnce(&[u8]) -> Result<T, Failure> + Send + 'static,
) -> Result<(T, HeldBody), Failure> {
    match bytes.len() <= SHORT_LEN {
        true => Ok((parse(&bytes)?, bytes)),
        false => parsed_apart(server, bytes, check, parse).await,
    }
}

/// Parses a JSON body with `parse` on a thread for quick work. The list elements are counted first:
/// `check` limits their number, and their memory counts in the budget during parsing.
pub(crate) async fn parsed_apart<T: Send + 'static>(
    server: &Arc<Shared>,
    bytes: HeldBody,
    check: impl FnOnce(&ServeLimits, usize) -> Result<(), Failure> + Send + 'static,
    parse: impl FnOnce(&[u8]) -> Result<T, Failure> + Send + 'static,
) -> Result<(T, HeldBody), Failure> {
    let held = Arc::clone(server);
    let work = move || {
        let Lists { fingerprints, items, ids, from } = json(&bytes)?;
        let count = [fingerprints, items, ids, from].iter().map(|list| list.0).sum();
        check(&held.limits, count)?;
        // Parsing may copy the values of all fields, so the length of the body counts again.
        let len = bytes.len() + count * ELEMENT_LEN;
        let _parsing = held.bodies.extra(len).ok_or_else(|| no_room(&held))?;
        Ok((parse(&bytes)?, bytes))
    };
    server.lanes.quick(&server.live, work).await?
}

/// Parses a JSON body.
pub(crate) fn json<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Failure> {
    serde_json::from_slice(bytes)
        .map_err(|error| Failure::bad("bad-json", format!("the body is invalid: {error}")))
}
