//! Why a recipe cannot be followed or a document cannot be read.

use std::fmt;
use std::io;
use std::path::PathBuf;

use fpstore_base::{InputPlace, Interrupted, IoError};

use crate::recipe::ResourceId;

/// The result of everything that can fail here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a recipe cannot be followed or a document cannot be read.
///
/// Messages are one line and show their own layer; the cause, where there is one, is in
/// [`source`](std::error::Error::source).
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused. `doing` completes the words "cannot ...".
    Io {
        /// The act that failed.
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The answer of the system.
        source: io::Error,
    },
    /// A record of an input is bad.
    BadInput {
        /// The name of the input.
        name: String,
        /// The place in the input.
        place: InputPlace,
        /// What is wrong and what was expected.
        reason: String,
    },
    /// A file as a whole is bad: a table without the columns, a format that is broken.
    BadFile {
        /// The name of the input.
        name: String,
        /// What is wrong and what was expected.
        reason: String,
    },
    /// The inputs cannot be read together.
    InvalidInputs {
        /// What is wrong and what helps.
        reason: String,
    },
    /// A pattern of file names breaks the rules of such patterns.
    InvalidGlob {
        /// The pattern.
        glob: String,
        /// The rule.
        reason: String,
    },
    /// The observer ended the work.
    Interrupted,
    /// The text of a recipe has a line that this release cannot follow.
    InvalidRecipe {
        /// What is wrong and what was expected.
        reason: String,
    },
    /// A recipe, tokenizer, rule, hash, language or list of this name does not exist.
    UnknownName {
        /// The kind of the thing, such as `recipe`.
        kind: &'static str,
        /// The name that was given.
        name: String,
        /// The names that exist.
        expected: String,
    },
    /// A text is not the key of a hash: 32 hex digits.
    InvalidHashKey {
        /// The text.
        text: String,
    },
    /// A recipe names a list or table that was not given, or another one was given.
    WrongResource {
        /// The kind of list or table.
        kind: &'static str,
        /// The one that the recipe names.
        expected: ResourceId,
        /// The one that was given.
        found: Option<ResourceId>,
    },
    /// A table of document frequencies was counted on other features than the recipe makes.
    WrongFeatures {
        /// The first line of the recipe that the table was made with and that differs.
        table: String,
        /// The first line of the given recipe that differs.
        recipe: String,
    },
    /// A file of document frequencies breaks a rule of its format.
    DamagedTable {
        /// The file.
        path: PathBuf,
        /// Bytes from the start of the file.
        offset: u64,
        /// The number of the rule: 2 for D-2.
        rule: u8,
        /// What was found and what was expected.
        detail: String,
    },
    /// There is no encoding of this name.
    UnknownEncoding {
        /// The name.
        name: String,
    },
    /// An input is in a format that this build cannot read.
    UnknownFormat {
        /// The name of the input.
        name: String,
        /// The format.
        format: &'static str,
        /// The cargo feature that reads it.
        feature: &'static str,
    },
    /// An input holds features and the recipe is for texts, or the other way round.
    WrongContent {
        /// The name of the input.
        name: String,
        /// Whether the input holds features.
        holds_features: bool,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io { doing, path, .. } => write!(f, "cannot {doing} {}", path.display()),
            Error::BadInput { name, place, reason } => write!(f, "{name}: {place}: {reason}"),
            Error::BadFile { name, reason } => write!(f, "{name}: {reason}"),
            Error::InvalidInputs { reason } => f.write_str(reason),
            Error::InvalidGlob { glob, reason } => {
                write!(f, "'{glob}' is no pattern of file names: {reason}")
            }
            Error::Interrupted => f.write_str("interrupted"),
            Error::InvalidRecipe { reason } => write!(f, "recipe cannot be followed: {reason}"),
            Error::UnknownName { kind, name, expected } => {
                write!(f, "there is no {kind} '{name}', expected {expected}")
            }
            Error::InvalidHashKey { text } => {
                write!(f, "'{text}' is not a hash key, expected 32 hex digits")
            }
            Error::WrongResource { kind, expected, found } => {
                write!(f, "the recipe needs the {kind} {expected} (checksum and count), ")?;
                match found {
                    Some(found) => write!(f, "not {found}"),
                    None => f.write_str("none was given"),
                }
            }
            Error::WrongFeatures { table, recipe } => write!(
                f,
                "the table of document frequencies was made with {table}, the recipe has {recipe}"
            ),
            Error::DamagedTable { path, offset, rule, detail } => write!(
                f,
                "{}: table of document frequencies is damaged at byte {offset:#x}: \
                 {detail} (D-{rule})",
                path.display()
            ),
            Error::UnknownEncoding { name } => {
                write!(f, "there is no encoding '{name}'; try gbk, big5, detect")
            }
            Error::UnknownFormat { name, format, feature } => {
                write!(f, "{name} is {format}, which needs the cargo feature '{feature}'")
            }
            Error::WrongContent { name, holds_features: true } => {
                write!(f, "the recipe is for texts; {name} holds features made elsewhere")
            }
            Error::WrongContent { name, holds_features: false } => {
                write!(f, "the recipe is for features made elsewhere; {name} holds texts")
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl From<IoError> for Error {
    fn from(error: IoError) -> Self {
        let IoError { doing, path, source } = error;
        if Interrupted::is_in(&source) {
            return Error::Interrupted;
        }
        Error::Io { doing, path, source }
    }
}

impl From<Interrupted> for Error {
    fn from(_: Interrupted) -> Self {
        Error::Interrupted
    }
}
