//! The recipe, which decides the fingerprint of a text: its parts, and the named recipes.
//!
//! Callers choose a recipe by name, or build one, and give it to
//! [`TextHasher`](crate::TextHasher). A store keeps the canonical text of the recipe (`spelling`).
//! A recipe never holds a list or a table; it names them by [`ResourceId`](crate::ResourceId). The
//! meaning of a recipe text never changes: a change of any rule needs a new line or a new version.

mod changes;
mod hash_names;
mod named;
mod parts;
mod spelling;
mod text_recipe;

pub use changes::RecipeChanges;
pub use parts::{Case, Factor, FeaturelessText, Method, Tokenizer, VoteRules};
pub use text_recipe::TextRecipe;
