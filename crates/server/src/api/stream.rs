//! Streams of queries: NDJSON in, NDJSON out, one answer line for each query line, in order.
//!
//! Lines are answered as they arrive, and only the lines read so far are held in memory. The server
//! stops reading from a client that does not read its answers.

use std::borrow::Cow;
use std::sync::Arc;

use http_body_util::channel::{Channel, Sender};
use hyper::body::Bytes;
use serde::Deserialize;
use tokio::time::Instant;

use super::answers::{Encoder, NamedNeedle, Needles};
use super::price::Price;
use super::question::{QueryKind, Question, answers_to};
use crate::protocol::failure::Failure;
use crate::protocol::params::fingerprint;
use crate::protocol::request::{self, HttpRequest, HttpResult, NDJSON, RequestBody};
use crate::protocol::slow_clients::BusyGuard;
use crate::state::shared::Shared;
use crate::steps::step;
use fpstore_client::limits::MAX_BODY;
use fpstore_client::{HexText, QueryOptions};

/// The largest number of parts of the answer that wait to be sent.
const PARTS: usize = 4;
/// The largest number of lines searched together.
const LINES: usize = 256;

/// A fingerprint and the id of its record. A line may also be the fingerprint alone.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields<'a> {
    #[serde(borrow)]
    fingerprint: Cow<'a, str>,
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
}

pub(crate) fn answer(
    server: &Arc<Shared>,
    options: QueryOptions,
    wanted: QueryKind,
    request: HttpRequest,
    busy: BusyGuard,
) -> HttpResult {
    request::refuse_encoding(request.headers())?;
    // Wrong parameters are an error of the request, not of each line.
    let question = Question::new(server, &options, wanted)?;
    // `max_cost` of a stream limits each line.
    Price::of(server.live.store(), question.k, 1).check(options.max_cost)?;
    let options = QueryOptions { max_cost: None, ..options };
    let (sender, body) = Channel::new(PARTS);
    let stream =
        Stream { server: Arc::clone(server), options, wanted, sender, lines: 0, _busy: busy };
    tokio::spawn(stream.run(request.into_body()));
    Ok(request::streamed(NDJSON, body))
}

struct Stream {
    server: Arc<Shared>,
    options: QueryOptions,
    wanted: QueryKind,
    sender: Sender<Bytes>,
    /// The number of lines read.
    lines: u64,
    /// The connection is busy until the stream ends.
    _busy: BusyGuard,
}

/// The client no longer reads answers.
struct ClientGone;

/// Adds `data` to `buffer`, and removes and returns its complete lines, if there are any. It scans
/// only `data`, because a line may arrive in very many parts.
fn take_lines(buffer: &mut Vec<u8>, data: &[u8]) -> Option<Vec<u8>> {
    let is_end = |&byte: &u8| {
        step();
        byte == b'\n'
    };
    let end = data.iter().rposition(is_end).map(|end| buffer.len() + end + 1);
    buffer.extend_from_slice(data);
    let rest = buffer.split_off(end?);
    Some(std::mem::replace(buffer, rest))
}

impl Stream {
    async fn run(mut self, body: RequestBody) {
        // The client is gone, so an error cannot be reported to it.
        let _ = self.answer_all(body).await;
    }

    async fn answer_all(&mut self, mut body: RequestBody) -> Result<(), ClientGone> {
        let mut buffer: Vec<u8> = Vec::new();
        let mut charge = self.server.bodies.charge();
        loop {
            let limit = self.server.limits.body_timeout;
            let frame = match request::next_frame(&mut body, Instant::now() + limit, limit).await {
                Ok(Some(frame)) => frame,
                Ok(None) => break,
                Err(failure) => return self.end(failure).await,
            };
            let Ok(data) = frame.into_data() else { continue };
            let Some(lines) = take_lines(&mut buffer, &data) else {
                let most = self.server.limits.max_body;
                if buffer.len() as u64 > most {
                    let message = format!("line {} is too long", self.lines + 1);
                    let over = Failure::over("body-over-limit", &MAX_BODY, most, message);
                    return self.end(over).await;
                }
                if !charge.cover_long(buffer.len()) {
                    return self.end(request::no_room(&self.server)).await;
                }
                continue;
            };
            charge.shrink(0);
            self.answer_lines(&lines).await?;
            if self.server.live.health.is_ending() {
                return self
                    .end(Failure::busy(
                        "the server is shutting down; send the remaining \
                                               lines again",
                    ))
                    .await;
            }
        }
        self.answer_lines(&buffer).await
    }

