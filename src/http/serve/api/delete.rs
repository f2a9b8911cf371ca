//! `DELETE /v1/ids`: forgets documents by their ids.

use std::sync::Arc;

use hyper::{Response, StatusCode};

use super::check_and_add::{id_of, writing};
use crate::http::serve::protocol::failure::Failure;
use crate::http::serve::protocol::request::{self, HttpRequest, ResponseBody, json_response};
use crate::http::serve::state::shared::Shared;
use crate::http::wire::{DeleteAnswer, DeleteBody};

pub(crate) async fn answer(
    server: &Arc<Shared>,
    request: HttpRequest,
) -> Result<Response<ResponseBody>, Failure> {
    let writing = writing(server)?;
    let bytes = request::whole_json(&server.limits, request).await?;
    let DeleteBody { ids } = request::json(&bytes)?;
    server.limits.check_items(ids.len(), "ids")?;
    for (at, id) in ids.iter().enumerate() {
        let part = format_args!("id {} of the list", at + 1);
        id_of(Some(id)).map_err(|failure| failure.of_part(part))?;
    }
    let (done, generation) = writing.delete(&server.live, ids).await?;
    let answer = DeleteAnswer {
        wanted: done.wanted,
        found: done.found,
        fingerprints: done.fingerprints,
        ids: done.ids,
        generation,
    };
    Ok(json_response(StatusCode::OK, &answer))
}
