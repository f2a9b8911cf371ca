//! `/v1/text`: searches for a text or an HTML page, by the recipe of the store.

use std::sync::Arc;

use fpstore_base::Fingerprint;
use fpstore_documents::{DocumentFormat, DocumentOptions, HtmlPart, TextEncoding, text_of_bytes};
use fpstore_text::TextHasher;
use hyper::StatusCode;

use super::query;
use super::question::QueryKind;
use crate::protocol::failure::Failure;
use crate::protocol::params::{options_of, pairs};
use crate::protocol::request::{self, ContentType, HttpRequest, HttpResult};
use crate::state::opened::Opened;
use crate::state::shared::Shared;

/// The longest text that is hashed in the lane of quick queries, which takes some milliseconds.
const QUICK_LEN: usize = 256 << 10;

pub(crate) async fn answer(server: &Arc<Shared>, request: HttpRequest) -> HttpResult {
    let allowed = [QueryKind::Near.params(), &["count", "html"]].concat();
    let mut part = None;
    let mut rest = Vec::new();
    for (name, value) in pairs(request.uri())? {
        match &*name {
            "html" => {
                let unknown = |_| {
                    let value = value.escape_debug();
                    let message = format!("html='{value}', expected auto, main or full");
                    Failure::bad("bad-parameter", message)
                };
                part = Some(value.parse::<HtmlPart>().map_err(unknown)?);
            }
            _ => rest.push((name, value)),
        }
    }
    let (options, _) = options_of(rest, &allowed, "")?;
    if options.limit.is_some() && options.count.is_some() {
        let message = "'limit' is for all matches within k, 'count' for the nearest; leave out one \
                       of them";
        return Err(Failure::bad("bad-parameter", message));
    }
    let kind = ContentType::of(request.headers())?;
    let format = match kind.name.as_str() {
        "text/plain" => DocumentFormat::Plain,
        "text/html" | "application/xhtml+xml" => DocumentFormat::Html,
        _ => return Err(kind.unknown("text/plain or text/html")),
    };
    // The limit also bounds the memory for the parsed tree of an HTML page.
    let most = server.limits.max_body;
    let mut document = DocumentOptions::default().format(format).max_document(most);
    if let Some(part) = part {
        document = document.html(part);
    }
    if let Some(charset) = &kind.charset {
        let encoding = TextEncoding::named(charset)
            .map_err(|error| Failure::bad("bad-content-type", error))?;
        document = document.encoding(encoding);
    }
    let (head, body) = request.into_parts();
    let bytes = request::whole(server, &head.headers, body).await?;
    let hasher = hasher(&server.live.opened())?;
    let is_long = bytes.len() > QUICK_LEN;
    let work = move || fingerprint_of(&bytes, hasher, &document);
    let fingerprint = if is_long {
        server.lanes.slow_at_once(&server.live, work).await??
    } else {
        server.lanes.quick(&server.live, work).await??
    };
    let wanted = if options.count.is_some() { QueryKind::Nearest } else { QueryKind::Near };
    query::one(server, wanted, fingerprint, &options).await
}

/// The hasher for the recipe of the store.
pub(crate) fn hasher(opened: &Opened) -> Result<TextHasher, Failure> {
    opened.hasher.clone().map_err(|why| {
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
            error.to_string().replace("see --encoding", "send it as text/plain; charset=...");
        Failure::bad("bad-text", message)
    })?;
    hasher.fingerprint(&text).ok_or_else(no_features)
}

/// The failure for a text without features.
pub(crate) fn no_features() -> Failure {
    let message = "the text has no features, so it has no fingerprint";
    Failure::new(StatusCode::UNPROCESSABLE_ENTITY, "no-features", message)
}
