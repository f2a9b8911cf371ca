//! Stores over HTTP: the server, its client, and the bodies that they exchange.
//!
//! `serve` answers, `client` asks, both on the tokio runtime of the caller; `wire` has one struct
//! for both ends of each body. Nothing here searches or changes a store by itself.

pub mod client;
#[cfg(feature = "serve")]
pub mod serve;
mod wire;
