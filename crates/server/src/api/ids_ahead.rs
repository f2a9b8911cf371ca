//! Changes documents by their ids. The ids of the store are read before the writer's turn: the time
//! in which the writer thread makes the change and serves no other client.
//!
//! A store has no index of ids, so a deletion reads all of them. In a large store that takes long,
//! so the ids are read on another thread while other clients write, once for all requests that
//! wait. In its turn, the writer reads only the ids added since then.

use std::sync::Arc;

use fpstore_base::Id;

use crate::protocol::failure::Failure;
use crate::state::id_pass;
use crate::state::shared::Shared;
use crate::writing::{IdsChanged, TURN_IDS, Writing};
use fpstore::writer::{Deleted, IdChange, IdPlaces};

/// The largest number of reads outside the writer's turn. Then the writer reads the remaining ids.
const TRIES: u32 = 5;

/// Makes the change, whose ids are `ids`. Returns what was deleted, and the generation after it.
pub(super) async fn change_ids(
    server: &Arc<Shared>,
    writing: &Writing,
    mut change: IdChange,
    ids: Vec<Id>,
) -> Result<(Deleted, u64), Failure> {
    // A read after the first try reads the positions of these ids, also if the first try needed none.
    change.look_ahead(IdPlaces::of(ids.iter().map(Id::as_ref)));
    for tries in 1.. {
        if change.unread(server.live.store()) > TURN_IDS {
            change.look_ahead(match tries {
                1 => id_pass::join(server, ids.clone()).await?,
                // Reads only the segments added since the last read.
                _ => Arc::new(id_pass::read_again(server, change.places().clone()).await?),
            });
        }
        match writing.change_ids(&server.live, change, tries == TRIES).await? {
            IdsChanged::Done(deleted, generation) => return Ok((deleted, generation)),
            // Meanwhile segments were merged, or many segments were added: read again.
            IdsChanged::Behind(back) => change = back,
        }
    }
    Err(Failure::broken())
}
