//! The error type of all store operations, and the faults found in the bytes of files.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use crate::base::section::Section;
use fpstore_base::{Fingerprint, Interrupted, ParseFingerprintError, Radix, Recipe, Width};
pub use fpstore_base::{InputPlace, IoError};

const MIB: f64 = 1024.0 * 1024.0;

/// The result of an operation on stores.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why a store could not be made, changed, opened or searched.
///
/// A message is one line and describes this error only; its cause, if any, is in
/// [`source`](std::error::Error::source).
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A call to the operating system failed.
    Io(IoError),
    /// There is no store at this path.
    NoStore {
        /// The given path.
        path: PathBuf,
    },
    /// The file or directory at this path is not a store; nothing is changed.
    NotAStore {
        /// The given path.
        path: PathBuf,
        /// The thing found at the path, such as `a file, not a directory`.
        found: &'static str,
    },
    /// A store already exists at this path.
    StoreExists {
        /// The given path.
        path: PathBuf,
    },
    /// Another process is writing to the store.
    Locked {
        /// The path of the store.
        path: PathBuf,
        /// The id of the other process, if known.
        process: Option<u32>,
    },
    /// Another process is merging segments of the store.
    Compacting {
        /// The path of the store.
        path: PathBuf,
        /// The id of the other process, if known.
        process: Option<u32>,
    },
    /// The store is a follower, a copy of another store: only the copying process may change it,
    /// until `writer::promote` is called.
    Follower {
        /// The path of the store.
        path: PathBuf,
        /// The followed store: the address of its server, or its path.
        followed: String,
    },
    /// The store was moved, removed or replaced while this process was writing to it. Nothing was
    /// written to the files that are now at the path.
    Replaced {
        /// The path of the store.
        path: PathBuf,
    },
    /// The format version of a file is outside the range that this release reads.
    UnsupportedVersion {
        /// The path of the file.
        path: PathBuf,
        /// The version in the file.
        found: u16,
        /// The oldest version that this release reads.
        oldest: u16,
        /// The newest version that this release reads.
        newest: u16,
    },
    /// The bytes at `offset` of a file break a rule of format-spec.md.
    Corrupt {
        /// The path of the file.
        path: PathBuf,
        /// The part of the file.
        section: Section,
        /// The number of bytes from the start of the file.
        offset: u64,
        /// The broken rule, with details.
        fault: Fault,
    },
    /// The given fingerprints and the store have different recipes, so they cannot be compared.
    RecipeMismatch {
        /// The recipe of the store.
        store: Recipe,
        /// The recipe of the given fingerprints.
        given: Recipe,
    },
    /// It is unclear which columns of an input to read. No record was read.
    UnclearInput {
        /// The name of the input.
        name: String,
        /// The reason why it is unclear, and the expected form of an input.
        reason: String,
        /// The most likely fingerprint column, counted from 1.
        fingerprint_column: Option<usize>,
        /// The most likely id column, counted from 1.
        id_column: Option<usize>,
        /// The most likely radix of the fingerprints, unless it is hexadecimal beyond doubt.
        radix: Option<Radix>,
        /// The most likely width of the fingerprints, unless it is 64 bits.
        width: Option<Width>,
    },
    /// The distance is above 64.
    InvalidDistance {
        /// The given distance.
        k: u32,
    },
    /// The scheme cannot be used, for example because its name is unknown.
    InvalidScheme {
        /// The invalid name, mask or distance, and the allowed values.
        reason: String,
    },
    /// No query plan is possible.
    InvalidPlan {
        /// The invalid part of the request, and the values it may have.
        reason: String,
    },
    /// The id cannot be stored in this store.
    InvalidId {
        /// The reason: the length, the characters or the kind of the id.
        reason: String,
    },
    /// The store does not have the requested generation.
    OtherGeneration {
        /// The path of the store.
        path: PathBuf,
        /// The current generation of the store.
        found: u64,
        /// The requested generation.
        wanted: u64,
    },
    /// An option, or a combination of options, is invalid.
    InvalidOptions {
        /// The whole message: the invalid option, and the allowed values.
        reason: String,
    },
    /// A disk has less free space than the work needs.
    NoSpace {
        /// A directory on that disk.
        path: PathBuf,
        /// The number of bytes needed.
        needed: u64,
        /// The number of free bytes.
        free: u64,
    },
    /// A change took effect before an error occurred: readers already see the change, and repeating
    /// it would apply it twice. After a disk error, a loss of power may undo the change.
    InEffect {
        /// The generation of the store after the change.
        generation: u64,
        /// The error that occurred after the change.
        source: Box<Error>,
    },
    /// The last file operation of a change failed, and afterwards the store could not be read, so
    /// it is unknown whether the change took effect. Either all of it took effect or nothing.
    InDoubt {
        /// The error of that file operation.
        source: Box<Error>,
    },
    /// The records were added and are durable, but the following merge of segments failed.
    Unmerged {
        /// The error of the merge.
        source: Box<Error>,
    },
    /// The observer ended the work.
    Interrupted,
    /// A text is not a fingerprint.
    InvalidFingerprint(ParseFingerprintError),
    /// A fingerprint has a bit above the width of the store.
    TooWide {
        /// The given fingerprint.
        fingerprint: Fingerprint,
        /// The width of the fingerprints of the store.
        width: Width,
    },
    /// The operation would exceed a limit of the format.
    TooLarge {
        /// The whole message: the quantity that would be too large, and the limit.
        reason: String,
    },
    /// More pairs of near-duplicates were found than allowed.
    TooManyPairs {
        /// The allowed number of pairs.
        most: u64,
    },
    /// A bad record in the input.
    BadInput {
        /// The name of the input.
        name: String,
        /// The position in the input.
        place: InputPlace,
        /// The fault of the record, and the expected form of a record.
        reason: String,
    },
}

