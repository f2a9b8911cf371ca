//! Errors that stores and texts have in common. Each package above builds its own error type on
//! them.

use std::path::{Path, PathBuf};
use std::{fmt, io};

/// The operating system refused an operation.
#[derive(Debug)]
pub struct IoError {
    /// The operation: completes the words "cannot ...", such as `open`.
    pub doing: &'static str,
    /// The file or directory; in a server also an address or a thread.
    pub path: PathBuf,
    /// The system's error.
    pub source: io::Error,
}

impl IoError {
    /// Completes an [`io::Error`] with the file and the operation, for `map_err`.
    pub fn of(doing: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> IoError {
        move |source| IoError { doing, path: path.as_ref().to_path_buf(), source }
    }

    /// Explains the system's error, with a remedy, if the system's own message is unclear: full
    /// disks, and limits on open files. Messages of this error include the explanation.
    pub fn plain_cause(&self) -> Option<&'static str> {
        plain_cause(&self.source)
    }
}

impl fmt::Display for IoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {} {}", self.doing, self.path.display())?;
        match plain_cause(&self.source) {
            Some(cause) => write!(f, ": {cause}"),
            None => Ok(()),
        }
    }
}

/// The error code `EMFILE`, equal on all Unix systems: the process has too many open files.
#[cfg(unix)]
const PROCESS_FILES: i32 = 24;
/// The error code `ENFILE`, equal on all Unix systems: the system has too many open files.
#[cfg(unix)]
const SYSTEM_FILES: i32 = 23;

/// Explains an error of the system, with a remedy, if the system's own message is unclear. The
/// message of an [`IoError`] includes the explanation.
pub fn plain_cause(error: &io::Error) -> Option<&'static str> {
    let error = innermost(error);
    #[cfg(unix)]
    match error.raw_os_error() {
        Some(PROCESS_FILES) => {
            return Some(
                "this process has as many open files as it may have; 'ulimit -n NUMBER' allows \
                 more",
            );
        }
        Some(SYSTEM_FILES) => {
            return Some(
                "this machine has as many open files as it may have; end other programs, or raise \
                 the limit (fs.file-max)",
            );
        }
        _ => {}
    }
    match error.kind() {
        io::ErrorKind::StorageFull => Some("the disk is full; free some space"),
        io::ErrorKind::QuotaExceeded => {
            Some("the quota of this user is used up; free some space, or have it raised")
        }
        io::ErrorKind::FileTooLarge => Some(
            "the limit on the length of files is reached; 'ulimit -f unlimited' removes it, unless \
             the file system sets it",
        ),
        io::ErrorKind::ReadOnlyFilesystem => {
            Some("the file system is read-only; mount it for writing, or name another place")
        }
        _ => None,
    }
}

/// The innermost error, which the system returned, if libraries have added text around it.
pub fn innermost(error: &io::Error) -> &io::Error {
    let mut found = error;
    let mut cause = error.get_ref().map(|inner| inner as &(dyn std::error::Error + 'static));
    while let Some(inner) = cause {
        cause = match inner.downcast_ref::<io::Error>() {
            Some(inner) => {
                found = inner;
                inner.get_ref().map(|within| within as &(dyn std::error::Error + 'static))
            }
            None => inner.source(),
        };
    }
    found
}

impl std::error::Error for IoError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// The error of work that the observer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted;

impl Interrupted {
    /// Whether waiting for input or output failed because the work was interrupted.
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

/// The position of a bad record in an input.
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

/// The message of an error and the messages of its causes, on one line.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Named(io::Error);

    impl fmt::Display for Named {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("named")
        }
    }

    impl std::error::Error for Named {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(&self.0)
        }
    }

    /// An error to which a name was added, as libraries do: only its cause contains the system's
    /// code.
    fn named(error: io::Error) -> io::Error {
        io::Error::new(error.kind(), Named(error))
    }

    #[test]
    fn limits_and_full_disks_are_told_in_plain_words_with_what_helps() {
        for (code, words) in [
            (24, "'ulimit -n NUMBER'"),
            (23, "fs.file-max"),
            (28, "the disk is full"),
            (122, "quota"),
            (27, "'ulimit -f unlimited'"),
            (30, "read-only"),
        ] {
            let bare = || io::Error::from_raw_os_error(code);
            for source in [bare(), named(bare()), io::Error::other(named(bare()))] {
                assert_eq!(innermost(&source).raw_os_error(), Some(code));
                let text = chain(&IoError { doing: "open", path: "a.fps".into(), source });
                assert!(text.starts_with("cannot open a.fps: "), "{text}");
                assert!(text.contains(words), "{text}");
            }
        }
        let missing = IoError::of("open", "a.fps")(io::Error::from_raw_os_error(2));
        assert_eq!(missing.to_string(), "cannot open a.fps");
    }
}
