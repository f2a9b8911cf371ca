//! Options for the lists and tables that a recipe refers to but does not contain.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use fpstore::Recipe;
use fpstore_base::read_inputs;
use fpstore_text::{DfTable, GivenWeights, StopWords, TextHasher, TextRecipe, TextResources};

/// Options for the files that a recipe may need.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "From texts to fingerprints")]
pub(crate) struct RecipeFileArgs {
    /// Weight features by a table of document frequencies, made by 'fpstore df'
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) df: Option<PathBuf>,
    /// Ignore the words of a list: a language with a built-in list, such as en or zh, or a file
    /// with one word on each line
    #[arg(long, value_name = "LANG|FILE", hide_short_help = true)]
    pub(crate) stop_words: Option<PathBuf>,
    /// Weight features by a list of 'word<TAB>weight', weights from 1 to 5
    #[arg(long, value_name = "FILE", hide_short_help = true, conflicts_with = "df")]
    pub(crate) weights: Option<PathBuf>,
}

impl RecipeFileArgs {
    pub(crate) fn load(&self) -> anyhow::Result<TextResources> {
        let read = |path: &PathBuf| {
            read_inputs::read_list(path).with_context(|| format!("cannot read {}", path.display()))
        };
        let mut resources = TextResources::default();
        if let Some(path) = &self.df {
            resources = resources.df_table(DfTable::open(path)?);
        }
        if let Some(path) = &self.stop_words {
            resources = resources.stop_words(match path.to_str().filter(|_| !path.exists()) {
                Some(code) if code.len() == 2 => StopWords::of_language(code)?,
                _ => StopWords::from_list(&read(path)?),
            });
        }
        if let Some(path) = &self.weights {
            let list = GivenWeights::from_list(&read(path)?, &path.display().to_string())?;
            resources = resources.weights(list);
        }
        Ok(resources)
    }

    /// The hasher of `recipe`, the recipe of a store, with the lists and tables given by the user.
    pub(crate) fn hasher_of(&self, recipe: &Recipe) -> anyhow::Result<TextHasher> {
        if recipe.text().starts_with("fpstore-images=") {
            bail!(
                "the store contains fingerprints of pictures, not of texts: to search for a \
                 picture, use 'fpstore query --image FILE'; to add pictures, use 'fpstore add \
                 --images DIR'"
            );
        }
        let recipe = TextRecipe::from_recipe(recipe)?;
        Ok(TextHasher::with_resources(&recipe, self.load()?)?)
    }
}
