//! Methods of `Store` that make fingerprints of new texts with its recipe.

use fpstore_text::{Factor, TextHasher, TextRecipe};
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::options::{GivenSources, Sources};
use super::recipe::Recipe;
use crate::errors::{Failure, input_error, recipe_error};
use crate::input::whole::Whole;
use crate::store::Store;

#[pymethods]
impl Store {
    /// The recipe of the store or stores, to make fingerprints of new texts. The store contains
    /// only digests of word lists and tables: pass those that the recipe uses as parameters, except
    /// the built-in stop words of a language.
    ///
    /// Parameters
    /// ----------
    /// stop_words, df, weights
    ///     The same as for `Recipe`.
    ///
    /// Returns
    /// -------
    /// Recipe
    ///
    /// Raises
    /// ------
    /// RecipeError
    ///     The fingerprints of the store were ready-made.
    #[pyo3(signature = (*, stop_words=None, df=None, weights=None))]
    fn text_recipe(
        &self,
        py: Python<'_>,
        stop_words: Option<&Bound<'_, PyAny>>,
        df: Option<&Bound<'_, PyAny>>,
        weights: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Recipe> {
        let store = self.get()?;
        let empty = "the store is empty, so it has no recipe yet";
        let recipe = store.recipe().ok_or_else(|| recipe_error(py, empty))?;
        let recipe = TextRecipe::from_recipe(&recipe).map_err(Failure::from)?;
        let GivenSources { sources, language } = GivenSources::of(stop_words, df, weights)?;
        check_named(&recipe, &sources, stop_words.is_some()).map_err(|it| input_error(py, it))?;
        if let Some(list) = language {
            let resources = sources.load()?.stop_words(list);
            TextHasher::with_resources(&recipe, resources).map_err(Failure::from)?;
        }
        Ok(Recipe::made(recipe, sources)?)
    }

    /// The stored fingerprints within `k` bits of the fingerprint of a text, which is made with
    /// `text_recipe()`. A text without features has no matches.
    ///
    /// Parameters
    /// ----------
    /// text : str
    #[doc = parameters!(k_store limit)]
    /// labels : bool, default False
    ///     Whether each match contains the labels of its ids.
    ///
    /// Returns
    /// -------
    /// list of fpstore.types.Match
    ///
    /// Examples
    /// --------
    /// >>> texts = fpstore.Documents({"id": ["a", "b"], "text": ["one two three", "other words"]})
    /// >>> fpstore.build(folder / "texts.fps", texts, recipe="minhash").query_text("One two, three!")[0].ids
    /// ['a']
    #[pyo3(signature = (text, k=None, *, limit=None, labels=false))]
    fn query_text<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        k: Option<Whole>,
        limit: Option<Whole>,
        labels: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let recipe = Bound::new(py, self.text_recipe(py, None, None, None)?)?;
        let fingerprint = recipe.call_method1("fingerprint", (text,))?;
        match fingerprint.is_none() {
            true => Ok(PyList::empty(py)),
            false => self.query(&fingerprint, k, limit, labels),
        }
    }
}

/// Refuses word lists, tables and weights that the recipe of the store does not use.
fn check_named(recipe: &TextRecipe, sources: &Sources, has_words: bool) -> Result<(), String> {
    let factor = recipe.votes().map_or(Factor::None, |rules| rules.factor);
    let refused = |name: &str, what: &str| {
        Err(format!("{name}: the recipe of the store has no {what}; leave {name} out"))
    };
    match factor {
        _ if has_words && recipe.stop_words.is_none() => refused("stop_words", "stop words"),
        Factor::Idf(_) | Factor::Given(_) if sources.df.is_none() && sources.weights.is_none() => {
            Ok(())
        }
        Factor::Idf(_) if sources.df.is_some() => Ok(()),
        Factor::Given(_) if sources.weights.is_some() => Ok(()),
        _ if sources.df.is_some() => refused("df", "table of document frequencies"),
        _ if sources.weights.is_some() => refused("weights", "list of weights"),
        _ => Ok(()),
    }
}
