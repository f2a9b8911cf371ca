//! `DELETE /v1/ids`: forgets documents by their ids.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use fpstore_base::IdRef;
use hyper::{Response, StatusCode};

use super::check_and_add::{id_of, writing};
use super::ids_ahead::change_ids;
use crate::protocol::failure::Failure;
use crate::protocol::request::{self, HttpRequest, ResponseBody, json_response};
use crate::state::limits::CheckLimits as _;
use crate::state::shared::Shared;
use fpstore::Writer;
use fpstore::writer::Deleted;
use fpstore_client::wire::{DeleteAnswer, DeleteBody};

pub(crate) async fn answer(
    server: &Arc<Shared>,
    request: HttpRequest,
) -> Result<Response<ResponseBody>, Failure> {
    let writing = writing(server)?;
    let bytes = request::whole_json(server, request).await?;
    let DeleteBody { ids, dry_run } = request::json(&bytes)?;
    server.limits.check_items(ids.len(), "ids")?;
    for (at, id) in ids.iter().enumerate() {
        let part = format_args!("id {} of the list", at + 1);
        id_of(Some(id)).map_err(|failure| failure.of_part(part))?;
    }
    let named = Arc::new(ids);
    let ids = Arc::clone(&named);
    let change = move |writer: &mut Writer| {
        let wanted = ids.iter().map(|id| IdRef::Text(id));
        if dry_run { writer.would_delete_ids(wanted) } else { writer.delete_ids(wanted) }
    };
    let named = named.iter().map(|id| IdRef::Text(id));
    let (done, generation) =
        change_ids(server, writing, named, "nothing was deleted", change).await?;
    if !dry_run {
        server.live.metrics.deleted_ids.fetch_add(done.ids, Relaxed);
    }
    Ok(told(&done, generation))
}

/// Tells what was deleted, and the generation that is shown then.
pub(super) fn told(done: &Deleted, generation: u64) -> Response<ResponseBody> {
    let answer = DeleteAnswer {
        wanted: done.wanted,
        found: done.found,
        fingerprints: done.fingerprints,
        ids: done.ids,
        generation,
    };
    json_response(StatusCode::OK, &answer)
}
