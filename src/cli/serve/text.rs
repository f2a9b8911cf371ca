//! `/v1/text`: a text or a page, by the recipe of the store.

use std::sync::Arc;

use fpstore::Fingerprint;
use fpstore_text::{
    DocumentFormat, DocumentOptions, HtmlPart, TextEncoding, TextHasher, text_of_bytes,
};
use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode};

use super::asking::in_pool;
use super::failure::Failure;
use super::params::{Params, pairs};
use super::query::{self, Wanted};
use super::request::{self, Body, Kind};
use super::server::Server;
use super::shown::Shown;

pub(super) async fn answer(
    server: &Arc<Server>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Failure> {
    let allowed = ["k", "limit", "count", "ids", "explain", "html"];
    let mut part = None;
    let mut rest = Vec::new();
    for (name, value) in pairs(request.uri())? {
        match &*name {
            "html" => part = Some(html_part(&value)?),
            _ => rest.push((name, value)),
        }
    }
    let (params, _) = Params::from_pairs(rest, &allowed, "")?;
    if params.limit.is_some() && params.count.is_some() {
        let message = "'limit' is for all within k, 'count' for the nearest; leave one of both out";
        return Err(Failure::bad("bad-parameter", message));
    }
    let kind = Kind::of(request.headers())?;
    let format = match kind.name.as_str() {
        "text/plain" => DocumentFormat::Plain,
        "text/html" | "application/xhtml+xml" => DocumentFormat::Html,
        _ => return Err(kind.unknown("text/plain or text/html")),
    };
    // It also limits the tree of a page.
    let most = server.limits.max_body.as_u64();
    let mut options = DocumentOptions::default().format(format).max_document(most);
    if let Some(part) = part {
        options = options.html(part);
    }
    if let Some(charset) = &kind.charset {
        let encoding = TextEncoding::named(charset)
            .map_err(|error| Failure::bad("bad-content-type", error))?;
        options = options.encoding(encoding);
    }
    let (head, body) = request.into_parts();
    let bytes = request::whole(server, &head.headers, body).await?;
    let hasher = hasher(&server.shown())?;
    let fingerprint = in_pool(server, move || fingerprint_of(&bytes, hasher, &options)).await??;
    let wanted = if params.count.is_some() { Wanted::Nearest } else { Wanted::Near };
    query::one(server, wanted, fingerprint, &params).await
}

fn html_part(value: &str) -> Result<HtmlPart, Failure> {
    match value {
        "auto" => Ok(HtmlPart::Auto),
        "main" => Ok(HtmlPart::Main),
        "full" => Ok(HtmlPart::Full),
        _ => {
            let message = format!("html='{}', expected auto, main or full", value.escape_debug());
            Err(Failure::bad("bad-parameter", message))
        }
    }
}

/// What makes fingerprints by the recipe of the store.
pub(super) fn hasher(shown: &Shown) -> Result<TextHasher, Failure> {
    shown.hasher.clone().map_err(|why| {
        let message = format!("this server cannot make fingerprints of texts: {why}");
        Failure::new(StatusCode::CONFLICT, "no-recipe", message)
    })
}

fn fingerprint_of(
    bytes: &[u8],
    mut hasher: TextHasher,
    options: &DocumentOptions,
) -> Result<Fingerprint, Failure> {
    let text = text_of_bytes(bytes, options).map_err(|error| {
        let message =
            error.to_string().replace("see --encoding", "name it: text/plain; charset=...");
        Failure::bad("bad-text", message)
    })?;
    hasher.fingerprint(&text).ok_or_else(no_features)
}

/// The failure for a text without words.
pub(super) fn no_features() -> Failure {
    let message = "the text has no features, so it has no fingerprint";
    Failure::new(StatusCode::UNPROCESSABLE_ENTITY, "no-features", message)
}
