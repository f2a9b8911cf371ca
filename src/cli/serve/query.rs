//! `/v1/query` and `/v1/nearest`: one fingerprint, or many in JSON or binary.

use std::borrow::Cow;
use std::sync::Arc;

use fpstore::plan::Plan;
use fpstore::{Fingerprint, SearchStats};
use hyper::body::Incoming;
use hyper::{Method, Request, Response, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::answers::Encoder;
use super::asking::{Done, Job, Needle, Question};
use super::failure::Failure;
use super::params::{Params, fingerprint, pairs};
use super::request::{self, BINARY, Body, JSON, Kind, NDJSON, response};
use super::server::Server;
use super::shown::Shown;
use super::stream;
use super::watched::BusyGuard;

/// Which matches are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// All within `k`.
    Near,
    /// The nearest, however many are within `k`.
    Nearest,
}

impl Wanted {
    /// The parameters that such a query takes.
    pub(super) fn params(self) -> &'static [&'static str] {
        match self {
            Wanted::Near => &["k", "limit", "ids", "explain"],
            Wanted::Nearest => &["k", "count", "ids", "explain"],
        }
    }

    fn in_stream(self) -> &'static [&'static str] {
        &self.params()[..3]
    }

    fn in_binary(self) -> &'static [&'static str] {
        &self.params()[..2]
    }
}

/// A question in JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked<'a> {
    #[serde(borrow)]
    fingerprint: Option<Cow<'a, str>>,
    #[serde(borrow)]
    fingerprints: Option<Vec<Hex<'a>>>,
    k: Option<u32>,
    limit: Option<u64>,
    ids: Option<u64>,
    count: Option<u64>,
    explain: Option<bool>,
}

/// A text that is borrowed where JSON escapes none of it.
#[derive(Deserialize)]
struct Hex<'a>(#[serde(borrow)] Cow<'a, str>);

pub(super) async fn answer(
    server: &Arc<Server>,
    wanted: Wanted,
    request: Request<Incoming>,
    busy: BusyGuard,
) -> Result<Response<Body>, Failure> {
    if request.method() != Method::POST {
        let (params, hex) =
            Params::from_pairs(pairs(request.uri())?, wanted.params(), "fingerprint")?;
        let hex = hex.ok_or_else(|| {
            Failure::bad("no-fingerprint", "the parameter 'fingerprint' is missing")
        })?;
        return one(server, wanted, fingerprint(&hex)?, &params).await;
    }
    let kind = Kind::of(request.headers())?;
    match kind.name.as_str() {
        JSON => json_body(server, wanted, request).await,
        BINARY => binary_body(server, wanted, request).await,
        NDJSON => {
            let params = url_params(&request, wanted.in_stream())?;
            stream::answer(server, params, wanted == Wanted::Nearest, request, busy)
        }
        _ => Err(kind.unknown(&format!("{JSON}, {NDJSON} or {BINARY}"))),
    }
}

fn url_params(request: &Request<Incoming>, allowed: &[&str]) -> Result<Params, Failure> {
    Ok(Params::from_pairs(pairs(request.uri())?, allowed, "")?.0)
}

/// The answer to one query, as an object with the generation of the store.
pub(super) async fn one(
    server: &Arc<Server>,
    wanted: Wanted,
    fingerprint: Fingerprint,
    params: &Params,
) -> Result<Response<Body>, Failure> {
    let shown = server.shown();
    let question = Question::new(server, &shown, params, wanted == Wanted::Nearest)?;
    let needles = vec![Needle { id: None, fingerprint }];
    let server = Arc::clone(server);
    let job = Job { server: Arc::clone(&server), question, needles, encoder: Encoder::Object };
    let Done { mut bytes, generation, stats } = job.run(&shown).await?;
    bytes.pop();
    bytes.extend_from_slice(b",\"generation\":");
    bytes.extend_from_slice(generation.to_string().as_bytes());
    if params.explain == Some(true) {
        bytes.extend_from_slice(b",\"explain\":");
        let explained = explained(&server, &shown, question.k, &stats);
        serde_json::to_writer(&mut bytes, &explained).expect("a vector takes all bytes");
    }
    bytes.extend_from_slice(b"}\n");
    Ok(response(StatusCode::OK, JSON, bytes))
}

