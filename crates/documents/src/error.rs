//! The error type of this crate.

use fpstore_base::{InputPlace, Interrupted, IoError};

/// The result of all fallible functions of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why documents cannot be read.
///
/// Messages are one line and describe their own layer only; the cause, if there is one, is in
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
        /// The fault, and the expected input.
        reason: String,
    },
    /// A whole file is bad: a table without the expected columns, or a broken format.
    #[error("{name}: {}", shown(reason))]
    BadFile {
        /// The name of the input.
        name: String,
        /// The fault, and the expected input.
        reason: String,
    },
    /// A file has changed since it was read.
    #[error("{name}: {}", shown(reason))]
    Changed {
        /// The name of the input.
        name: String,
        /// The difference, and the remedy.
        reason: String,
    },
    /// The caller does not name the fields of ids and texts, and they cannot be guessed; nothing
    /// was read.
    #[error("{name}: {}", shown(reason))]
    UnclearFields {
        /// The name of the input.
        name: String,
        /// A description of the ambiguity.
        reason: String,
        /// The most likely fields.
        likely: Box<LikelyFields>,
    },
    /// The inputs cannot be read together.
    #[error("{reason}")]
    InvalidInputs {
        /// The fault, and the remedy.
        reason: String,
    },
    /// A pattern of file names is invalid.
    #[error("'{glob}' is not a pattern of file names: {reason}")]
    InvalidGlob {
        /// The invalid pattern.
        glob: String,
        /// The violated rule of the syntax of patterns.
        reason: String,
    },
    /// The observer ended the work.
    #[error("interrupted")]
    Interrupted,
    /// The encoding is unknown.
    #[error("there is no encoding '{name}'; try gbk, big5, detect")]
    UnknownEncoding {
        /// The unknown name.
        name: String,
    },
    /// This build cannot read the format of an input.
    #[error("{name} is {format}, which needs the cargo feature '{feature}'")]
    UnknownFormat {
        /// The name of the input.
        name: String,
        /// The format of the input.
        format: &'static str,
        /// The cargo feature that enables the format.
        feature: &'static str,
    },
    /// An input contains features but the recipe is for texts, or texts but the recipe is for
    /// features.
    #[error("{}", wrong_content(name, *holds_features))]
    WrongContent {
        /// The name of the input.
        name: String,
        /// Whether the input contains features.
        holds_features: bool,
    },
}

/// The most likely fields, proposed if the caller names none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LikelyFields {
    /// The field of the ids, if it is not the default one.
    pub id_field: Option<String>,
    /// Whether no field can contain ids, so that only line numbers remain.
    pub line_ids: bool,
    /// The field of the texts, if it is not the default one.
    pub text_field: Option<String>,
    /// The field of fingerprints, if there is such a field and no field of texts.
    pub fingerprint_field: Option<String>,
    /// The number base of fingerprints, if it is ambiguous.
    pub radix: Option<fpstore_base::Radix>,
}

impl Error {
    /// Whether the error concerns a single file, so that other files can be read or copied.
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

/// The maximum length of a displayed reason. Some reasons quote the input, which may be a whole
/// book.
const REASON_LEN_MAX: usize = 400;

/// A reason, truncated to [`REASON_LEN_MAX`] bytes.
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
