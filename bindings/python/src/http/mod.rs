//! Stores over HTTP: a client of a server, and a server in this process.
//!
//! - `client` contains the class `Client`, and `changes` its methods that change the store.
//! - `connection` runs the client of the Rust crate on the thread that waits for the answer.
//! - `answers` and `info` convert answers to rows and values.
//! - `server` contains the class `Server`.
//!
//! The requests are defined in the crate `fpstore_client`.

mod answers;
mod changes;
mod client;
mod connection;
mod info;
mod server;

pub(crate) use client::Client;
pub(crate) use server::{Server, serve};
