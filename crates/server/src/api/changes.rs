//! What changes the store but adds nothing new: documents replaced, segments removed by their label,
//! the label of what comes, merges.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use fpstore_base::{Choice, Id};
use hyper::{Response, StatusCode};

use super::check_and_add::{items_of, writing};
use super::delete;
use super::ids_ahead::change_ids;
use crate::protocol::failure::{Failure, chain};
use crate::protocol::request::{self, HttpRequest, ResponseBody, json_response};
use crate::state::limits::CheckLimits as _;
use crate::state::shared::Shared;
use crate::writing::not_written;
use fpstore::writer::{Arrivals, Compaction, Expiry, dated_label};
use fpstore::{Error, Writer};
use fpstore_client::wire::{
    CompactAnswer, CompactBody, ExpireAnswer, ExpireBody, ExpiredSegment, ImportAnswer, ImportBody,
    LabelAnswer, LabelBody, ReplaceBody,
};

/// What has become of an import that failed.
const NOTHING_IMPORTED: &str = "nothing was imported";

/// `PUT /v1/ids`: documents that changed take the place of those with the same ids, in one step.
pub(crate) async fn replace(
    server: &Arc<Shared>,
    request: HttpRequest,
) -> Result<Response<ResponseBody>, Failure> {
    let writing = writing(server)?;
    let bytes = request::whole_json(server, request).await?;
    let ReplaceBody { items, .. } = request::json(&bytes)?;
    server.limits.check_items(items.len(), "items")?;
    if let Some(at) = items.iter().position(|item| item.id.is_none()) {
        let message = format!("item {}: it has no id, and would replace nothing", at + 1);
        return Err(Failure::bad("no-id", message));
    }
    let opened = server.live.opened();
    let records = server.lanes.quick(&server.live, move || {
        let ReplaceBody { items, same_recipe } = request::json(&bytes)?;
        items_of(&opened, &items, same_recipe)
    });
    let named = Arc::new(records.await??);
    let records = Arc::clone(&named);
    let change = move |writer: &mut Writer| writer.replace(&records).map(|done| done.replaced);
    let named = named.iter().filter_map(|record| record.id.as_ref()).map(Id::as_ref);
    let (done, generation) =
        change_ids(server, writing, named, "nothing was replaced", change).await?;
    server.live.metrics.deleted_ids.fetch_add(done.ids, Relaxed);
    Ok(delete::told(&done, generation))
}

/// `POST /v1/expire`: removes whole segments by their label.
pub(crate) async fn expire(
    server: &Arc<Shared>,
    request: HttpRequest,
) -> Result<Response<ResponseBody>, Failure> {
    let writing = writing(server)?;
    let bytes = request::whole_json(server, request).await?;
    let ExpireBody { older_than, before, all, dry_run } = request::json(&bytes)?;
    let expiry = match (older_than, before) {
        (Some(age), None) => Expiry::older_than(&age)?,
        (None, Some(label)) => Expiry::before(label),
        _ => return Err(Failure::bad("bad-json", "expected either 'older_than' or 'before'")),
    };
    let expiry = expiry.all(all);
    let change = move |writer: &mut Writer| match dry_run {
        true => writer.store().expiring(&expiry),
        false => writer.expire(&expiry),
    };
    let (done, generation) = writing.change(&server.live, "nothing was removed", change).await?;
    let segments = done.segments.into_iter().map(|segment| ExpiredSegment {
        number: segment.number,
        label: segment.label,
        fingerprints: segment.fingerprint_count,
        bytes: segment.file_len,
    });
    let answer = ExpireAnswer { segments: segments.collect(), dry_run, generation };
    Ok(json_response(StatusCode::OK, &answer))
}

/// `POST /v1/import`: copies segments of stores beside the served one. So what the command line
/// builds comes into a store that a server writes to.
pub(crate) async fn import(
    server: &Arc<Shared>,
    request: HttpRequest,
) -> Result<Response<ResponseBody>, Failure> {
    let writing = writing(server)?;
    let bytes = request::whole_json(server, request).await?;
    let ImportBody { from } = request::json(&bytes)?;
    server.limits.check_items(from.len(), "names")?;
    let folder = server.live.path.parent().unwrap_or(Path::new(""));
    // A client with a token must not have the server read anything else.
    let sources: Vec<PathBuf> = from
        .iter()
        .map(|name| {
            let mut parts = Path::new(name).components();
            match (parts.next(), parts.next()) {
                (Some(Component::Normal(only)), None) if only == name.as_str() => {
                    Ok(folder.join(name))
                }
                _ => {
                    let message = format!(
                        "'{}' is not the name of something in the folder that the store lies in",
                        name.escape_debug()
                    );
                    Err(Failure::bad("bad-name", message))
                }
            }
        })
        .collect::<Result<_, _>>()?;
    // What is wrong with a source is no fault of the served store.
    let bad = |error: Error| {
        let message = format!("{}; {NOTHING_IMPORTED}", chain(&error));
        Failure::bad("bad-source", message)
    };
    let found = tokio::task::spawn_blocking(move || Arrivals::of(&sources)).await;
    let found = found.map_err(|_| Failure::broken())?.map_err(bad)?;
    let begin = move |writer: &mut Writer| writer.begin_import(found);
    let (import, _) = writing.change(&server.live, NOTHING_IMPORTED, begin).await?;
    // Gigabytes are copied beside the writer, which goes on with what others add.
    let copied = tokio::task::spawn_blocking(move || import.copy()).await;
    let copied = copied.map_err(|_| Failure::broken())?.map_err(|error| match error {
        Error::Corrupt { .. } => bad(error),
        error => not_written(&error),
    })?;
    let finish = move |writer: &mut Writer| writer.finish_import(copied);
    let (done, generation) = writing.change(&server.live, NOTHING_IMPORTED, finish).await?;
    let answer = ImportAnswer {
        segments: done.segments,
        fingerprints: done.fingerprints,
        bytes: done.file_len,
        empty: done.empty,
        generation,
    };
    Ok(json_response(StatusCode::OK, &answer))
}

/// `POST /v1/label`: names what is added from now on.
pub(crate) async fn label(
    server: &Arc<Shared>,
    request: HttpRequest,
) -> Result<Response<ResponseBody>, Failure> {
    let writing = writing(server)?;
    let bytes = request::whole_json(server, request).await?;
    let LabelBody { label } = request::json(&bytes)?;
    let label = dated_label(&label);
    writing.set_label(&server.live, label.clone()).await?;
    Ok(json_response(StatusCode::OK, &LabelAnswer { label }))
}

/// `POST /v1/compact`: has segments merged beside all other work.
pub(crate) async fn compact(
    server: &Arc<Shared>,
    request: HttpRequest,
) -> Result<Response<ResponseBody>, Failure> {
    let writing = writing(server)?;
    let bytes = request::whole_json(server, request).await?;
    let CompactBody { segments } = request::json(&bytes)?;
    let what: Compaction = match segments {
        Some(name) => name.parse().map_err(|error| Failure::bad("bad-parameter", error))?,
        None => Compaction::default(),
    };
    writing.compact(&server.live, what).await?;
    let answer = CompactAnswer { segments: what.name().into() };
    Ok(json_response(StatusCode::ACCEPTED, &answer))
}
