//! Stores over HTTP: a client of a server, and a server of this process.
//!
//! `client` is the class `Client`; `changes` has its calls that change the store. `connection` runs
//! the client of the library on the thread that works, `answers` and `info` make rows and values of
//! what comes back. `server` is the class `Server`. What a request means is said by the library alone.

mod answers;
mod changes;
mod client;
mod connection;
mod info;
mod server;

pub(crate) use client::Client;
pub(crate) use server::{Server, serve};
