//! Why a recipe cannot be followed.

use std::path::PathBuf;

use fpstore_base::{InputPlace, IoError};

use crate::resources::ResourceId;

/// The result of everything that can fail here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a recipe cannot be followed, or one of its lists and tables cannot be read.
///
/// Messages are one line and show their own layer; the cause, where there is one, is in
/// [`source`](std::error::Error::source).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused an operation.
    #[error(transparent)]
    Io(#[from] IoError),
    /// A line of a list is bad.
    #[error("{name}: {place}: {reason}")]
    BadInput {
        /// The name of the input.
        name: String,
        /// The place in the input.
        place: InputPlace,
        /// What is wrong and what was expected.
        reason: String,
    },
    /// The text of a recipe has a line that this release cannot follow.
    #[error("recipe cannot be followed: {reason}")]
    InvalidRecipe {
        /// What is wrong and what was expected.
        reason: String,
    },
    /// The fingerprints of a store were made elsewhere, so texts cannot be compared with them.
    #[error(
        "the store was built from ready fingerprints (recipe 'external'): give fingerprints from the \
         same source instead"
    )]
    ExternalRecipe,
    /// A part of a recipe is to be changed that this recipe does not have.
    #[error("{part} has no meaning with {with}")]
    UselessChange {
        /// The field of [`RecipeChanges`](crate::RecipeChanges).
        part: &'static str,
        /// The other part of the recipe, with which it has no meaning.
        with: String,
    },
    /// A recipe, tokenizer, rule, hash, language or list of this name does not exist.
    #[error("there is no {kind} '{name}', expected {expected}")]
    UnknownName {
        /// The kind of the thing, such as `recipe`.
        kind: &'static str,
        /// The name that was given.
        name: String,
        /// The names that exist.
        expected: String,
    },
    /// A text is not the key of a hash: 32 hex digits.
    #[error("'{text}' is not a hash key, expected 32 hex digits")]
    InvalidHashKey {
        /// The text.
        text: String,
    },
    /// A text that is to be compared has no features.
    #[error("text {number} has no features, so it has no fingerprint")]
    NoFeatures {
        /// The text, from 1.
        number: usize,
    },
    /// A recipe names a list or table that was not given, or another one was given.
    #[error(
        "the recipe needs the {kind} {expected} (checksum and count), {}",
        found.map_or("none was given".into(), |found| format!("not {found}"))
    )]
    WrongResource {
        /// The kind of list or table.
        kind: &'static str,
        /// The one that the recipe names.
        expected: ResourceId,
        /// The one that was given.
        found: Option<ResourceId>,
    },
    /// A table of document frequencies was counted on other features than the recipe makes.
    #[error("the table of document frequencies was made with {table}, the recipe has {recipe}")]
    WrongFeatures {
        /// The first line of the recipe that the table was made with and that differs.
        table: String,
        /// The first line of the given recipe that differs.
        recipe: String,
    },
    /// A file of document frequencies breaks a rule of its format.
    #[error(
        "{}: table of document frequencies is damaged at byte {offset:#x}: {detail} (D-{rule})",
        path.display()
    )]
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
}
