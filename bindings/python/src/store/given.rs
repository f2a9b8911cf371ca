//! Arguments that are one store, or several that are asked as one.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::names::Given;
use super::{Store, Stores};
use crate::errors::{argument_error, named};

/// A `Store` or `Stores`.
fn one_or_several(given: &Bound<'_, PyAny>) -> PyResult<Given> {
    if let Ok(stores) = given.cast::<Stores>() {
        return stores.get().given();
    }
    match given.cast::<Store>() {
        Ok(store) => Ok(Given { store: store.get().get()?, names: None }),
        Err(_) => {
            let kind = given.get_type().qualname()?;
            Err(PyTypeError::new_err(format!("expected a Store or Stores, not {kind}")))
        }
    }
}

/// A `Store` or `Stores`, if one is given.
pub(crate) fn one_or_several_or_none(given: &Bound<'_, PyAny>) -> PyResult<Option<Given>> {
    if given.is_none() { Ok(None) } else { one_or_several(given).map(Some) }
}

/// A `Store`; several are refused.
pub(crate) fn one_store(given: &Bound<'_, PyAny>) -> PyResult<fpstore::Store> {
    let Given { store, names } = one_or_several(given)?;
    match names {
        None => Ok(store),
        Some(names) => Err(argument_error(given.py(), names.one_alone())),
    }
}

/// The store, where an argument of this name is one; several are refused.
pub(crate) fn if_store(given: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<fpstore::Store>> {
    let is_store = given.is_instance_of::<Store>() || given.is_instance_of::<Stores>();
    let store = is_store.then(|| one_store(given)).transpose();
    store.map_err(|error| named(error, name))
}
