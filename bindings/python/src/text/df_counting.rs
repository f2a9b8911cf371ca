//! The method `Recipe.df_table`, which counts document frequencies over documents or texts.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use fpstore_documents::count_document_frequencies;
use fpstore_text::{DfBuilder, Factor};
use pyo3::prelude::*;

use super::df_table::DfTable;
use super::hashing::of_all;
use super::recipe::Recipe;
use crate::documents::{Documents, of_row};
use crate::errors::{Failure, input_error};
use crate::input::arguments::path_or_none;
use crate::input::texts::TextInput;
use crate::input::whole::{Whole, wide};
use crate::options::Limits;
use crate::work::{Reporter, run};

#[pymethods]
impl Recipe {
    /// Counts for each feature the documents in which it occurs. Takes about 20 bytes of memory for
    /// each distinct feature.
    ///
    /// Parameters
    /// ----------
    /// inputs : Documents, path, list of paths, or table
    /// texts : list, array or Series of str
    ///     Texts, given instead of `inputs`.
    /// min_df : int, default 2
    ///     Features that occur in fewer documents are omitted, and later weighted as features of
    ///     one document.
    /// allow_empty : bool, default False
    ///     Whether an empty table is returned if no document has features, instead of an error.
    #[doc = parameters!(threads temp_dir progress)]
    ///
    /// Returns
    /// -------
    /// DfTable
    ///
    /// Examples
    /// --------
    /// >>> fpstore.Recipe("simhash").df_table(texts=["a cat", "a dog", "a cat"])
    /// <fpstore.DfTable of 1 feature in 3 documents>
    #[pyo3(signature = (
        inputs=None, *, texts=None, min_df=2, allow_empty=false, threads=None, temp_dir=None,
        progress=None
    ))]
    fn df_table(
        &self,
        py: Python<'_>,
        inputs: Option<&Bound<'_, PyAny>>,
        texts: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = wide)] min_df: i128,
        allow_empty: bool,
        threads: Option<Whole>,
        #[pyo3(from_py_with = path_or_none)] temp_dir: Option<PathBuf>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<DfTable> {
        if self.recipe.votes().is_some_and(|rules| rules.factor != Factor::None) {
            let message = "leave df and weights out of the recipe: a table of document frequencies \
                           is counted without weights";
            return Err(input_error(py, message));
        }
        let least = u32::try_from(min_df).ok().filter(|least| *least > 0);
        let least = least.ok_or_else(|| {
            input_error(py, format!("min_df is {min_df}, expected 1 to {}", u32::MAX))
        })?;
        let limits = Limits::new(py, threads, None, temp_dir)?;
        let reporter = Reporter::new(progress)?;
        let builder = match (inputs, texts) {
            (Some(inputs), None) => {
                let resources = limits.given(&Arc::default());
                let documents = Documents::of(inputs)?.get().readable(py, &resources)?;
                run(py, &reporter, |shared| {
                    let hasher = self.hasher()?;
                    let mut builder = DfBuilder::new(hasher.recipe());
                    let options = documents.options.clone().observer(shared.observer());
                    count_document_frequencies(&documents.paths, &hasher, &options, &mut builder)
                        .map_err(|error| {
                        of_row(Failure::Corpus(fpstore_corpus::Error::Text(error)), &documents)
                    })?;
                    Ok(builder)
                })?
            }
            (None, Some(texts)) => {
                self.check_takes_texts(py)?;
                let texts = TextInput::of(texts)?;
                run(py, &reporter, |shared| {
                    let builder = Mutex::new(DfBuilder::new(&self.recipe));
                    of_all(self, &texts, limits.threads(), shared, |hasher, _, text| {
                        let features = hasher.distinct_features(text);
                        builder
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .add_hashes(&features);
                    })?;
                    Ok(builder.into_inner().unwrap_or_else(PoisonError::into_inner))
                })?
            }
            _ => {
                let message = "give the documents either as inputs or as texts";
                return Err(input_error(py, message));
            }
        };
        if builder.document_count() == 0 && !allow_empty {
            let message =
                "no document has features, so there is no table; allow_empty=True makes one";
            return Err(input_error(py, message));
        }
        run(py, &Reporter::default(), |_| Ok(DfTable::of(&builder.finish(least))))
    }
}
