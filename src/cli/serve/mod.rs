//! `fpstore serve`: answers queries over HTTP, and remembers what is new.
//!
//! `connections` accepts them and hyper reads requests; `routes` hands them out. `query`, `text` and
//! `stream` read what is asked and make a job of it (`asking`), which searches and writes its answer
//! (`answers`). `writing` is the one thread that changes the store. `server` holds what all share.

mod adding;
mod address;
mod answers;
mod args;
mod asking;
mod connections;
mod deleting;
mod failure;
mod health;
mod life;
mod limits;
mod metrics;
mod page;
mod params;
mod query;
mod request;
mod routes;
mod server;
mod shown;
mod socket;
mod status;
mod stream;
mod text;
mod tokens;
mod watched;
mod writing;

pub(super) use args::ServeArgs;
