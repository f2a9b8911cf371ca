//! Tests of the guarantees of the library, one file each. All files form one test program, so
//! dependencies are linked once. The tests of the program and the server are in `crates/cli/tests`.

#[cfg(feature = "write")]
mod common;
#[cfg(feature = "write")]
mod library;
mod reader;
