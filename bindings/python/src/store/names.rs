//! The names of stores that are asked as one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fpstore::StoreIndex;

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