    /// Sends a failure as a line.
    async fn end(&mut self, failure: Failure) -> Result<(), ClientGone> {
        let mut line = Vec::new();
        failure.write(&mut line);
        line.push(b'\n');
        self.send(line.into()).await
    }

    async fn send(&mut self, bytes: Bytes) -> Result<(), ClientGone> {
        match bytes.is_empty() {
            true => Ok(()),
            false => self.sender.send_data(bytes).await.map_err(|_| ClientGone),
        }
    }

    /// Answers complete lines, each with one line; a bad line with its error. Blank lines are
    /// skipped.
    async fn answer_lines(&mut self, bytes: &[u8]) -> Result<(), ClientGone> {
        let mut needles: Vec<NamedNeedle> = Vec::new();
        for line in bytes.split(|&b| b == b'\n') {
            let line = line.trim_ascii();
            self.lines += 1;
            if line.is_empty() {
                continue;
            }
            match parse(line) {
                Ok(needle) => needles.push(needle),
                Err(failure) => {
                    self.search(std::mem::take(&mut needles)).await?;
                    let failure = failure.of_part(format_args!("line {}", self.lines));
                    self.end(failure).await?;
                }
            }
            if needles.len() == LINES {
                self.search(std::mem::take(&mut needles)).await?;
            }
        }
        // The loop also counted the text after the last newline, which is not a line.
        self.lines -= 1;
        self.search(needles).await
    }

    async fn search(&mut self, needles: Vec<NamedNeedle>) -> Result<(), ClientGone> {
        if needles.is_empty() {
            return Ok(());
        }
        let count = needles.len();
        match self.search_all(&needles).await {
            Ok(bytes) => self.send(bytes).await,
            // A failed query must not suppress the answers to the other queries.
            Err(_) if count > 1 => {
                for needle in needles {
                    self.search_one(needle).await?;
                }
                Ok(())
            }
            Err(failure) => self.end(failure).await,
        }
    }

    async fn search_one(&mut self, needle: NamedNeedle) -> Result<(), ClientGone> {
        match self.search_all(&[needle]).await {
            Ok(bytes) => self.send(bytes).await,
            Err(failure) => self.end(failure).await,
        }
    }

    async fn search_all(&self, needles: &[NamedNeedle]) -> Result<Bytes, Failure> {
        let needles = Needles::Named(needles.to_vec());
        let done = answers_to(&self.server, self.wanted, needles, &self.options, Encoder::Lines);
        Ok(done.await?.bytes.sealed())
    }
}

fn parse(line: &[u8]) -> Result<NamedNeedle, Failure> {
    // For an untagged enum, serde would need 16 times the memory of the line to buffer it.
    let fields = match line.first() {
        Some(b'"') => {
            request::json(line).map(|HexText(fingerprint)| Fields { fingerprint, id: None })
        }
        _ => request::json(line),
    };
    let Ok(Fields { fingerprint: hex, id }) = fields else {
        let message = "expected \"HEX\" or {\"fingerprint\":\"HEX\",\"id\":\"...\"}";
        return Err(Failure::bad("bad-json", message));
    };
    Ok((id.map(Cow::into_owned), fingerprint(&hex)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::counter::{assert_not_quadratic, steps_of};

    #[test]
    fn lines_are_taken_whole_and_the_rest_waits() {
        let mut buffer = Vec::new();
        let mut take = |data: &[u8]| take_lines(&mut buffer, data);
        assert_eq!(take(b"on"), None);
        assert_eq!(take(b"e\ntwo\nth").as_deref(), Some(&b"one\ntwo\n"[..]));
        assert_eq!(take(b""), None);
        assert_eq!(take(b"ree\n").as_deref(), Some(&b"three\n"[..]));
        assert_eq!(take(b"\n").as_deref(), Some(&b"\n"[..]));
        assert_eq!(buffer, b"");
    }

    #[test]
    fn a_line_of_many_parts_is_not_searched_again_for_each() {
        assert_not_quadratic(64, |count| {
            let mut buffer = Vec::new();
            let steps = steps_of(|| (0..count).for_each(|_| drop(take_lines(&mut buffer, b"a"))));
            assert_eq!(buffer.len(), count);
            steps
        });
    }
}
