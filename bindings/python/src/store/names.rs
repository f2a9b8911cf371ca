//! The names of several stores that are queried as one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fpstore::StoreIndex;

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

    /// The name of a store as a path, for matches.
    pub(super) fn path(&self, store: StoreIndex) -> &Path {
        &self.paths[store.0]
    }

    /// The name of a store as UTF-8, for columns.
    pub(crate) fn text(&self, store: StoreIndex) -> &str {
        &self.texts[store.0]
    }

    /// The error message for several stores where one is expected.
    pub(crate) fn one_alone(&self) -> String {
        format!(
            "expected one store, {} are given: {}; give each store separately, or combine them \
             with Writer.import_",
            self.paths.len(),
            self.texts.join(", ")
        )
    }
}

/// The store in an argument. Several stores are combined into one, with their names.
pub(crate) struct Given {
    pub(crate) store: fpstore::Store,
    pub(crate) names: Option<Names>,
}

/// The name of a store for a column; empty without names, because the column is then omitted.
pub(crate) fn name_of(names: Option<&Names>, store: StoreIndex) -> &str {
    names.map_or("", |names| names.text(store))
}
