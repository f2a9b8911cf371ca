//! The promises of the program and of the server to their users, one file each, and of the library
//! where the program stands beside it. All files form one test program.

mod common;
mod doors;
mod program;
#[cfg(unix)]
mod server;
mod store;
