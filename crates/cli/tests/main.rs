//! Tests of the program and the server, and of the library where it is compared with the program.
//! All files form one test program, which compiles faster than many.

mod common;
mod doors;
mod program;
#[cfg(unix)]
mod server;
mod store;
