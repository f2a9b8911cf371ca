//! `/v1/check-and-add`: is it new? Then remember it.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use fpstore::{IdRef, Recipe};
use fpstore_text::sketch;
use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode};
use serde::{Deserialize, Serialize};

use super::asking::in_pool;
use super::failure::Failure;
use super::params::{Params, fingerprint, pairs};
use super::request::{self, Body, JSON, Kind, response};
use super::server::Server;
use super::shown::Shown;
use super::text;
use super::writing::{Added, Item, Verdict};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked<'a> {
    k: Option<u32>,
    durable: Option<bool>,
    /// Whether ready fingerprints were made by the recipe of the store.
    same_recipe: Option<bool>,
    #[serde(borrow)]
    items: Vec<AskedItem<'a>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AskedItem<'a> {
    #[serde(borrow)]
    fingerprint: Option<Cow<'a, str>>,
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
}

#[derive(Serialize)]
struct Answer {
    results: Vec<AnswerItem>,
    added: u64,
    durable: bool,
    generation: u64,
}

#[derive(Serialize)]
struct AnswerItem {
    status: &'static str,
    fingerprint: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    near: Option<Near>,
}

/// The nearest one that was known before.
#[derive(Serialize)]
struct Near {
    fingerprint: String,
    distance: u32,
    ids: Vec<String>,
    /// Whether it was added by a request that is not durable yet.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pending: bool,
}

pub(super) async fn answer(
    server: &Arc<Server>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Failure> {
    let start = Instant::now();
    let writing = writing(server)?;
    Params::from_pairs(pairs(request.uri())?, &[], "")?;
    let kind = Kind::of(request.headers())?;
    if kind.name != JSON {
        return Err(kind.unknown(JSON));
    }
    let (head, body) = request.into_parts();
    let bytes = request::whole(server, &head.headers, body).await?;
    let asked: Asked = request::json(&bytes)?;
    let most = server.limits.max_items;
    let count = asked.items.len();
    if count as u64 > most {
        let message = format!("{count} items at once; send them in several requests");
        return Err(Failure::over("items-over-limit", "max-items", most, message));
    }
    let shown = server.shown();
    let k = asked.k.unwrap_or(shown.tuned_k.min(server.limits.max_k));
    if k > 64 {
        return Err(Failure::bad("bad-k", format!("k={k}, expected 0 to 64")));
    }
    if k > server.limits.max_k {
        let message = format!("k={k} is more than this server searches");
        let over = Failure::over("k-over-limit", "max-k", server.limits.max_k.into(), message);
        return Err(Failure { status: StatusCode::BAD_REQUEST, ..over });
    }
    let durable = asked.durable.unwrap_or(true);
    let has_texts = asked.items.iter().any(|item| item.text.is_some());
    let items = if has_texts {
        // Texts take long, and the body is borrowed, so that it is parsed again.
        drop(asked);
        let shown = Arc::clone(&shown);
        in_pool(server, move || items_of(&shown, &request::json(&bytes)?)).await??
    } else {
        items_of(&shown, &asked)?
    };
    let fingerprints: Vec<String> = items.iter().map(|item| item.fingerprint.to_string()).collect();
    let deadline = start + server.limits.deadline;
    let Added { verdicts, durable, generation } =
        writing.add(server, items, k, durable, deadline).await?;
    let added = verdicts.iter().filter(|verdict| matches!(verdict, Verdict::New)).count() as u64;
    let results =
        fingerprints.into_iter().zip(verdicts).map(|(fingerprint, verdict)| match verdict {
            Verdict::New => AnswerItem { status: "new", fingerprint, near: None },
            Verdict::Near { fingerprint: found, distance, ids, pending } => {
                let near = Near { fingerprint: found.to_string(), distance, ids, pending };
                AnswerItem { status: "near", fingerprint, near: Some(near) }
            }
        });
    let answer = Answer { results: results.collect(), added, durable, generation };
    let mut out = serde_json::to_vec(&answer).expect("a vector takes all bytes");
    out.push(b'\n');
    Ok(response(StatusCode::OK, JSON, out))
}

/// The writer of the server, if it has one.
pub(super) fn writing(server: &Server) -> Result<&super::writing::Writing, Failure> {
    server.writing.as_ref().ok_or_else(|| {
        let message = "this server only reads; it writes if it is started with --writable";
        Failure::new(StatusCode::FORBIDDEN, "not-writable", message)
    })
}

/// The items of a request, with the fingerprints of texts.
fn items_of(shown: &Shown, asked: &Asked<'_>) -> Result<Vec<Item>, Failure> {
    let mut hasher = None;
    let mut items = Vec::with_capacity(asked.items.len());
    for (at, item) in asked.items.iter().enumerate() {
        let item = match (&item.fingerprint, &item.text) {
            (Some(hex), None) => given(shown, asked, hex),
            (None, Some(text)) => {
                if hasher.is_none() {
                    hasher = Some(text::hasher(shown)?);
                }
                let hasher = hasher.as_mut().expect("it was made above");
                let fingerprint = hasher.fingerprint(text).ok_or_else(text::no_features);
                fingerprint.map(|fingerprint| {
                    let sketch = match shown.sketch_len {
                        0 => Vec::new(),
                        len => sketch(&hasher.distinct_features(text), len),
                    };
                    Item { fingerprint, id: None, sketch }
                })
            }
            _ => Err(Failure::bad("bad-json", "expected either 'fingerprint' or 'text'")),
        }
        .and_then(|found| Ok(Item { id: id_of(item.id.as_deref())?, ..found }))
        .and_then(|found| match (&found.id, shown.sketch_len) {
            (None, 1..) => Err(Failure::bad("no-id", "this store keeps sketches, which need ids")),
            _ => Ok(found),
        })
        .map_err(|failure| {
            let message = format!("item {}: {}", at + 1, failure.message);
            Failure { message, ..failure }
        })?;
        items.push(item);
    }
    Ok(items)
}

/// A ready fingerprint.
fn given(shown: &Shown, asked: &Asked<'_>, hex: &str) -> Result<Item, Failure> {
    let conflict = |code, message: &str| Err(Failure::new(StatusCode::CONFLICT, code, message));
    if shown.sketch_len > 0 {
        let message = "this store keeps a sketch of each document, which a fingerprint does not \
                       have; send 'text'";
        return conflict("needs-text", message);
    }
    let is_external = shown.recipe.as_ref().is_none_or(|recipe| *recipe == Recipe::external());
    if !is_external && asked.same_recipe != Some(true) {
        let message = "this store has a recipe for texts: send 'text', or \"same_recipe\": true if \
                       these fingerprints were made by it";
        return conflict("recipe-not-said", message);
    }
    Ok(Item { fingerprint: fingerprint(hex)?, id: None, sketch: Vec::new() })
}

/// An id that a store can keep.
pub(super) fn id_of(id: Option<&str>) -> Result<Option<String>, Failure> {
    match id.map(|id| (id, IdRef::fault_of_text(id))) {
        Some((_, Some(fault))) => {
            let message =
                format!("the id: {fault}, expected 1 to 65535 bytes without NUL, CR or LF");
            Err(Failure::bad("bad-id", message))
        }
        Some((id, None)) => Ok(Some(id.into())),
        None => Ok(None),
    }
}
