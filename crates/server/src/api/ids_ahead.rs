//! Changes of documents by their ids: the ids of the store are read before the writer's turn.
//!
//! A store has no index of ids, so a deletion reads all of them. In a large store that takes long,
//! so the ids are read in the lane of slow queries while other clients write. The writer's turn
//! reads only the ids added since.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use fpstore_base::IdRef;
use fpstore_base::watch::Observer;

use crate::protocol::failure::Failure;
use crate::state::shared::Shared;
use crate::writing::Writing;
use fpstore::writer::IdPlaces;
use fpstore::{Error, Result as StoreResult, Writer};

/// The approximate number of ids that the writer's turn may read, in milliseconds.
const TURN_IDS: u64 = 100_000;
/// The largest number of reads outside the writer's turn. After that the writer reads the rest.
const TRIES: u32 = 5;

/// Changes the store by `change`, whose only use of `ids` is to delete them. As
/// [`Writing::change`], except that reading the ids of the store does not hold the writer.
pub(super) async fn change_ids<T: Send + 'static>(
    server: &Arc<Shared>,
    writing: &Writing,
    ids: impl IntoIterator<Item = IdRef<'_>>,
    effect: &'static str,
    change: impl Fn(&mut Writer) -> StoreResult<T> + Send + Sync + 'static,
) -> Result<(T, u64), Failure> {
    let change = Arc::new(change);
    let mut places = IdPlaces::of(ids);
    for tries in 1.. {
        if places.unread(server.live.store()) > TURN_IDS {
            places = read(server, places).await?;
        }
        let (change, is_last) = (Arc::clone(&change), tries == TRIES);
        let turn = move |writer: &mut Writer| {
            if !is_last && places.unread(writer.store()) > TURN_IDS {
                // Segments were merged meanwhile, or many were added.
                return Ok(Err(places));
            }
            writer.look_ahead(places);
            change(writer).map(Ok)
        };
        match writing.change(&server.live, effect, turn).await? {
            (Ok(done), generation) => return Ok((done, generation)),
            (Err(behind), _) => places = behind,
        }
    }
    Err(Failure::broken())
}

/// Reads the ids of the current snapshot.
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
                Err(Failure::busy("the server is ending, and takes no more writes"))
            }
            Err(error) => {
                live.health.note_damage(&error);
                Err(Failure::from(error))
            }
        }
    };
    server.live.metrics.slow.fetch_add(1, Relaxed);
    server.lanes.slow_at_once(&server.live, work).await?
}
