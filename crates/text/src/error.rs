//! The error of recipes, lists and tables.

use std::path::PathBuf;

use fpstore_base::{InputPlace, IoError};

use crate::resource_id::ResourceId;

/// The result of all fallible functions of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why a recipe cannot be followed, or one of its lists and tables cannot be read.
///
/// Messages are one line and describe their own layer only; the cause, if there is one, is in
/// [`source`](std::error::Error::source).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused an operation.
    #[error(transparent)]
    Io(#[from] IoError),
    /// A line of a list is invalid.
    #[error("{name}: {place}: {reason}")]
    BadInput {
        /// The name of the input.
        name: String,
        /// The place in the input.
        place: InputPlace,
        /// The fault, and the expected input.
        reason: String,
    },
    /// The text of a recipe contains a line that this release cannot follow.
    #[error("invalid recipe: {reason}")]
    InvalidRecipe {
        /// The fault, and the expected input.
        reason: String,
    },
    /// The fingerprints of a store were made elsewhere, so texts cannot be compared with them.
    #[error(
        "the store was built from ready fingerprints (recipe 'external'): give fingerprints from the \
         same source instead"
    )]
    ExternalRecipe,
    /// A change was requested of a part that this recipe does not have.
    #[error("{part} has no meaning with {with}")]
    UselessChange {
        /// The field of [`RecipeChanges`](crate::RecipeChanges).
        part: &'static str,
        /// The part of the recipe with which the change has no meaning.
        with: String,
    },
    /// A recipe, tokenizer, rule, hash, language or list of this name does not exist.
    #[error("there is no {kind} '{name}', expected {expected}")]
    UnknownName {
        /// The kind of the thing, such as `recipe`.
        kind: &'static str,
        /// The given name.
        name: String,
        /// The existing names.
        expected: String,
    },
    /// A text is not the key of a hash: 32 hex digits.
    #[error("'{text}' is not a hash key, expected 32 hex digits")]
    InvalidHashKey {
        /// The text.
        text: String,
    },
    /// A compared text has no features.
    #[error("text {number} has no features, so it has no fingerprint")]
    NoFeatures {
        /// The number of the text: 1 or 2.
        number: usize,
    },
    /// A list or table of the recipe is missing, or another one was given.
    #[error(
        "the recipe needs the {kind} {expected} (checksum and count), {}",
        found.map_or("none was given".into(), |found| format!("not {found}"))
    )]
    WrongResource {
        /// The kind of list or table.
        kind: &'static str,
        /// The id in the recipe.
        expected: ResourceId,
        /// The id of the given list or table.
        found: Option<ResourceId>,
    },
    /// A table of document frequencies was counted on features of another recipe.
    #[error("the table of document frequencies was made with {table}, the recipe has {recipe}")]
    WrongFeatures {
        /// The first differing line of the recipe of the table.
        table: String,
        /// The first differing line of the given recipe.
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
        /// The number of the violated rule: 2 for D-2.
        rule: u8,
        /// The found and the expected value.
        detail: String,
    },
}
