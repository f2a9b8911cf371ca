//! The names of stores that are asked as one, and arguments that are one store or several.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fpstore::StoreIndex;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::{Store, Stores};
use crate::errors::{argument_error, named};

/// The names of stores that are asked as one, as the user gave them.
#[derive(Clone)]
pub(crate) struct Names {
    paths: Arc<[PathBuf]>,
    /// The same for columns, whose texts are UTF-8.
    texts: Arc<[String]>,
}

impl Names {
    pub(super) fn new(paths: &[PathBuf]) -> Self {
        let texts = paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        Names { paths: paths.into(), texts }
    }

    pub(super) fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// The name of a store of an answer.
    pub(super) fn path(&self, store: StoreIndex) -> &Path {
        &self.paths[store.0]
    }

    /// The same in a column.
    pub(crate) fn text(&self, store: StoreIndex) -> &str {
        &self.texts[store.0]
    }

    /// Why several stores are refused where one is asked, and what to do.
    pub(crate) fn one_alone(&self) -> String {
        format!(
            "one store is taken, and {} are given: {}; give each by itself, or make one store of \
             them with Writer.import_",
            self.paths.len(),
            self.texts.join(", ")
        )
    }
}

/// What a caller hands over to be asked: a store, or several as one, with their names.
pub(crate) struct Given {
    pub(crate) store: fpstore::Store,
    pub(crate) names: Option<Names>,
}

/// The name of a store in a column, which is left out where there are no names.
pub(crate) fn name_of(names: Option<&Names>, store: StoreIndex) -> &str {
    names.map_or("", |names| names.text(store))
}

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
