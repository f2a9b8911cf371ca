//! What the server holds between requests.
//!
//! `live_store` follows the store and shows its newest state; the threads of the writer share it.
//! `shared` is what all requests share besides:
//! limits, tokens, the lanes for searches (`lanes`). `scrub` reads the store again to find damage.
//! `server` starts all of it and ends it in order.

pub(crate) mod health;
pub(crate) mod lanes;
pub(crate) mod limits;
pub(crate) mod live_store;
pub(crate) mod metrics;
pub(crate) mod opened;
mod process;
pub(crate) mod scrub;
pub(crate) mod scrubbed;
pub(crate) mod server;
pub(crate) mod settings;
pub(crate) mod shared;
