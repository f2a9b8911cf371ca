//! Fingerprints of many texts on all cores.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::UInt64Array;
use arrow_array::builder::UInt64Builder;
use fpstore::{Error, Phase};
use fpstore_base::watch::Watch;
use fpstore_text::TextHasher;
use pyo3::prelude::*;

use super::recipe::Recipe;
use crate::errors::Failure;
use crate::input::texts::TextInput;
use crate::input::whole::Whole;
use crate::options::Limits;
use crate::rows::Column;
use crate::work::{Reporter, Shared, run};

/// Maximum number of texts in a piece of work of a thread.
const CHUNK_TEXTS: usize = 256;
/// Approximate maximum length of texts in a piece of work, in bytes.
const CHUNK_LEN: usize = 1 << 20;

/// The results of `of` for each text, in order, computed by several threads.
pub(crate) fn of_all<T: Send + Default + Clone>(
    recipe: &Recipe,
    texts: &TextInput,
    threads: usize,
    shared: &Arc<Shared>,
    of: impl Fn(&mut TextHasher, usize, &str) -> T + Sync,
) -> Result<Vec<T>, Failure> {
    let count = texts.len();
    let watch = Watch::new(Some(shared.observer()), Phase::Documents, Some(count as u64));
    let next = AtomicUsize::new(0);
    let chunks = Mutex::new(Vec::new());
    let work = || -> Result<(), Failure> {
        let mut hasher = recipe.hasher()?;
        loop {
            let start = next.fetch_add(CHUNK_TEXTS, Ordering::Relaxed);
            if start >= count {
                break;
            }
            let end = count.min(start + CHUNK_TEXTS);
            let mut results = Vec::with_capacity(end - start);
            let mut len = 0;
            for at in start..end {
                let text = texts.get(at);
                results.push(text.map_or_else(T::default, |text| of(&mut hasher, at, text)));
                len += text.map_or(0, str::len);
                if len > CHUNK_LEN {
                    len = 0;
                    if shared.is_stopped() {
                        return Err(Error::Interrupted.into());
                    }
                }
            }
            chunks.lock().unwrap_or_else(PoisonError::into_inner).push((start, results));
            watch.tick((end - start) as u64).and_then(|()| watch.report()).map_err(Error::from)?;
        }
        recipe.keep(hasher);
        Ok(())
    };
    let threads = threads.min(count.div_ceil(CHUNK_TEXTS)).max(1);
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut result = work();
        for other in others {
            let panicked = || Failure::Panic("a thread that hashes texts ended early".into());
            result = result.and(other.join().unwrap_or_else(|_| Err(panicked())));
        }
        result
    })?;
    let mut chunks = chunks.into_inner().unwrap_or_else(PoisonError::into_inner);
    chunks.sort_unstable_by_key(|(start, _)| *start);
    Ok(chunks.into_iter().flat_map(|(_, results)| results).collect())
}

#[pymethods]
impl Recipe {
    /// The fingerprints of many texts, on all cores or on `threads`. A text without features and a
    /// null give null.
    ///
    /// Texts come as a list, an array, a Series, or anything else with an Arrow interface.
    ///
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
