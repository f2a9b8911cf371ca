//! Classes and functions for texts: recipes, fingerprints, pairs of similar texts, evaluation.

mod confirm;
mod df_counting;
mod df_table;
mod evaluation;
mod hashing;
mod options;
mod recipe;
mod stored;

pub(crate) use confirm::{Looked, confirmed, looked_at, looked_at_all};
pub(crate) use df_table::{_df_table_of, DfTable};
pub(crate) use evaluation::{Evaluation, evaluate};
pub(crate) use hashing::of_all;
pub(crate) use recipe::{_recipe_of, Recipe, hasher_of, recipe_object, recipe_text_of};
