//! Changes other than additions: deleting and replacing documents, expiring and importing segments,
//! setting the label of future segments, compaction.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use fpstore_base::{Choice, Id, IdRef};
use hyper::StatusCode;

use super::check_and_add::{id_of, items_of, writing};
use super::ids_ahead::change_ids;
use crate::protocol::failure::{Failure, chain};
use crate::protocol::request::{self, HttpRequest, HttpResponse, HttpResult, json_response};
use crate::state::lanes::blocking;
use crate::state::limits::check_items;
use crate::state::shared::Shared;
use crate::writing::not_written;
use fpstore::writer::{Arrivals, Compaction, Deleted, Expiry, IdChange, dated_label};
use fpstore::{Error, Writer};
use fpstore_client::limits::ServeLimits;
use fpstore_client::{
    CompactAnswer, CompactBody, DeleteAnswer, DeleteBody, ExpireAnswer, ExpireBody, ExpiredSegment,
    ImportAnswer, ImportBody, LabelAnswer, LabelBody, ReplaceBody,
};

/// The end of the message for a failed import: its effect on the store.
const NOTHING_IMPORTED: &str = "nothing was imported";

/// `DELETE /v1/ids`: deletes documents by their ids.
pub(crate) async fn delete(server: &Arc<Shared>, request: HttpRequest) -> HttpResult {
    let writing = writing(server)?;
    let bytes = request::whole_json(server, request).await?;
    let check = |limits: &ServeLimits, count| check_items(limits, count, "ids");
    let limits = server.limits.clone();
    let parse = move |bytes: &[u8]| {
        let DeleteBody { ids, dry_run } = request::json(bytes)?;
        check(&limits, ids.len())?;
        for (at, id) in ids.iter().enumerate() {
            let part = format_args!("id {} of the list", at + 1);
            id_of(Some(id)).map_err(|failure| failure.of_part(part))?;
        }
        Ok((ids, dry_run))
    };
    let ((ids, dry_run), bytes) = request::parsed(server, bytes, check, parse).await?;
    // The ids need about as much memory as the body: they are charged in its place.
    let _charge = bytes.into_charge(ids.iter().map(String::len).sum());
    let change = IdChange::delete(ids.iter().map(|id| IdRef::Text(id))).dry_run(dry_run);
    let ids = ids.into_iter().map(|id| Id::Text(id.into())).collect();
    let (done, generation) = change_ids(server, writing, change, ids).await?;
    if !dry_run {
        server.live.metrics.deleted_ids.fetch_add(done.ids, Relaxed);
    }
    Ok(deleted(&done, generation))
}

/// `PUT /v1/ids`: replaces the stored documents with the same ids, in one step.
pub(crate) async fn replace(server: &Arc<Shared>, request: HttpRequest) -> HttpResult {
    let writing = writing(server)?;
    let bytes = request::whole_json(server, request).await?;
    let opened = server.live.opened();
    let parse = move |bytes: &[u8]| {
        let ReplaceBody { items, same_recipe } = request::json(bytes)?;
        if let Some(at) = items.iter().position(|item| item.id.is_none()) {
            let message = format!("item {}: it has no id, so it cannot replace a record", at + 1);
            return Err(Failure::bad("no-id", message));
        }
        items_of(&opened, &items, same_recipe)
    };
    // Hashing texts takes long, so another thread parses the body.
    let check = |limits: &ServeLimits, count| check_items(limits, count, "items");
    let (records, _) = request::parsed_apart(server, bytes, check, parse).await?;
    let ids = records.iter().filter_map(|record| record.id.clone()).collect();
    let change = IdChange::replace(records);
    let (done, generation) = change_ids(server, writing, change, ids).await?;
    server.live.metrics.deleted_ids.fetch_add(done.ids, Relaxed);
    Ok(deleted(&done, generation))
}

/// The answer with the counts of deleted records, and the current generation.
fn deleted(done: &Deleted, generation: u64) -> HttpResponse {
    let answer = DeleteAnswer {
        wanted: done.wanted,
        found: done.found,
        fingerprints: done.fingerprints,
        ids: done.ids,
        generation,
    };
    json_response(StatusCode::OK, &answer)
}

/// `POST /v1/expire`: removes whole segments by their label.
pub(crate) async fn expire(server: &Arc<Shared>, request: HttpRequest) -> HttpResult {
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

/// `POST /v1/import`: copies segments of stores in the parent folder of the served store. So stores
/// built on the command line can be added to the store of a writing server.
pub(crate) async fn import(server: &Arc<Shared>, request: HttpRequest) -> HttpResult {
    let writing = writing(server)?;
    let bytes = request::whole_json(server, request).await?;
    let check = |limits: &ServeLimits, count| check_items(limits, count, "names");
    let parse = |bytes: &[u8]| request::json::<ImportBody>(bytes);
    let (ImportBody { from }, _) = request::parsed(server, bytes, check, parse).await?;
    check(&server.limits, from.len())?;
    let folder = server.live.path.parent().unwrap_or(Path::new(""));
    // A client with a token must not make the server read files of other folders.
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
                        "'{}' is not a name in the folder that contains the store",
                        name.escape_debug()
                    );
                    Err(Failure::bad("bad-name", message))
                }
            }
        })
        .collect::<Result<_, _>>()?;
    // A damaged source is an error of the request, not of the served store.
    let bad = |error: Error| {
        let message = format!("{}; {NOTHING_IMPORTED}", chain(&error));
        Failure::bad("bad-source", message)
    };
    let found = blocking(move || Arrivals::of(&sources)).await?.map_err(bad)?;
    let begin = move |writer: &mut Writer| writer.begin_import(found);
    let (import, _) = writing.change(&server.live, NOTHING_IMPORTED, begin).await?;
    // Copying gigabytes does not block the writer: other clients can add records meanwhile.
    let copied = blocking(move || import.copy()).await?.map_err(|error| match error {
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

/// `POST /v1/label`: sets the label of future segments.
pub(crate) async fn label(server: &Arc<Shared>, request: HttpRequest) -> HttpResult {
    let writing = writing(server)?;
    let bytes = request::whole_json(server, request).await?;
    let LabelBody { label } = request::json(&bytes)?;
    let label = dated_label(&label);
    writing.set_label(&server.live, label.clone()).await?;
    Ok(json_response(StatusCode::OK, &LabelAnswer { label }))
}

/// `POST /v1/compact`: starts a merge of segments in the background.
pub(crate) async fn compact(server: &Arc<Shared>, request: HttpRequest) -> HttpResult {
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
