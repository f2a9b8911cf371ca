//! The promises of the library to its users, one file each. All files form one test program, which
//! links the dependencies once. The program and the server are tested in `crates/cli/tests`.

mod common;
mod library;
