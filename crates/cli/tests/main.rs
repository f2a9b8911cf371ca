//! Tests of the guarantees of the program and the server, one file each, and of the library where
//! it is compared with the program. All files form one test program.

mod common;
mod doors;
mod program;
#[cfg(unix)]
mod server;
mod store;
