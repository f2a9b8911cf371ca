//! Helpers that tests share: for test documents, for requests to a server, for running the program.

pub mod documents;
#[cfg(unix)]
pub mod http;
pub mod program;
#[path = "../../../../tests/common/mod.rs"]
mod shared;

pub use shared::*;