async fn json_body(
    server: &Arc<Server>,
    wanted: Wanted,
    request: Request<Incoming>,
) -> Result<Response<Body>, Failure> {
    let in_url = url_params(&request, wanted.params())?;
    let (head, body) = request.into_parts();
    let bytes = request::whole(server, &head.headers, body).await?;
    let asked: Asked = request::json(&bytes)?;
    let Asked { k, limit, ids, count, explain, .. } = asked;
    if wanted == Wanted::Near && count.is_some() {
        let message = "'count' is for /v1/nearest; here 'limit' keeps the nearest matches";
        return Err(Failure::bad("unknown-parameter", message));
    }
    if wanted == Wanted::Nearest && limit.is_some() {
        let message = "'limit' is for /v1/query; here 'count' says how many are wanted";
        return Err(Failure::bad("unknown-parameter", message));
    }
    let params = in_url.or(Params { k, limit, ids, count, explain })?;
    let list = match (asked.fingerprint, asked.fingerprints) {
        (Some(hex), None) => return one(server, wanted, fingerprint(&hex)?, &params).await,
        (None, Some(list)) => list,
        _ => {
            let message = "expected 'fingerprint' with one, or 'fingerprints' with a list of them";
            return Err(Failure::bad("no-fingerprint", message));
        }
    };
    if params.explain == Some(true) {
        let message = "'explain' is for one fingerprint, not for a list";
        return Err(Failure::bad("bad-parameter", message));
    }
    check_batch(server, list.len())?;
    let needle = |(at, hex): (usize, &Hex)| match fingerprint(&hex.0) {
        Ok(fingerprint) => Ok(Needle { id: None, fingerprint }),
        Err(failure) => {
            let message = format!("fingerprint {} of the list: {}", at + 1, failure.message);
            Err(Failure { message, ..failure })
        }
    };
    let needles = list.iter().enumerate().map(needle).collect::<Result<Vec<Needle>, Failure>>()?;
    let done = many(server, wanted, needles, &params, Encoder::List).await?;
    let mut out = Vec::with_capacity(done.bytes.len() + 64);
    out.extend_from_slice(b"{\"answers\":[");
    out.extend_from_slice(&done.bytes);
    out.extend_from_slice(format!("],\"generation\":{}}}\n", done.generation).as_bytes());
    Ok(response(StatusCode::OK, JSON, out))
}

async fn binary_body(
    server: &Arc<Server>,
    wanted: Wanted,
    request: Request<Incoming>,
) -> Result<Response<Body>, Failure> {
    let params = url_params(&request, wanted.in_binary())?;
    let (head, body) = request.into_parts();
    let bytes = request::whole(server, &head.headers, body).await?;
    let (values, rest) = bytes.as_chunks::<8>();
    if !rest.is_empty() {
        let message = format!(
            "the body has {} bytes, expected 8 for each fingerprint: u64, little-endian",
            bytes.len()
        );
        return Err(Failure::bad("bad-body-length", message));
    }
    check_batch(server, values.len())?;
    let needle =
        |value: &[u8; 8]| Needle { id: None, fingerprint: u64::from_le_bytes(*value).into() };
    let needles = values.iter().map(needle).collect();
    let done = many(server, wanted, needles, &params, Encoder::Binary).await?;
    let mut response = response(StatusCode::OK, BINARY, done.bytes);
    response.headers_mut().insert("fpstore-generation", done.generation.into());
    Ok(response)
}

fn check_batch(server: &Server, count: usize) -> Result<(), Failure> {
    let most = server.limits.max_batch;
    if count as u64 > most {
        let message = format!("{count} fingerprints at once; send them in several requests");
        return Err(Failure::over("batch-over-limit", "max-batch", most, message));
    }
    Ok(())
}

async fn many(
    server: &Arc<Server>,
    wanted: Wanted,
    needles: Vec<Needle>,
    params: &Params,
    encoder: Encoder,
) -> Result<Done, Failure> {
    let shown = server.shown();
    let question = Question::new(server, &shown, params, wanted == Wanted::Nearest)?;
    Job { server: Arc::clone(server), question, needles, encoder }.run(&shown).await
}

/// How a query within `k` bits is answered, what it was expected to cost, and what it did.
fn explained(server: &Server, shown: &Shown, k: u32, stats: &SearchStats) -> Value {
    let plans = server.store().plans(k).unwrap_or_default();
    let segments: Vec<Value> = plans
        .iter()
        .map(|plan| match plan {
            Plan::Scan { table, expected_nanos, .. } => json!({
                "path": "scan", "table": table.0, "expected_us": expected_nanos / 1000.0,
            }),
            Plan::Probe { tables, expected_nanos, .. } => json!({
                "path": "probe",
                "expected_us": expected_nanos / 1000.0,
                "tables": tables.iter().map(|part| json!({
                    "table": part.table.0,
                    "mask": format!("{:016x}", part.mask),
                    "radius": part.radius,
                    "prefixes": part.prefixes,
                })).collect::<Vec<Value>>(),
            }),
            _ => json!({ "path": "unknown" }),
        })
        .collect();
    json!({
        "k": k,
        "expected_us": shown.cost(server.store(), k) / 1000.0,
        "segments": segments,
        "probes": stats.probes,
        "candidates": stats.candidates,
        "scanned": stats.scanned,
        "pages_checked": stats.pages_checked,
    })
}
