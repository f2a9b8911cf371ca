//! The shared parts of all tests, and of tests that use the program, the server or documents.

pub mod documents;
#[cfg(unix)]
pub mod http;
pub mod program;
#[path = "../../../../tests/common/mod.rs"]
mod shared;

pub use shared::*;
