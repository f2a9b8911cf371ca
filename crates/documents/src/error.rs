//! Why documents cannot be read.

use fpstore_base::{InputPlace, Interrupted, IoError};

/// The result of everything that can fail here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why documents cannot be read.
///
/// Messages are one line and show their own layer; the cause, where there is one, is in
/// [`source`](std::error::Error::source).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused an operation.
    #[error(transparent)]
    Io(IoError),
    /// A record of an input is bad.
    #[error("{name}: {place}: {}", shown(reason))]
    BadInput {
        /// The name of the input.
        name: String,
        /// The place in the input.
        place: InputPlace,
        /// What is wrong and what was expected.
        reason: String,
    },
    /// A file as a whole is bad: a table without the columns, a format that is broken.
    #[error("{name}: {}", shown(reason))]
    BadFile {
        /// The name of the input.
        name: String,
        /// What is wrong and what was expected.
        reason: String,
    },
    /// A file is not what it was when it was read.
    #[error("{name}: {}", shown(reason))]
    Changed {
        /// The name of the input.
        name: String,
        /// What differs, and what helps.
        reason: String,
    },
    /// The fields of ids and texts are not named and cannot be told; nothing was read.
    #[error("{name}: {}", shown(reason))]
    UnclearFields {
        /// The name of the input.
        name: String,
        /// What is not clear.
        reason: String,
        /// What is most likely meant.
        likely: Box<LikelyFields>,
    },
    /// The inputs cannot be read together.
    #[error("{reason}")]
    InvalidInputs {
        /// What is wrong and what helps.
        reason: String,
    },
    /// A pattern of file names breaks the rules of such patterns.
    #[error("'{glob}' is no pattern of file names: {reason}")]
    InvalidGlob {
        /// The pattern.
        glob: String,
        /// The rule.
        reason: String,
    },
    /// The observer ended the work.
    #[error("interrupted")]
    Interrupted,
    /// There is no encoding of this name.
    #[error("there is no encoding '{name}'; try gbk, big5, detect")]
    UnknownEncoding {
        /// The name.
        name: String,
    },
    /// An input is in a format that this build cannot read.
    #[error("{name} is {format}, which needs the cargo feature '{feature}'")]
    UnknownFormat {
        /// The name of the input.
        name: String,
        /// The format.
        format: &'static str,
        /// The cargo feature that reads it.
        feature: &'static str,
    },
    /// An input holds features and the recipe is for texts, or the other way round.
    #[error("{}", wrong_content(name, *holds_features))]
    WrongContent {
        /// The name of the input.
        name: String,
        /// Whether the input holds features.
        holds_features: bool,
    },
}

/// The fields that are most likely meant where none are named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LikelyFields {
    /// The field of the ids, if that is not the usual one.
    pub id_field: Option<String>,
    /// Whether no field can hold ids, so that numbers of lines are left.
    pub line_ids: bool,
    /// The field of the texts, if that is not the usual one.
    pub text_field: Option<String>,
    /// The field of fingerprints, if there is one and no text.
    pub fingerprint_field: Option<String>,
    /// The spelling of fingerprints, if it is in doubt.
    pub radix: Option<fpstore_base::Radix>,
}

impl Error {
    /// Whether the error is of one file, so that others can be read or copied.
    pub fn is_of_file(&self) -> bool {
        matches!(
            self,
            Error::Io { .. }
                | Error::BadFile { .. }
                | Error::BadInput { .. }
                | Error::Changed { .. }
        )
    }
}

/// The most bytes of a reason that are shown: some quote what was found, which may be a whole book.
const REASON_LEN_MAX: usize = 400;

/// A reason, cut after some hundred bytes.
pub(super) fn shown(reason: &str) -> std::borrow::Cow<'_, str> {
    if reason.len() <= REASON_LEN_MAX {
        return reason.into();
    }
    let end = reason.floor_char_boundary(REASON_LEN_MAX);
    format!("{} ... ({} bytes)", &reason[..end], reason.len()).into()
}

fn wrong_content(name: &str, holds_features: bool) -> String {
    match holds_features {
        true => format!("the recipe is for texts; {name} holds features made elsewhere"),
        false => format!("the recipe is for features made elsewhere; {name} holds texts"),
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
