//! The state of the server between requests.
//!
//! `live_store` follows the store and holds its current snapshot; it is also used by the threads of
//! the writer. `shared` holds the rest: limits, tokens, the lanes for searches (`lanes`).
//! `following` copies the store of another server. `id_pass` reads the ids for several deletions at
//! once. `scrub` reads the store again to find damage. `server` starts and ends all parts in order.

pub(crate) mod following;
pub(crate) mod health;
pub(crate) mod id_pass;
pub(crate) mod lanes;
pub(crate) mod limits;
pub(crate) mod live_store;
pub(crate) mod metrics;
pub(crate) mod opened;
pub(crate) mod scrub;
pub(crate) mod server;
pub(crate) mod settings;
pub(crate) mod shared;
