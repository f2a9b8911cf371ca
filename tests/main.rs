//! Tests of what the library guarantees, in one file for each subject. All files are one test
//! program, so dependencies are linked once. The tests of the program and the server are in
//! `crates/cli/tests`.

#[cfg(feature = "write")]
mod common;
#[cfg(feature = "write")]
mod library;
mod reader;
