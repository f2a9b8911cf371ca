//! Changes documents by their ids. The ids of the store are read before the writer's turn: the time
//! in which the writer thread makes the change and serves no other client.
//!
//! A store has no index of ids, so a deletion reads all of them. In a large store that takes long,
//! so the ids are read on another thread while other clients write, once for all requests that
//! wait. In its turn, the writer reads only the ids added since then.

use std::sync::Arc;

use fpstore_base::{Id, IdRef};

use crate::protocol::failure::Failure;
use crate::state::id_pass;
use crate::state::shared::Shared;
use crate::writing::Writing;
use fpstore::writer::IdPlaces;
use fpstore::{Result as StoreResult, Writer};

/// The approximate number of ids that the writer may read in its turn, which takes milliseconds.
const TURN_IDS: u64 = 100_000;
/// The largest number of reads outside the writer's turn. Then the writer reads the remaining ids.
const TRIES: u32 = 5;

/// Calls `change`, which may use `ids` only to delete them. Like [`Writing::change`], but reads the
/// ids of the store outside the writer's turn.
pub(super) async fn change_ids<T: Send + 'static>(
    server: &Arc<Shared>,
    writing: &Writing,
    ids: impl IntoIterator<Item = IdRef<'_>>,
    effect: &'static str,
    change: impl Fn(&mut Writer) -> StoreResult<T> + Send + Sync + 'static,
) -> Result<(T, u64), Failure> {
    let change = Arc::new(change);
    let ids: Vec<Id> = ids.into_iter().map(|id| id.to_id()).collect();
    let mut places = Arc::new(IdPlaces::of(ids.iter().map(Id::as_ref)));
    for tries in 1.. {
        if places.unread(server.live.store()) > TURN_IDS {
            places = match tries {
                1 => id_pass::join(server, ids.clone()).await?,
                // Reads only the segments added since the last read.
                _ => Arc::new(id_pass::read_again(server, (*places).clone()).await?),
            };
        }
        let (change, is_last) = (Arc::clone(&change), tries == TRIES);
        let turn = move |writer: &mut Writer| {
            if !is_last && places.unread(writer.store()) > TURN_IDS {
                // Meanwhile segments were merged, or many segments were added: read again.
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
