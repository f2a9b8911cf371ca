//! `/v1/files/NAME`: the files of the current snapshot, for backups. Only `MANIFEST` changes, so
//! proxies may cache the other files.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::Arc;

use http_body_util::channel::{Channel, Sender};
use hyper::body::Bytes;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use tokio::task::spawn_blocking;

use crate::protocol::failure::Failure;
use crate::protocol::params::no_options;
use crate::protocol::request::{BINARY, HttpRequest, HttpResponse, HttpResult, response, streamed};
use crate::protocol::slow_clients::BusyGuard;
use crate::state::lanes::blocking;
use crate::state::opened::Witness;
use crate::state::shared::Shared;
use fpstore::state::{FileContents, HeldState, MANIFEST, StateFile};

/// The path of the route, without the name of the file at its end.
pub(crate) const PREFIX: &str = "/v1/files/";
/// The number of bytes in one read of a file.
const PART_LEN: u64 = 1 << 18;
/// The largest number of parts of a file that wait to be sent.
const PARTS: usize = 2;
/// The header `Cache-Control` of files that never change: cached for a year.
const KEPT: HeaderValue = HeaderValue::from_static("private, max-age=31536000, immutable");

/// Answers with a file or a range of it.
pub(crate) async fn answer(
    server: &Arc<Shared>,
    request: HttpRequest,
    busy: BusyGuard,
) -> HttpResult {
    no_options(request.uri())?;
    let store = server.live.store().clone();
    if store.is_united() {
        let message = "this server serves several stores together, without their files; copy each \
                       store by itself";
        return Err(Failure::new(StatusCode::NOT_FOUND, "several-stores", message));
    }
    let name = request.uri().path().strip_prefix(PREFIX).unwrap_or_default().to_string();
    let is_manifest = name == MANIFEST;
    let asked_name = name.clone();
    let file = blocking(move || store.file(&asked_name)).await??;
    let Some(StateFile { contents, len, digest, state, held, .. }) = file else {
        let message = format!(
            "'{}' is not a file of the current snapshot; {PREFIX}{MANIFEST} lists its files",
            name.escape_debug()
        );
        return Err(Failure::new(StatusCode::NOT_FOUND, "no-such-file", message));
    };
    let witness = Witness::of(&state);
    let digest = u128::from_be_bytes(digest);
    let etag = HeaderValue::try_from(format!("\"{digest:032x}\"")).expect("hex digits");
    let has = |name: HeaderName| request.headers().get(name).is_some_and(|it| *it == etag);
    let mut answer = if has(header::IF_NONE_MATCH) {
        let mut answer = response(StatusCode::NOT_MODIFIED, BINARY, Bytes::new());
        answer.headers_mut().remove(header::CONTENT_TYPE);
        answer
    } else {
        let may_be_part =
            !request.headers().contains_key(header::IF_RANGE) || has(header::IF_RANGE);
        let asked = if may_be_part { range(request.headers(), len) } else { None };
        match asked {
            Some(Err(())) => {
                let message = format!("the file has {len} bytes, so the range is empty");
                let status = StatusCode::RANGE_NOT_SATISFIABLE;
                let mut answer = Response::from(Failure::new(status, "bad-range", message));
                answer.headers_mut().insert(header::CONTENT_RANGE, text(format!("bytes */{len}")));
                return Ok(answer);
            }
            Some(Ok(part)) => {
                let of = format!("bytes {}-{}/{len}", part.start, part.end - 1);
                let mut answer = send(contents, held, part, busy);
                *answer.status_mut() = StatusCode::PARTIAL_CONTENT;
                answer.headers_mut().insert(header::CONTENT_RANGE, text(of));
                answer
            }
            None => send(contents, held, 0..len, busy),
        }
    };
    let headers = answer.headers_mut();
    headers.insert(header::ETAG, etag);
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    let kept = if is_manifest { HeaderValue::from_static("no-cache") } else { KEPT };
    headers.insert(header::CACHE_CONTROL, kept);
    witness.sign(headers);
    Ok(answer)
}

fn text(value: String) -> HeaderValue {
    HeaderValue::try_from(value).expect("it is ASCII")
}

/// The range in the header `Range`, if it has a form that this server supports; an error if the
/// range contains no byte of the file.
fn range(headers: &HeaderMap, len: u64) -> Option<Result<Range<u64>, ()>> {
    let (start, last) =
        headers.get(header::RANGE)?.to_str().ok()?.strip_prefix("bytes=")?.split_once('-')?;
    let number = |text: &str| text.parse::<u64>().ok();
    let range = match (start, last) {
        ("", count) => len.saturating_sub(number(count)?)..len,
        (start, "") => number(start)?..len,
        (start, last) => number(start)?..number(last)?.saturating_add(1).min(len),
    };
    Some(if range.is_empty() { Err(()) } else { Ok(range) })
}

/// An answer with a part of a file.
fn send(
    contents: FileContents,
    held: HeldState,
    part: Range<u64>,
    busy: BusyGuard,
) -> HttpResponse {
    let len = part.end - part.start;
    let mut answer = match contents {
        FileContents::Bytes(bytes) => {
            let bytes = Bytes::from(bytes);
            let at = |place: u64| usize::try_from(place).unwrap_or(usize::MAX);
            response(StatusCode::OK, BINARY, bytes.slice(at(part.start)..at(part.end)))
        }
        FileContents::File(file) => {
            let (sender, body) = Channel::new(PARTS);
            tokio::spawn(async move {
                let _held = (held, busy);
                send_parts(file, part, sender).await;
            });
            streamed(BINARY, body)
        }
    };
    answer.headers_mut().insert(header::CONTENT_LENGTH, len.into());
    answer
}

/// Sends a part of a file. After an error the body is shorter than its `Content-Length`.
async fn send_parts(mut file: File, part: Range<u64>, mut sender: Sender<Bytes>) {
    let mut rest = part.end - part.start;
    let mut start = Some(SeekFrom::Start(part.start));
    while rest > 0 {
        let seek = start.take();
        let len = usize::try_from(rest.min(PART_LEN)).expect("a part is short");
        let read = spawn_blocking(move || -> io::Result<(File, Bytes)> {
            if let Some(start) = seek {
                file.seek(start)?;
            }
            let mut bytes = vec![0; len];
            file.read_exact(&mut bytes)?;
            Ok((file, bytes.into()))
        });
        let Ok(Ok((again, bytes))) = read.await else {
            return;
        };
        file = again;
        rest -= len as u64;
        if sender.send_data(bytes).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_the_standard_and_others_are_ignored() {
        let of = |text: &'static str, len| {
            let mut headers = HeaderMap::new();
            headers.insert(header::RANGE, HeaderValue::from_static(text));
            range(&headers, len)
        };
        for (text, expected) in [
            ("bytes=0-3", 0..4),
            ("bytes=8-", 8..10),
            ("bytes=8-99", 8..10),
            ("bytes=-3", 7..10),
            ("bytes=-99", 0..10),
        ] {
            assert_eq!(of(text, 10), Some(Ok(expected)), "{text}");
        }
        for text in ["bytes=10-", "bytes=5-4", "bytes=-0"] {
            assert_eq!(of(text, 10), Some(Err(())), "{text}");
        }
        for text in ["bytes=", "bytes=a-b", "lines=0-3", "bytes=0-1,4-5", "bytes=--1"] {
            assert_eq!(of(text, 10), None, "{text}");
        }
        assert_eq!(range(&HeaderMap::new(), 10), None);
    }
}
