//! Texts: recipes, fingerprints, confirmed pairs, and how well a recipe works.

mod confirm;
mod evaluation;
mod hashing;
mod options;
mod recipe;

pub(crate) use confirm::looked_at;
pub(crate) use evaluation::{Evaluation, evaluate};
pub(crate) use hashing::of_all;
pub(crate) use recipe::{_recipe_of, Recipe, hasher_of, recipe_text_of};