/// A fault found in the bytes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The stored CRC-32 differs from the CRC-32 of the bytes.
    Checksum {
        /// The CRC-32 of the bytes in the file.
        found: u32,
        /// The stored CRC-32.
        expected: u32,
    },
    /// There are fewer bytes than needed.
    Truncated {
        /// The number of bytes needed.
        needed: u64,
        /// The number of bytes present.
        found: u64,
    },
    /// A numbered rule of format-spec.md is broken.
    Rule {
        /// The number of the rule.
        rule: u8,
        /// The value in the file, and the values that the rule allows.
        detail: String,
    },
}

impl Fault {
    pub(crate) fn rule(rule: u8, detail: impl Into<String>) -> Self {
        Fault::Rule { rule, detail: detail.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Checksum { found, expected } => {
                write!(f, "checksum {found:08x}, expected {expected:08x}")
            }
            Fault::Truncated { needed, found } => {
                write!(f, "{needed} bytes are needed, but {found} are left")
            }
            Fault::Rule { rule, detail } => write!(f, "{detail} (R-{rule})"),
        }
    }
}

impl Error {
    pub(crate) fn io(
        doing: &'static str,
        path: impl AsRef<Path>,
    ) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::Io(IoError::of(doing, path)(source))
    }

    /// The bytes at `offset` of a file break a rule.
    pub(crate) fn corrupt(
        path: impl Into<PathBuf>,
        section: Section,
        offset: u64,
        fault: Fault,
    ) -> Error {
        Error::Corrupt { path: path.into(), section, offset, fault }
    }

    /// Wraps an error that occurred after a change took effect as `generation`.
    #[cfg(feature = "write")]
    pub(crate) fn in_effect(generation: u64) -> impl FnOnce(Error) -> Error {
        move |source| Error::InEffect { generation, source: Box::new(source) }
    }
}

