//! The recipe, which determines the fingerprint of a text: its parts, and the named recipes.
//!
//! Callers select a recipe by name, or build one, and pass it to [`TextHasher`](crate::TextHasher).
//! A store contains the canonical text of the recipe (`spelling`). A recipe contains no lists or
//! tables, only their [`ResourceId`](crate::ResourceId)s. The meaning of a recipe text never
//! changes: a change of any rule needs a new line or a new version.

mod changes;
mod hash_names;
mod name_tables;
mod named;
mod parts;
mod spelling;
mod text_recipe;

pub use changes::RecipeChanges;
pub use parts::{Case, Factor, FeaturelessText, Method, Tokenizer, VoteRules};
pub use text_recipe::TextRecipe;
