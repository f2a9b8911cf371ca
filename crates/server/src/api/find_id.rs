//! `GET /v1/ids`: the fingerprints stored under an id.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use fpstore_base::IdRef;
use fpstore_base::watch::Observer;
use hyper::StatusCode;

use super::check_and_add::id_of;
use crate::protocol::failure::Failure;
use crate::protocol::params::{options_of, pairs};
use crate::protocol::request::{HttpRequest, HttpResult, json_response};
use crate::state::shared::Shared;
use fpstore::{Error, FoundRecord};
use fpstore_client::IdAnswer;

/// Reads the ids of the whole store within the deadline, in the lane of slow queries.
pub(crate) async fn answer(server: &Arc<Shared>, request: HttpRequest) -> HttpResult {
    let (_, id) = options_of(pairs(request.uri())?, &[], "id")?;
    let id = id.ok_or_else(|| Failure::bad("no-id", "the parameter 'id' is missing"))?;
    id_of(Some(&id))?;
    let id = id.into_owned();
    let deadline = Instant::now() + server.limits.deadline;
    let live = Arc::clone(&server.live);
    let search = move || {
        let observer = Observer::new(move |_| match Instant::now() < deadline {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        });
        let generation = live.opened().generation;
        let found = live.store().find_ids(&[IdRef::from(&id)], Some(observer));
        let found = found.map_err(|error| match error {
            Error::Interrupted => live.refused(
                "reading the ids of the store takes longer than --deadline; query by fingerprint",
            ),
            other => {
                live.health.note_damage(&other);
                Failure::from(other)
            }
        })?;
        let (width, names) = (live.store().width(), live.stores());
        let found: Vec<FoundRecord> = found.into_iter().flatten().collect();
        let fingerprints = found.iter().map(|record| width.hex(record.fingerprint)).collect();
        let stores = found.iter().filter_map(|record| names.get(record.store.0).cloned()).collect();
        Ok(IdAnswer { id, fingerprints, stores, generation })
    };
    let answer: Result<IdAnswer, Failure> = server.lanes.slow_at_once(&server.live, search).await?;
    Ok(json_response(StatusCode::OK, &answer?))
}