/// Checks that a distance is at most 64.
pub(crate) fn check_distance(k: u32) -> Result<()> {
    if k > 64 { Err(Error::InvalidDistance { k }) } else { Ok(()) }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io(refused) => refused.fmt(f),
            Error::NoStore { path } => write!(f, "there is no store at {}", path.display()),
            Error::NotAStore { path, found } => {
                write!(f, "{} is not a store: {found}", path.display())
            }
            Error::StoreExists { path } => {
                write!(f, "there is a store at {} already", path.display())
            }
            Error::Locked { path, process } => {
                write!(f, "{} is writing to {}", holder(*process), path.display())
            }
            Error::Compacting { path, process } => {
                write!(f, "{} is compacting {}", holder(*process), path.display())
            }
            Error::Follower { path, followed } => {
                write!(f, "{} follows {followed}, and changes only with it", path.display())
            }
            Error::Replaced { path } => write!(
                f,
                "the store at {} was moved or replaced while this process was writing to it; move \
                 it back, or run the command again on the store that is there now",
                path.display()
            ),
            Error::UnsupportedVersion { path, found, oldest, newest } => write!(
                f,
                "{} has format version {found}, fpstore {} reads {}; {}",
                path.display(),
                env!("CARGO_PKG_VERSION"),
                versions(*oldest, *newest),
                remedy_of_version(*found, *newest)
            ),
            Error::Corrupt { path, section, offset, fault } => {
                write!(f, "{}: {section} is corrupt at byte {offset:#x}: {fault}", path.display())
            }
            Error::RecipeMismatch { store, given } => {
                write!(f, "recipes differ: {}", store.difference(given))
            }
            Error::InvalidDistance { k } => write!(f, "distance is {k}, expected 0 to 64"),
            Error::InvalidScheme { reason } => write!(f, "scheme cannot be used: {reason}"),
            Error::InvalidPlan { reason } => write!(f, "cannot plan: {reason}"),
            Error::InvalidId { reason } => write!(f, "id cannot be stored: {reason}"),
            Error::OtherGeneration { path, found, wanted } => write!(
                f,
                "{} is at generation {found}, not {wanted}; a store keeps only its newest \
                 generation, so open a copy of the older one",
                path.display()
            ),
            Error::InvalidOptions { reason } => f.write_str(reason),
            Error::NoSpace { path, needed, free } => write!(
                f,
                "about {:.1} MiB are needed in {}, {:.1} MiB are free",
                *needed as f64 / MIB,
                path.display(),
                *free as f64 / MIB
            ),
            Error::InEffect { generation, .. } => {
                write!(
                    f,
                    "the change took effect (generation {generation}), and then there was an error"
                )
            }
            Error::InDoubt { .. } => f.write_str("the change may or may not have taken effect"),
            Error::Unmerged { .. } => {
                f.write_str("the records are added, but merging segments failed")
            }
            Error::Interrupted => f.write_str("interrupted"),
            Error::InvalidFingerprint(fault) => fault.fmt(f),
            Error::TooWide { fingerprint, width } => write!(
                f,
                "{fingerprint} has more than {width} bits, the width of the fingerprints of the store"
            ),
            Error::TooLarge { reason } => f.write_str(reason),
            Error::TooManyPairs { most } => write!(f, "there are more than {most} near pairs"),
            Error::BadInput { name, place, reason } => write!(f, "{name}: {place}: {reason}"),
            Error::UnclearInput { name, reason, .. } => write!(f, "{name}: {reason}"),
        }
    }
}

/// Describes the process that holds a lock, for messages.
fn holder(process: Option<u32>) -> String {
    process.map_or_else(|| "another process".into(), |process| format!("process {process}"))
}

/// Describes the readable format versions, for messages.
fn versions(oldest: u16, newest: u16) -> String {
    match oldest == newest {
        true => format!("version {oldest}"),
        false => format!("versions {oldest} to {newest}"),
    }
}

/// Advice for a file with an unsupported format version.
fn remedy_of_version(found: u16, newest: u16) -> &'static str {
    match found > newest {
        true => "a newer fpstore wrote it and reads it, or the file is damaged",
        false => {
            "write its records with the fpstore that made it ('fpstore dump'), and build a new \
             store from them or from the original input ('fpstore build')"
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io(refused) => refused.source(),
            Error::InEffect { source, .. }
            | Error::InDoubt { source }
            | Error::Unmerged { source } => Some(source.as_ref()),
            _ => None,
        }
    }
}

impl From<ParseFingerprintError> for Error {
    fn from(fault: ParseFingerprintError) -> Self {
        Error::InvalidFingerprint(fault)
    }
}

impl From<IoError> for Error {
    fn from(error: IoError) -> Self {
        if Interrupted::is_in(&error.source) {
            return Error::Interrupted;
        }
        Error::Io(error)
    }
}

impl From<Interrupted> for Error {
    fn from(_: Interrupted) -> Self {
        Error::Interrupted
    }
}
