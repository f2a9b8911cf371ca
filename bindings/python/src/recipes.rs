//! Finds and compares the recipes of fingerprints in arguments, so that fingerprints of different
//! recipes are never mixed.

use arrow_schema::DataType;
use fpstore::{Error, Recipe};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::capsule::{RECIPE_KEY, schema_of};
use crate::errors::{Failure, warn};
use crate::input::is_pandas;
use crate::rows::Column;
use crate::store::Store;

/// The recipe of the fingerprints in an object: a `Column`, a store, an Arrow table or array with
/// the recipe in its metadata, or a pandas Series with the recipe in `attrs`. `None` if the recipe
/// is unknown.
pub(crate) fn recipe_of(object: &Bound<'_, PyAny>) -> PyResult<Option<Recipe>> {
    if let Ok(column) = object.cast::<Column>() {
        return Ok(column.get().made_by().cloned());
    }
    if let Ok(store) = object.cast::<Store>() {
        return Ok(known(store.get().get()?.recipe()));
    }
    if is_pandas(object) {
        // A Series taken from a frame has the `attrs` of the frame.
        let attributes =
            object.getattr("attrs").and_then(|attrs| attrs.cast_into().map_err(PyErr::from));
        let text =
            attributes.ok().and_then(|of: Bound<'_, PyDict>| of.get_item(RECIPE_KEY).ok()?);
        let text = text.and_then(|text| text.extract::<String>().ok());
        return Ok(known(text.and_then(|text| Recipe::from_text(&text))));
    }
    let Some(field) = schema_of(object)? else { return Ok(None) };
    let of_columns = match field.data_type() {
        DataType::Struct(columns) => columns.iter().find_map(|of| of.metadata().get(RECIPE_KEY)),
        _ => None,
    };
    let text = field.metadata().get(RECIPE_KEY).or(of_columns);
    Ok(known(text.and_then(|text| Recipe::from_text(text))))
}

/// The recipe, or `None` if it stands for ready-made fingerprints.
fn known(recipe: Option<Recipe>) -> Option<Recipe> {
    recipe.filter(|recipe| *recipe != Recipe::external())
}

/// The common recipe of two sets of fingerprints. Fails if both recipes are known and differ.
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

/// Refuses fingerprints whose recipe differs from the recipe of the store.
pub(crate) fn check_recipe(object: &Bound<'_, PyAny>, store: &fpstore::Store) -> PyResult<()> {
    Ok(common(store.recipe(), recipe_of(object)?).map(drop)?)
}

/// Warns about the default distance if the fingerprints are in a table column or numpy array
/// without a recipe: such copies of a `Column` do not keep its recipe.
pub(crate) fn warn_of_unknown_recipe(given: &Bound<'_, PyAny>) -> PyResult<()> {
    let is_column = is_pandas(given)
        || given.cast::<numpy::PyUntypedArray>().is_ok()
        || given.hasattr("__arrow_c_array__")?
        || given.hasattr("__arrow_c_stream__")?;
    let is_store = given.is_instance_of::<Store>();
    if !is_column || is_store || recipe_of(given)?.is_some() {
        return Ok(());
    }
    let message = "the recipe of this column is unknown, so k is 3, which misses most \
                   near-duplicates of texts: give the Column that fingerprints() returned, or k, \
                   such as 7 for minhash";
    warn(given.py(), "DistanceWarning", message)
}
