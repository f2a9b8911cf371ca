//! The promises of the server, asked over HTTP.

mod connections;
mod library;
mod life;
mod options;
mod queries;
mod remote;
mod writes;
