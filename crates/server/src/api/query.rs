//! `/v1/query` and `/v1/nearest`: one fingerprint, or many in JSON or binary.

use std::sync::Arc;

use fpstore_base::Fingerprint;
use hyper::{Method, StatusCode};

use super::answers::{Encoder, Needles};
use super::question::{AnsweredQueries, QueryKind, answers_to};
use super::stream;
use crate::protocol::failure::Failure;
use crate::protocol::memory_budget::HeldBody;
use crate::protocol::params::{fingerprint, joined, options_of, pairs};
use crate::protocol::request::{
    self, BINARY, ContentType, HttpRequest, HttpResponse, HttpResult, JSON, NDJSON, response,
};
use crate::protocol::slow_clients::BusyGuard;
use crate::state::limits::check_batch;
use crate::state::shared::Shared;
use fpstore::rows::Explained;
use fpstore_client::limits::ServeLimits;
use fpstore_client::{QueryBody, QueryOptions};

pub(crate) async fn answer(
    server: &Arc<Shared>,
    wanted: QueryKind,
    request: HttpRequest,
    busy: BusyGuard,
) -> HttpResult {
    if request.method() != Method::POST {
        let (options, hex) = options_of(pairs(request.uri())?, wanted.params(), "fingerprint")?;
        let hex = hex.ok_or_else(|| {
            Failure::bad("no-fingerprint", "the parameter 'fingerprint' is missing")
        })?;
        return one(server, wanted, fingerprint(&hex)?, &options).await;
    }
    let kind = ContentType::of(request.headers())?;
    match kind.name.as_str() {
        JSON => json_body(server, wanted, request).await,
        BINARY => binary_body(server, wanted, request).await,
        NDJSON => {
            let options = url_options(&request, wanted.in_stream())?;
            stream::answer(server, options, wanted, request, busy)
        }
        _ => Err(kind.unknown(&format!("{JSON}, {NDJSON} or {BINARY}"))),
    }
}

fn url_options(request: &HttpRequest, allowed: &[&str]) -> Result<QueryOptions, Failure> {
    Ok(options_of(pairs(request.uri())?, allowed, "")?.0)
}

/// The answer to one query, as an object with the generation of the store.
pub(crate) async fn one(
    server: &Arc<Shared>,
    wanted: QueryKind,
    fingerprint: Fingerprint,
    options: &QueryOptions,
) -> HttpResult {
    let needles = Needles::Bare { values: vec![fingerprint], _charge: None };
    let mut done = answers_to(server, wanted, needles, options, Encoder::Object).await?;
    let explained = match options.explain {
        Some(true) => Some(Explained::of(server.live.store(), done.k, done.stats)?),
        _ => None,
    };
    Encoder::Object.end_all(&mut done.bytes.bytes, done.generation, |out| {
        if let Some(explained) = explained {
            out.extend_from_slice(b",\"explain\":");
            serde_json::to_writer(out, &explained).expect("a vector takes all bytes");
        }
    });
    Ok(signed(JSON, done))
}

async fn json_body(server: &Arc<Shared>, wanted: QueryKind, request: HttpRequest) -> HttpResult {
    let in_url = url_options(&request, wanted.params())?;
    let (head, body) = request.into_parts();
    let bytes = request::whole(server, &head.headers, body).await?;
    let limits = server.limits.clone();
    let parse = move |bytes: &[u8]| options_and_fingerprints(bytes, wanted, in_url, &limits);
    let ((options, asked), bytes) = request::parsed(server, bytes, check_batch, parse).await?;
    let needles = match asked {
        BodyFingerprints::One(fingerprint) => {
            return one(server, wanted, fingerprint, &options).await;
        }
        BodyFingerprints::Many(needles) => needles,
    };
    let needles = bare(needles, bytes);
    let mut done = answers_to(server, wanted, needles, &options, Encoder::List).await?;
    Encoder::List.end_all(&mut done.bytes.bytes, done.generation, |_| {});
    Ok(signed(JSON, done))
}

/// The fingerprints of a JSON body.
enum BodyFingerprints {
    One(Fingerprint),
    Many(Vec<Fingerprint>),
}

/// The options and the fingerprints of a JSON body.
fn options_and_fingerprints(
    bytes: &[u8],
    wanted: QueryKind,
    in_url: QueryOptions,
    limits: &ServeLimits,
) -> Result<(QueryOptions, BodyFingerprints), Failure> {
    let asked: QueryBody<'_> = request::json(bytes)?;
    if wanted == QueryKind::Near && asked.options.count.is_some() {
        let message = "'count' is for /v1/nearest; here 'limit' keeps the nearest matches";
        return Err(Failure::bad("unknown-parameter", message));
    }
    if wanted == QueryKind::Nearest && asked.options.limit.is_some() {
        let message = "'limit' is for /v1/query; here 'count' sets the number of matches";
        return Err(Failure::bad("unknown-parameter", message));
    }
    let options = joined(in_url, asked.options)?;
    let list = match (asked.fingerprint, asked.fingerprints) {
        (Some(hex), None) => return Ok((options, BodyFingerprints::One(fingerprint(&hex)?))),
        (None, Some(list)) => list,
        _ => {
            let message = "expected 'fingerprint' with one fingerprint, or 'fingerprints' with a \
                           list";
            return Err(Failure::bad("no-fingerprint", message));
        }
    };
    if options.explain == Some(true) {
        let message = "'explain' is for one fingerprint, not for a list";
        return Err(Failure::bad("bad-parameter", message));
    }
    check_batch(limits, list.len())?;
    let mut needles = Vec::with_capacity(list.len());
    for (at, hex) in list.iter().enumerate() {
        let of_part =
            |failure: Failure| failure.of_part(format_args!("fingerprint {} of the list", at + 1));
        needles.push(fingerprint(&hex.0).map_err(of_part)?);
    }
    Ok((options, BodyFingerprints::Many(needles)))
}

async fn binary_body(server: &Arc<Shared>, wanted: QueryKind, request: HttpRequest) -> HttpResult {
    let options = url_options(&request, wanted.in_binary())?;
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
    check_batch(&server.limits, values.len())?;
    let needles = values.iter().map(|value| u64::from_le_bytes(*value).into()).collect();
    let needles = bare(needles, bytes);
    Ok(signed(BINARY, answers_to(server, wanted, needles, &options, Encoder::Binary).await?))
}

/// The query fingerprints that were parsed from `body`. Frees the body.
fn bare(values: Vec<Fingerprint>, body: HeldBody) -> Needles {
    let charge = body.into_charge(size_of_val(&values[..]));
    Needles::Bare { values, _charge: Some(charge) }
}

/// The response with these answers, and the headers that identify the searched snapshot.
fn signed(kind: &'static str, done: AnsweredQueries) -> HttpResponse {
    let mut response = response(StatusCode::OK, kind, done.bytes.sealed());
    done.witness.sign(response.headers_mut());
    response
}
