//! Stores as arguments of functions, and the names of several stores that are queried as one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fpstore::StoreIndex;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::Store;
use crate::errors::named;

/// The names of several stores, as the user gave them.
#[derive(Clone)]
pub(crate) struct Names {
    paths: Arc<[PathBuf]>,
    /// The names as UTF-8, for columns.
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

    /// The name of a store in an answer.
    pub(super) fn path(&self, store: StoreIndex) -> &Path {
        &self.paths[store.0]
    }

    /// The name of a store in a column.
    pub(crate) fn text(&self, store: StoreIndex) -> &str {
        &self.texts[store.0]
    }

    /// The message where several stores are given and one is expected.
    pub(crate) fn one_alone(&self) -> String {
        format!(
            "one store is taken, and {} are given: {}; give each by itself, or make one store of \
             them with Writer.import_",
            self.paths.len(),
            self.texts.join(", ")
        )
    }
}

/// An open store as an argument, or several as one with their names.
pub(crate) struct Given {
    pub(crate) store: fpstore::Store,
    pub(crate) names: Option<Names>,
}

/// The name of a store in a column, empty for one store, whose answers have no such column.
pub(crate) fn name_of(names: Option<&Names>, store: StoreIndex) -> &str {
    names.map_or("", |names| names.text(store))
}

fn cast<'a, 'py>(given: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, Store>> {
    given.cast::<Store>().map_err(|_| match given.get_type().qualname() {
        Ok(kind) => PyTypeError::new_err(format!("expected a Store, not {kind}")),
        Err(error) => error,
    })
}

/// An optional argument: one store, or several.
pub(crate) fn stores_or_none(given: &Bound<'_, PyAny>) -> PyResult<Option<Given>> {
    if given.is_none() { Ok(None) } else { cast(given)?.get().given().map(Some) }
}

/// An argument: one store; several are refused.
pub(crate) fn one_store(given: &Bound<'_, PyAny>) -> PyResult<fpstore::Store> {
    cast(given)?.get().one()
}

/// The store, if the argument `name` is one; several are refused.
pub(crate) fn if_store(given: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<fpstore::Store>> {
    let store = given.cast::<Store>().ok().map(|store| store.get().one()).transpose();
    store.map_err(|error| named(error, name))
}
