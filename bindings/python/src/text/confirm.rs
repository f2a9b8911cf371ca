//! Pairs of texts whose features are similar. Near fingerprints give the candidates; the exact
//! similarity of the features decides.

use std::sync::Arc;

use fpstore::Fingerprint;
use fpstore::join::JoinOptions;
use fpstore::join::confirm::Confirmer;
use fpstore_text::TextHasher;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::hashing::of_all;
use super::recipe::Recipe;
use crate::errors::{Failure, warn_of_old};
use crate::input::texts::TextInput;
use crate::options::Limits;
use crate::work::Shared;

/// The fingerprint of a text and its distinct feature hashes, ascending. `None` for a text without
/// features.
pub(crate) fn looked_at(hasher: &mut TextHasher, text: &str) -> Option<(Fingerprint, Vec<u64>)> {
    let fingerprint = hasher.fingerprint(text)?;
    let mut features = hasher.distinct_features(text);
    features.sort_unstable();
    features.dedup();
    Some((fingerprint, features))
}

/// The result of [`looked_at`].
pub(crate) type Looked = Option<(Fingerprint, Vec<u64>)>;

/// The result of [`looked_at`] for each text, computed by several threads.
pub(crate) fn looked_at_all(
    recipe: &Recipe,
    texts: &TextInput,
    limits: &Limits,
    shared: &Arc<Shared>,
) -> Result<Vec<Looked>, Failure> {
    of_all(recipe, texts, limits.threads(), shared, |hasher, _, text| looked_at(hasher, text))
}

/// The pairs of similar texts within `k` bits for which `is_wanted` returns true, sorted: the
/// positions of both texts, their distance and their similarity.
pub(crate) fn confirmed(
    looked: &[Looked],
    similarity: f64,
    k: u32,
    options: JoinOptions,
    is_wanted: impl Fn(u32, u32) -> bool,
) -> Result<Vec<(u32, u32, u32, f64)>, Failure> {
    // Texts without features have no pairs.
    let known = || (0_u32..).zip(looked).filter_map(|(row, it)| Some((row, it.as_ref()?)));
    let rows: Vec<u32> = known().map(|(row, _)| row).collect();
    let confirmed = Confirmer::new(similarity, options)?.features(|take| {
        known().try_for_each(|(_, (fingerprint, features))| take(*fingerprint, None, features))
    })?;
    let mut pairs = Vec::new();
    confirmed.for_each_pair(false, |pair| {
        let (one, other) = (rows[pair.first as usize], rows[pair.second as usize]);
        let (one, other) = (one.min(other), one.max(other));
        if pair.distance() <= k && is_wanted(one, other) {
            pairs.push((one, other, pair.distance(), pair.similarity));
        }
        Ok::<(), Failure>(())
    })?;
    pairs.sort_unstable_by_key(|&(first, second, ..)| (first, second));
    Ok(pairs)
}

#[pymethods]
impl Recipe {
    /// The old name of `fpstore.pairs(texts, confirm=..., recipe=recipe)`.
    #[pyo3(
        signature = (texts, similarity=0.8, **options),
        text_signature = "($self, texts, similarity=0.8, **options)"
    )]
    fn confirmed_pairs<'py>(
        slf: &Bound<'py, Self>,
        texts: &Bound<'py, PyAny>,
        similarity: f64,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        warn_of_old(py, "Recipe.confirmed_pairs", "fpstore.pairs, with confirm and recipe")?;
        let given = options.map_or_else(|| Ok(PyDict::new(py)), |given| given.copy())?;
        given.set_item("confirm", similarity)?;
        given.set_item("recipe", slf)?;
        py.import("fpstore._fpstore")?.getattr("pairs")?.call((texts,), Some(&given))
    }
}
