//! Lists and tables that are named in a recipe and not contained in it.
//!
//! [`TextResources`] passes them from the caller to [`TextHasher`](crate::TextHasher), which checks
//! them once against the recipe and keeps a [`Tables`] for lookups while it processes texts.

pub(crate) mod df;
pub(crate) mod lists;

use std::collections::HashMap;

use fpstore_base::setters;

use crate::error::{Error, Result};
use crate::recipe::{Factor, TextRecipe};
use crate::resource_id::ResourceId;
use crate::tokens::Tokens;
use crate::votes::weight::Weight;
use df::DfTable;
use lists::{GivenWeights, StopWords};

/// Lists and tables that are named in a recipe and not contained in it.
#[derive(Clone, Debug, Default)]
pub struct TextResources {
    stop_words: Option<StopWords>,
    df_table: Option<DfTable>,
    weights: Option<GivenWeights>,
}

impl TextResources {
    setters! {
        /// Sets the stop words.
        stop_words: impl Into<Option<StopWords>>,
        /// Sets the table of document frequencies.
        df_table: impl Into<Option<DfTable>>,
        /// Sets the weights of features.
        weights: impl Into<Option<GivenWeights>>,
    }

    /// Sets the ids of these lists and tables in a recipe; if there are weights, a table is not
    /// used. Lists are brought into the form of the recipe, so its other parts must be final.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRecipe`] if there are weights or a table, and the method has no weights; or if
    /// features with different weights become equal.
    pub fn name_in(&self, recipe: &mut TextRecipe) -> Result<()> {
        let mut tokens = Tokens::new(recipe);
        let table = self.df_table.as_ref().map(|table| Factor::Idf(table.id()));
        let list = self.weights.as_ref();
        let list = list.map(|list| list.formed(|text| tokens.only_feature(text))).transpose()?;
        let list = list.map(|list| Factor::Given(list.id()));
        if let Some(factor) = list.or(table) {
            let method = recipe.method.name();
            let rules = recipe.votes_mut().ok_or_else(|| Error::InvalidRecipe {
                reason: format!("method={method} weighs no features; simhash does"),
            })?;
            rules.factor = factor;
        }
        if let Some(list) = &self.stop_words {
            recipe.stop_words = Some(list.formed(|word| tokens.only_word(word)).id());
        }
        Ok(())
    }

    /// The listed words and features that a recipe never finds in a text, such as a stop word of
    /// two words; sorted.
    pub fn unmatched(&self, recipe: &TextRecipe) -> Vec<&str> {
        let mut tokens = Tokens::new(recipe);
        let words = self.stop_words.iter().flat_map(StopWords::iter);
        let mut unmatched: Vec<&str> =
            words.filter(|word| tokens.only_word(word).is_none()).collect();
        let features = self.weights.iter().flat_map(GivenWeights::iter);
        unmatched.extend(features.filter(|text| tokens.only_feature(text).is_none()));
        unmatched.sort_unstable();
        unmatched
    }
}

/// The lists and tables of a recipe, ready for look-ups.
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
    /// Selects the lists and tables named in the recipe from `resources`, which need not contain
    /// built-in stop words.
    ///
    /// # Errors
    ///
    /// * [`Error::WrongResource`] if a list or table is missing or has another id than in the
    ///   recipe.
    /// * [`Error::WrongFeatures`] if the table was counted on other features.
    pub(crate) fn new(recipe: &TextRecipe, resources: TextResources) -> Result<Self> {
        let TextResources { stop_words, df_table, weights } = resources;
        let mut tokens = Tokens::new(recipe);
        let stop_words = match recipe.stop_words {
            None => None,
            Some(id) => {
                let given = stop_words.as_ref().map(StopWords::id);
                let lists = || -> Box<dyn Iterator<Item = StopWords>> {
                    match &stop_words {
                        Some(list) => Box::new(std::iter::once(list.clone())),
                        None => Box::new(StopWords::built_in()),
                    }
                };
                // Recipes of earlier stores contain the id of the list as written: its words are
                // not in the form of the recipe.
                let found = lists().find(|list| list.id() == id).or_else(|| {
                    let formed = |list: StopWords| list.formed(|word| tokens.only_word(word));
                    lists().map(formed).find(|list| list.id() == id)
                });
                Some(found.ok_or_else(|| wrong("list of stop words", id, given))?)
            }
        };
        let factor = match recipe.votes().map_or(Factor::None, |rules| rules.factor) {
            Factor::None => FactorTable::None,
            Factor::Idf(id) => {
                let given = df_table.as_ref().map(DfTable::id);
                let table = df_table.filter(|table| table.id() == id);
                let kind = "table of document frequencies";
                let table = table.ok_or_else(|| wrong(kind, id, given))?;
                table.check(recipe)?;
                FactorTable::Idf(table)
            }
            Factor::Given(id) => {
                let given = weights.as_ref().map(GivenWeights::id);
                let list = match weights {
                    Some(list) if list.id() != id => {
                        Some(list.formed(|text| tokens.only_feature(text))?)
                    }
                    list => list,
                };
                let list = list.filter(|list| list.id() == id);
                let list = list.ok_or_else(|| wrong("list of weights", id, given))?;
                FactorTable::Given(list.by_hash(recipe.hash))
            }
        };
        Ok(Tables { stop_words, factor })
    }

    /// The weight of a feature with this hash; `weight` is the weight of its count.
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

fn wrong(kind: &'static str, expected: ResourceId, found: Option<ResourceId>) -> Error {
    Error::WrongResource { kind, expected, found }
}
