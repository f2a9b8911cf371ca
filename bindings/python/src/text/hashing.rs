//! The method `Recipe.fingerprints`, which hashes many texts on several threads.

use std::sync::Arc;

use arrow_array::UInt64Array;
use arrow_array::builder::UInt64Builder;
use fpstore::Phase;
use fpstore_text::TextHasher;
use pyo3::prelude::*;

use super::recipe::Recipe;
use crate::chunks::Chunks;
use crate::errors::Failure;
use crate::input::texts::TextInput;
use crate::input::whole::Whole;
use crate::options::Limits;
use crate::rows::Column;
use crate::work::{Reporter, Shared, run};

/// Maximum number of texts that a thread takes at a time.
const CHUNK_TEXTS: usize = 256;
/// Length of texts in bytes after which a thread checks whether the call was interrupted.
const CHUNK_LEN: usize = 1 << 20;

/// The results of `of` for all texts, in order, computed by several threads. A null text gets the
/// default value.
pub(crate) fn of_all<T: Send + Default + Clone>(
    recipe: &Recipe,
    texts: &TextInput,
    threads: usize,
    shared: &Arc<Shared>,
    of: impl Fn(&mut TextHasher, usize, &str) -> T + Sync,
) -> Result<Vec<T>, Failure> {
    let counts = (texts.len(), CHUNK_TEXTS);
    let results = Chunks::run(counts, threads, (Phase::Documents, shared), |chunks| {
        let mut hasher = recipe.hasher()?;
        while let Some(chunk) = chunks.take() {
            let mut results = Vec::with_capacity(chunk.len());
            let mut len = 0;
            for at in chunk.clone() {
                let text = texts.get(at);
                results.push(text.map_or_else(T::default, |text| of(&mut hasher, at, text)));
                len += text.map_or(0, str::len);
                if len > CHUNK_LEN {
                    len = 0;
                    shared.check()?;
                }
            }
            chunks.put(chunk, results)?;
        }
        recipe.keep(hasher);
        Ok(())
    })?;
    Ok(results.flatten().collect())
}

#[pymethods]
impl Recipe {
    /// The fingerprints of many texts.
    ///
    /// Parameters
    /// ----------
    /// texts : list, array, Series, or object with an Arrow interface
    #[doc = parameters!(threads progress)]
    ///
    /// Returns
    /// -------
    /// Column
    ///     The fingerprint of each text; null for a null text and for a text without features.
    ///
    /// Examples
    /// --------
    /// >>> fpstore.Recipe().fingerprints(["a text of some words", None, ""]).null_count
    /// 2
    #[pyo3(signature = (texts, /, *, threads=None, progress=None))]
    fn fingerprints(
        &self,
        py: Python<'_>,
        texts: &Bound<'_, PyAny>,
        threads: Option<Whole>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Column> {
        self.check_takes_texts(py)?;
        let limits = Limits::new(py, threads, None, None)?;
        let reporter = Reporter::new(progress)?;
        let texts = TextInput::of(texts)?;
        let threads = limits.threads();
        let values = run(py, &reporter, |shared| {
            of_all(self, &texts, threads, shared, |hasher, _, text| {
                hasher.fingerprint(text).map(fpstore::Fingerprint::value)
            })
        })?;
        let mut column = UInt64Builder::with_capacity(values.len());
        values.into_iter().for_each(|value| column.append_option(value));
        let column: UInt64Array = column.finish();
        Ok(Column::new(column, Some(self.recipe.to_recipe())))
    }
}
