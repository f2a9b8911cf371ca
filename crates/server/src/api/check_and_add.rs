//! `/v1/check-and-add`: adds the items that are near no known record.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use fpstore_base::{Fingerprint, Id, IdRef, Recipe};
use fpstore_text::sketch;
use hyper::StatusCode;

use super::price::Price;
use super::text;
use crate::protocol::failure::Failure;
use crate::protocol::params::fingerprint;
use crate::protocol::request::{self, HttpRequest, HttpResult, json_response};
use crate::state::limits::{check_items, checked_k};
use crate::state::live_store::LiveStore;
use crate::state::opened::Opened;
use crate::state::shared::Shared;
use crate::writing::{AdditionResult, Answered, Items, TURN_NANOS, Verdict, Writing, cut};
use fpstore::writer::{Ahead, ComparisonProgress, NewRecord};
use fpstore::{Error, Limits};
use fpstore_client::limits::ServeLimits;
use fpstore_client::{AddAnswer, AddBody, AddItem, AddStatus, AddedItem, NearItem};

/// How many times costly items are compared outside the writer's turn. After that the writer does
/// the remaining comparisons in its turn.
const TRIES: u32 = 5;

pub(crate) async fn answer(server: &Arc<Shared>, request: HttpRequest) -> HttpResult {
    let start = Instant::now();
    let writing = writing(server)?;
    let bytes = request::whole_json(server, request).await?;
    let opened = server.live.opened();
    let (limits, live, same) = (server.limits.clone(), Arc::clone(&server.live), opened.clone());
    let parse = move |bytes: &[u8]| checked_request(bytes, &limits, &live, &same);
    let check = |limits: &ServeLimits, count| check_items(limits, count, "items");
    let (CheckedRequest { k, price, durable, records }, bytes) =
        request::parsed(server, bytes, check, parse).await?;
    let items = if let Some(records) = records {
        drop(bytes);
        records
    } else {
        // Hashing texts takes long, so another thread does it. It parses the body again, because
        // the items borrow from the body.
        let opened = Arc::clone(&opened);
        let parse = move |bytes: &[u8]| {
            let AddBody { items, same_recipe, .. } = request::json(bytes)?;
            items_of(&opened, &items, same_recipe)
        };
        request::parsed_apart(server, bytes, check, parse).await?.0
    };
    let fingerprints: Vec<Fingerprint> = items.iter().map(|item| item.fingerprint).collect();
    let deadline = start + server.limits.deadline;
    let ahead = (price.sum > TURN_NANOS).then(|| Ahead::new(fingerprints.iter().copied(), k));
    let pairs = server.pairs();
    let mut items = Items { records: items, k, pairs, ahead, is_last_try: false };
    let mut tries = 0;
    let AdditionResult { verdicts, durable, generation } = loop {
        tries += 1;
        items.is_last_try = tries == TRIES;
        if let Some(ahead) = items.ahead.take() {
            items.ahead = Some(compared(server, ahead, deadline).await?);
        }
        match writing.add(&server.live, items, durable, deadline).await? {
            Answered::Added(added) => break added,
            Answered::Behind(behind) => items = behind,
        }
    };
    let added = verdicts.iter().filter(|verdict| matches!(verdict, Verdict::New)).count() as u64;
    let width = opened.width;
    let results =
        fingerprints.into_iter().zip(verdicts).map(|(fingerprint, verdict)| match verdict {
            Verdict::New => {
                let fingerprint = width.hex(fingerprint);
                AddedItem { status: AddStatus::New, fingerprint, near: None }
            }
            Verdict::Near { fingerprint: found, distance, ids, pending } => {
                let fingerprint = width.hex(fingerprint);
                let near = Some(NearItem { fingerprint: width.hex(found), distance, ids, pending });
                AddedItem { status: AddStatus::Near, fingerprint, near }
            }
        });
    let answer = AddAnswer { results: results.collect(), added, durable, generation };
    Ok(json_response(StatusCode::OK, &answer))
}

/// A checked request.
struct CheckedRequest {
    k: u32,
    price: Price,
    durable: bool,
    /// A record for each item; `None` if the items contain texts, which must be hashed first.
    records: Option<Vec<NewRecord>>,
}

fn checked_request(
    bytes: &[u8],
    limits: &ServeLimits,
    live: &LiveStore,
    opened: &Opened,
) -> Result<CheckedRequest, Failure> {
    let asked: AddBody<'_> = request::json(bytes)?;
    check_items(limits, asked.items.len(), "items")?;
    let k = checked_k(limits, asked.k, opened.tuned_k)?;
    let price = Price::of(live.store(), k, asked.items.len());
    price.check(asked.max_cost)?;
    let has_texts = asked.items.iter().any(|item| item.text.is_some());
    let records = || items_of(opened, &asked.items, asked.same_recipe);
    let records = (!has_texts).then(records).transpose()?;
    Ok(CheckedRequest { k, price, durable: asked.durable.unwrap_or(true), records })
}

