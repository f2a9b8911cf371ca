//! Pairs of texts with similar features, exact: near fingerprints are candidates, the features
//! decide.

use std::path::PathBuf;
use std::sync::Arc;

use fpstore::Fingerprint;
use fpstore::join::JoinOptions;
use fpstore::join::confirm::Confirmer;
use fpstore_text::TextHasher;
use pyo3::prelude::*;

use super::hashing::of_all;
use super::recipe::Recipe;
use crate::columns::{Distances, F64, RowsBuilder, U32};
use crate::errors::{Failure, input_error};
use crate::input::arguments::path_or_none;
use crate::input::texts::TextInput;
use crate::input::whole::{Bytes, Whole};
use crate::options::{Limits, distance_of};
use crate::rows::Rows;
use crate::work::{Reporter, Shared, run};

/// The fingerprint of a text and its distinct features, ascending. `None` without features.
pub(crate) fn looked_at(hasher: &mut TextHasher, text: &str) -> Option<(Fingerprint, Vec<u64>)> {
    let fingerprint = hasher.fingerprint(text)?;
    let mut features = hasher.distinct_features(text);
    features.sort_unstable();
    features.dedup();
    Some((fingerprint, features))
}

/// A text as [`looked_at`] returns it.
pub(crate) type Looked = Option<(Fingerprint, Vec<u64>)>;

/// Each text as [`looked_at`] returns it, by several threads.
pub(crate) fn looked_at_all(
    recipe: &Recipe,
    texts: &TextInput,
    limits: &Limits,
    shared: &Arc<Shared>,
) -> Result<Vec<Looked>, Failure> {
    of_all(recipe, texts, limits.threads(), shared, |hasher, _, text| looked_at(hasher, text))
}

/// The pairs of similar texts within `k` bits that `is_wanted`, in order: their positions, distance
/// and similarity.
pub(crate) fn confirmed(
    looked: &[Looked],
    similarity: f64,
    k: u32,
    options: JoinOptions,
    is_wanted: impl Fn(u32, u32) -> bool,
) -> Result<Vec<(u32, u32, u32, f64)>, Failure> {
    // Texts without features are omitted.
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
    /// The pairs of texts with this Jaccard similarity of features or more, all of them and exact.
    /// Rows of `first` and `second`, the positions of the texts, `distance` and `similarity`. With
    /// `k`, only pairs within `k` bits.
    ///
    /// >>> texts = ["one two three four five", "something else", "one two three four five six"]
    /// >>> fpstore.Recipe().confirmed_pairs(texts, 0.6).to_pylist()
    /// [(0, 2, 6, 0.8)]
    #[pyo3(signature = (
        texts, similarity=0.8, *, k=None, max_pairs=None, threads=None, memory=None,
        temp_dir=None, progress=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn confirmed_pairs(
        &self,
        py: Python<'_>,
        texts: &Bound<'_, PyAny>,
        similarity: f64,
        k: Option<Whole>,
        max_pairs: Option<Whole>,
        threads: Option<Whole>,
        memory: Option<Bytes>,
        #[pyo3(from_py_with = path_or_none)] temp_dir: Option<PathBuf>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Rows> {
        self.check_takes_texts(py)?;
        let k = k.map_or(Ok(u64::BITS), |k| distance_of(py, k))?;
        let limits = Limits::new(py, threads, memory, temp_dir)?.max_pairs(py, max_pairs)?;
        let reporter = Reporter::new(progress)?;
        let texts = TextInput::of(texts)?;
        if texts.len() >= u32::MAX as usize {
            let message = format!("{} texts, one call takes 2**32 - 2 at most", texts.len());
            return Err(input_error(py, message));
        }
        run(py, &reporter, |shared| {
            let looked = looked_at_all(self, &texts, &limits, shared)?;
            let pairs = confirmed(&looked, similarity, k, limits.join(k, shared), |_, _| true)?;
            let columns = (U32::default(), U32::default(), Distances::default(), F64::default());
            RowsBuilder::of(["first", "second", "distance", "similarity"], columns, pairs)
        })
    }
}
