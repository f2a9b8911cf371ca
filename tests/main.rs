//! The promises of fpstore to its users, one file each. All files form one test program, which
//! links the dependencies once.

mod common;
mod library;
mod program;
#[cfg(all(unix, feature = "serve"))]
mod server;
