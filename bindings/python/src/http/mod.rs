//! Stores over HTTP: a client of a server, and a server in this process.
//!
//! - `client` is the class `Client`, and `changes` has its methods that change the store.
//! - `connection` runs the client of the library on the waiting thread.
//! - `answers` and `info` convert answers to rows and values.
//! - `server` is the class `Server`.
//!
//! The library alone defines the requests.

mod answers;
mod changes;
mod client;
mod connection;
mod info;
mod server;

pub(crate) use client::Client;
pub(crate) use server::{Server, serve};
