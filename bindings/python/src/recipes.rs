//! Which recipe made fingerprints that a caller hands over, and that two recipes never mix.

use arrow_schema::DataType;
use fpstore::{Error, Recipe};
use pyo3::prelude::*;

use crate::capsule::{RECIPE_KEY, schema_of};
use crate::errors::Failure;
use crate::rows::Column;
use crate::store::Store;

/// The recipe that made the fingerprints of an object, if the object knows it: a column of this
/// package, a store, several stores, or a table or an array of Arrow whose metadata has it.
pub(crate) fn recipe_of(object: &Bound<'_, PyAny>) -> PyResult<Option<Recipe>> {
    if let Ok(column) = object.cast::<Column>() {
        return Ok(column.get().made_by().cloned());
    }
    if let Ok(store) = object.cast::<Store>() {
        return Ok(known(store.get().get()?.recipe()));
    }
    let Some(field) = schema_of(object)? else { return Ok(None) };
    let of_columns = match field.data_type() {
        DataType::Struct(columns) => columns.iter().find_map(|of| of.metadata().get(RECIPE_KEY)),
        _ => None,
    };
    let text = field.metadata().get(RECIPE_KEY).or(of_columns);
    Ok(known(text.and_then(|text| Recipe::from_text(text))))
}

/// A recipe that says how fingerprints were made.
fn known(recipe: Option<Recipe>) -> Option<Recipe> {
    recipe.filter(|recipe| *recipe != Recipe::external())
}

/// The recipe of two kinds of fingerprints, of which either may not be known. Two that differ are
/// refused.
pub(crate) fn common(
    one: Option<Recipe>,
    other: Option<Recipe>,
) -> Result<Option<Recipe>, Failure> {
    match (known(one), known(other)) {
        (Some(store), Some(given)) if store != given => {
            Err(Error::RecipeMismatch { store, given }.into())
        }
        (one, other) => Ok(one.or(other)),
    }
}

/// Refuses fingerprints of another recipe than that of the store.
pub(crate) fn check_recipe(object: &Bound<'_, PyAny>, store: &fpstore::Store) -> PyResult<()> {
    if let Some(recipe) = recipe_of(object)? {
        common(store.recipe(), Some(recipe))?;
    }
    Ok(())
}
