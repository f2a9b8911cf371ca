//! `DELETE /v1/ids`: forgets documents by their ids.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode};
use serde::Deserialize;
use serde_json::json;

use super::adding::{id_of, writing};
use super::failure::Failure;
use super::params::{Params, pairs};
use super::request::{self, Body, JSON, Kind, response};
use super::server::Server;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    ids: Vec<String>,
}

pub(super) async fn answer(
    server: &Arc<Server>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Failure> {
    let writing = writing(server)?;
    Params::from_pairs(pairs(request.uri())?, &[], "")?;
    let kind = Kind::of(request.headers())?;
    if kind.name != JSON {
        return Err(kind.unknown(JSON));
    }
    let (head, body) = request.into_parts();
    let bytes = request::whole(server, &head.headers, body).await?;
    let Asked { ids } = request::json(&bytes)?;
    let (most, count) = (server.limits.max_items, ids.len());
    if count as u64 > most {
        let message = format!("{count} ids at once; send them in several requests");
        return Err(Failure::over("items-over-limit", "max-items", most, message));
    }
    for (at, id) in ids.iter().enumerate() {
        id_of(Some(id)).map_err(|failure| {
            let message = format!("id {} of the list: {}", at + 1, failure.message);
            Failure { message, ..failure }
        })?;
    }
    let (done, generation) = writing.delete(server, ids).await?;
    let answer = json!({
        "wanted": done.wanted,
        "found": done.found,
        "deleted_fingerprints": done.fingerprints,
        "deleted_ids": done.ids,
        "generation": generation,
    });
    Ok(response(StatusCode::OK, JSON, format!("{answer}\n")))
}
