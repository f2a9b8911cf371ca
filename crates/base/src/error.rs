//! Faults that stores and texts share. Each package above has one error type, made from these.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The operating system refused an operation.
#[derive(Debug)]
pub struct IoError {
    /// The operation: completes the words "cannot ...", such as `open`.
    pub doing: &'static str,
    /// The file or directory; of a server, also an address or a thread.
    pub path: PathBuf,
    /// The error of the system.
    pub source: io::Error,
}

impl IoError {
    /// Completes an [`io::Error`] with the file and the act, for `map_err`.
    pub fn of(doing: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> IoError {
        move |source| IoError { doing, path: path.as_ref().to_path_buf(), source }
    }
}

impl fmt::Display for IoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {} {}", self.doing, self.path.display())
    }
}

impl std::error::Error for IoError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// The observer ended the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted;

impl Interrupted {
    /// Whether a wait for input or output failed because the work was ended.
    pub fn is_in(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|inner| inner.is::<Interrupted>())
    }
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}

/// The place of a bad record in an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InputPlace {
    /// The line, counted from 1.
    Line(u64),
    /// The byte offset, counted from 0 after decompression.
    Byte(u64),
    /// The row of a table without lines, counted from 1.
    Row(u64),
    /// The record of a file that consists of records, counted from 1.
    Record(u64),
}

impl fmt::Display for InputPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InputPlace::Line(line) => write!(f, "line {line}"),
            InputPlace::Byte(offset) => write!(f, "byte {offset}"),
            InputPlace::Row(row) => write!(f, "row {row}"),
            InputPlace::Record(number) => write!(f, "record {number}"),
        }
    }
}

/// An error with its causes, on one line.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}