/// Compares items with the current snapshot, in the lane of slow queries, while the writer serves
/// other requests.
async fn compared(
    server: &Arc<Shared>,
    mut ahead: Ahead,
    deadline: Instant,
) -> Result<Ahead, Failure> {
    ahead.set_out(server.live.store());
    let limits = Limits::default().deadline(deadline);
    let mut ahead = Some(ahead);
    let live = Arc::clone(&server.live);
    let slice = move |end| {
        let compared = ahead.as_mut()?.compare(&limits, Some(end), true);
        match compared {
            Ok(ComparisonProgress::All) => ahead.take().map(Ok),
            Ok(ComparisonProgress::Some) => None,
            Ok(ComparisonProgress::Cut) => Some(Err(cut())),
            Err(error) => {
                live.health.note_damage(&error);
                Some(Err(Failure::from(error)))
            }
        }
    };
    server.live.metrics.slow.fetch_add(1, Relaxed);
    server.lanes.slow(&server.live, slice).await?
}

/// The writer of the server, if it has one.
pub(crate) fn writing(server: &Shared) -> Result<&Writing, Failure> {
    server.writing.as_ref().ok_or_else(|| {
        let message = "this server is read-only; start it with --writable to allow changes";
        Failure::new(StatusCode::FORBIDDEN, "not-writable", message)
    })
}

/// Makes a record of each item of a request; texts are hashed.
pub(super) fn items_of(
    opened: &Opened,
    asked: &[AddItem<'_>],
    same_recipe: Option<bool>,
) -> Result<Vec<NewRecord>, Failure> {
    let mut hasher = None;
    let mut items = Vec::with_capacity(asked.len());
    for (at, item) in asked.iter().enumerate() {
        let item = match (&item.fingerprint, &item.text) {
            (Some(hex), None) => given(opened, same_recipe, hex),
            (None, Some(text)) => {
                if hasher.is_none() {
                    hasher = Some(text::hasher(opened)?);
                }
                let hasher = hasher.as_mut().expect("it was made above");
                let fingerprint = hasher.fingerprint(text).ok_or_else(text::no_features);
                fingerprint.map(|fingerprint| {
                    let sketch = match opened.sketch_len {
                        0 => Box::default(),
                        len => sketch(&hasher.distinct_features(text), len).into(),
                    };
                    NewRecord { fingerprint, id: None, sketch }
                })
            }
            _ => Err(Failure::bad("bad-json", "expected either 'fingerprint' or 'text'")),
        }
        .and_then(|found| Ok(NewRecord { id: id_of(item.id.as_deref())?, ..found }))
        .and_then(|found| match (&found.id, opened.sketch_len) {
            (None, 1..) => Err(Failure::bad("no-id", "this store keeps sketches, which need ids")),
            _ => Ok(found),
        })
        .map_err(|failure| failure.of_part(format_args!("item {}", at + 1)))?;
        items.push(item);
    }
    Ok(items)
}

/// The record of an item that contains a fingerprint instead of a text.
fn given(opened: &Opened, same_recipe: Option<bool>, hex: &str) -> Result<NewRecord, Failure> {
    let conflict = |code, message: &str| Err(Failure::new(StatusCode::CONFLICT, code, message));
    if opened.sketch_len > 0 {
        let message = "this store keeps a sketch of each document, and a sketch needs a text; send \
                       'text'";
        return conflict("needs-text", message);
    }
    let is_external = opened.recipe.as_ref().is_none_or(Recipe::is_external);
    if !is_external && same_recipe != Some(true) {
        let message = "this store has a recipe for texts: send 'text', or \"same_recipe\": true if \
                       the fingerprints were made by that recipe";
        return conflict("recipe-not-said", message);
    }
    let fingerprint = fingerprint(hex)?;
    match opened.width.fits(fingerprint) {
        true => Ok(NewRecord::new(fingerprint, None)),
        false => Err(Error::TooWide { fingerprint, width: opened.width }.into()),
    }
}

/// Checks that a store can keep the id.
pub(crate) fn id_of(id: Option<&str>) -> Result<Option<Id>, Failure> {
    match id.map(|id| (id, IdRef::fault_of_text(id))) {
        Some((_, Some(fault))) => {
            let message =
                format!("the id: {fault}, expected 1 to 65535 bytes without NUL, CR or LF");
            Err(Failure::bad("bad-id", message))
        }
        Some((id, None)) => Ok(Some(Id::Text(id.into()))),
        None => Ok(None),
    }
}
