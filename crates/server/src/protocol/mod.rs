//! HTTP: sockets, connections, requests and responses, and the table of routes.
//!
//! `connections` accepts connections and `slow_clients` ends slow ones. `routes` checks tokens and
//! passes requests to the handlers in `api`.

pub(crate) mod access_log;
pub(crate) mod address;
pub(crate) mod connections;
mod date;
pub(crate) mod failure;
pub(crate) mod line_queue;
pub(crate) mod memory_budget;
pub(crate) mod params;
pub(crate) mod request;
pub(crate) mod routes;
pub(crate) mod slow_clients;
pub(crate) mod socket;
pub(crate) mod tokens;
