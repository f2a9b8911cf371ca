//! HTTP: sockets, connections, requests and responses, and the table of routes.
//!
//! `connections` lets connections in and `slow_clients` ends those that are too slow. `routes` checks
//! tokens and hands requests to `api`. Nothing but `routes` knows what a route does.

pub(crate) mod access_entry;
pub(crate) mod access_log;
pub(crate) mod address;
pub(crate) mod connections;
mod date;
pub(crate) mod failure;
pub(crate) mod memory_budget;
pub(crate) mod params;
pub(crate) mod request;
pub(crate) mod routes;
pub(crate) mod slow_clients;
pub(crate) mod socket;
pub(crate) mod tokens;
