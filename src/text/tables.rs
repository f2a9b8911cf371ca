//! What is looked up while a text is worked on, checked against the recipe that names it.

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::text::df::DfTable;
use crate::text::recipe::{Factor, Mark, TextRecipe, invalid};
use crate::text::resources::{GivenWeights, TextResources};
use crate::text::stop_words::StopWords;
use crate::text::weight::Weight;

/// The lists and tables of a recipe.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    pub(crate) stop_words: Option<StopWords>,
    factor: FactorTable,
}

#[derive(Debug, Default)]
enum FactorTable {
    #[default]
    None,
    Idf(DfTable),
    Given(HashMap<u64, u8>),
}

impl Tables {
    /// Those of `resources` that the recipe names.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRecipe`](crate::Error::InvalidRecipe) if one is missing or is not the one that the recipe names.
    pub(crate) fn new(recipe: &TextRecipe, resources: TextResources) -> Result<Self> {
        let stop_words = match (recipe.stop_words, resources.stop_words) {
            (None, _) => None,
            (Some(mark), Some(list)) if list.mark() == mark => Some(list),
            (Some(mark), Some(other)) => return Err(wrong_list(mark, &other.mark().to_string())),
            (Some(mark), None) => match StopWords::with_mark(mark) {
                None => return Err(wrong_list(mark, "none was given")),
                list => list,
            },
        };
        let factor = factor_table(recipe, resources.df_table, resources.weights)?;
        Ok(Tables { stop_words, factor })
    }

    /// The weight of a feature whose count is worth `weight`.
    pub(crate) fn weigh(&self, weight: Weight, hash: u64) -> Weight {
        match &self.factor {
            FactorTable::None => weight,
            FactorTable::Idf(table) => weight.times(table.idf(hash)),
            FactorTable::Given(weights) => {
                let given = weights.get(&hash).copied().unwrap_or(1);
                weight.times(Weight::whole(given.into()))
            }
        }
    }
}

fn wrong_list(mark: Mark, found: &str) -> Error {
    invalid(format!("it leaves out the words of list {mark} (checksum and count), {found}"))
}

fn factor_table(
    recipe: &TextRecipe,
    df_table: Option<DfTable>,
    weights: Option<GivenWeights>,
) -> Result<FactorTable> {
    let none = "none was given";
    match recipe.factor {
        Factor::None => Ok(FactorTable::None),
        Factor::Idf(mark) => match df_table {
            Some(table) if table.mark() == mark => {
                table.check(recipe)?;
                Ok(FactorTable::Idf(table))
            }
            other => {
                let found = other.map_or(none.into(), |table| format!("not {}", table.mark()));
                Err(invalid(format!(
                    "it needs the table of document frequencies {mark} (checksum and count), {found}"
                )))
            }
        },
        Factor::Given(mark) => match weights {
            Some(weights) if weights.mark() == mark => {
                Ok(FactorTable::Given(weights.by_hash(recipe.hash)))
            }
            other => {
                let found = other.map_or(none.into(), |list| format!("not {}", list.mark()));
                Err(invalid(format!(
                    "it needs the list of weights {mark} (checksum and count), {found}"
                )))
            }
        },
    }
}
