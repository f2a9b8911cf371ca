//! A pass over all ids of the store, which requests share.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use fpstore_base::Id;
use fpstore_base::watch::Observer;
use tokio::sync::oneshot;

use super::lanes::{IdRequest, blocking};
use super::shared::Shared;
use crate::protocol::failure::Failure;
use fpstore::Error;
use fpstore::writer::IdPlaces;

/// Finds where the current snapshot contains `ids`, in one pass with the ids of other requests.
pub(crate) async fn join(server: &Arc<Shared>, ids: Vec<Id>) -> Result<Arc<IdPlaces>, Failure> {
    let (reply, answer) = oneshot::channel();
    server.id_pass.waiting().push((ids, reply));
    let server = Arc::clone(server);
    // A separate task, because other requests wait for the pass even if this client disconnects.
    tokio::spawn(async move {
        let _turn = server.id_pass.turn.lock().await;
        let waiting = std::mem::take(&mut *server.id_pass.waiting());
        let waiting: Vec<IdRequest> =
            waiting.into_iter().filter(|(_, reply)| !reply.is_closed()).collect();
        if waiting.is_empty() {
            return;
        }
        let ids = waiting.iter().flat_map(|(ids, _)| ids).map(Id::as_ref);
        let places = read(&server, IdPlaces::of(ids)).await.map(Arc::new);
        for (_, reply) in waiting {
            let _ = reply.send(places.clone());
        }
    });
    answer.await.map_err(|_| Failure::broken())?
}

/// Reads the ids of the current snapshot, as far as `places` has not read them before, once no other
/// pass is running.
pub(crate) async fn read_again(
    server: &Arc<Shared>,
    places: IdPlaces,
) -> Result<IdPlaces, Failure> {
    let _turn = server.id_pass.turn.lock().await;
    read(server, places).await
}

/// Like [`read_again`]; the caller holds the turn.
async fn read(server: &Arc<Shared>, mut places: IdPlaces) -> Result<IdPlaces, Failure> {
    let live = Arc::clone(&server.live);
    let work = move || {
        let ending = Arc::clone(&live);
        let observer = Observer::new(move |_| match ending.health.is_ending() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        });
        match places.read(live.store(), Some(observer)) {
            Ok(()) => Ok(places),
            Err(Error::Interrupted) => {
                Err(Failure::busy("the server is shutting down and accepts no more changes"))
            }
            Err(error) => {
                live.health.note_damage(&error);
                Err(Failure::from(error))
            }
        }
    };
    server.live.metrics.id_passes.fetch_add(1, Relaxed);
    // Not in the lane of slow work: its threads have a lower priority, which under load tripled the
    // time of deletions.
    blocking(work).await?
}
