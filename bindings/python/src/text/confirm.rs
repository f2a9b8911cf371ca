//! Pairs of texts whose features are alike, exactly: near fingerprints are candidates, the features
//! decide.

use std::path::PathBuf;

use arrow_array::{Float64Array, UInt8Array, UInt32Array};
use arrow_schema::DataType;
use fpstore::Fingerprint;
use fpstore::join::JoinOptions;
use fpstore::join::confirm::Documents;
use fpstore_text::TextHasher;
use pyo3::prelude::*;

use super::hashing::of_all;
use super::recipe::Recipe;
use crate::columns::{batch_of, plain, schema_of};
use crate::errors::{Failure, input_error};
use crate::input::texts::TextInput;
use crate::options::{Limits, count, distance_of};
use crate::rows::{Rows, array};
use crate::work::{Reporter, run};

/// The fingerprint of a text and its distinct features, ascending. `None` without features.
fn looked_at(hasher: &mut TextHasher, text: &str) -> Option<(Fingerprint, Vec<u64>)> {
    let fingerprint = hasher.fingerprint(text)?;
    let mut features = hasher.distinct_features(text);
    features.sort_unstable();
    features.dedup();
    Some((fingerprint, features))
}

#[pymethods]
impl Recipe {
    /// The pairs of texts whose features have this Jaccard similarity or more: near fingerprints
    /// are candidates, the features decide, exactly. Rows of `first` and `second`, the positions of
    /// the texts, `distance` and `similarity`.
    ///
    /// The distance of candidates is `candidate_k(similarity)` unless `k` is given: at the
    /// threshold one pair in a hundred is missed, above it fewer.
    ///
    /// >>> texts = ["one two three four five", "something else", "one two three four five six"]
    /// >>> fpstore.Recipe().confirmed_pairs(texts, 0.6, k=30).to_pylist()
    /// [(0, 2, 6, 0.8)]
    #[pyo3(signature = (
        texts, similarity=0.8, /, *, k=None, max_pairs=None, threads=None, memory=None,
        temp_dir=None, progress=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn confirmed_pairs(
        &self,
        py: Python<'_>,
        texts: &Bound<'_, PyAny>,
        similarity: f64,
        k: Option<i64>,
        max_pairs: Option<i64>,
        threads: Option<i64>,
        memory: Option<i64>,
        temp_dir: Option<PathBuf>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Rows> {
        self.check_takes_texts(py)?;
        let k = match k {
            Some(k) => distance_of(py, k)?,
            None => self.candidate_k(py, similarity)?,
        };
        let limits = Limits::new(py, threads, memory, temp_dir)?;
        let most = count(py, "max_pairs", max_pairs)?;
        let reporter = Reporter::new(progress)?;
        let texts = TextInput::of(texts)?;
        if texts.len() >= u32::MAX as usize {
            let message = format!("{} texts, one call takes 2**32 - 2 at most", texts.len());
            return Err(input_error(py, message));
        }
        let threads = limits.threads.unwrap_or(1);
        let pairs = run(py, &reporter, |shared| {
            let looked =
                of_all(self, &texts, threads, shared, |hasher, _, text| looked_at(hasher, text))?;
            // Texts without features are no documents.
            let mut documents = Documents::new();
            let mut rows = Vec::new();
            for (row, looked) in (0_u32..).zip(&looked) {
                if let Some((fingerprint, features)) = looked {
                    documents.push(*fingerprint, features);
                    rows.push(row);
                }
            }
            let options: JoinOptions = limits.join(k, shared).max_pairs(most);
            let mut candidates = documents.candidates(&options)?;
            for (document, &row) in (0_u32..).zip(&rows) {
                if candidates.needs(document)
                    && let Some((_, features)) = &looked[row as usize]
                {
                    candidates.take(document, features)?;
                }
            }
            drop(looked);
            let mut pairs: Vec<(u32, u32, u8, f64)> = Vec::new();
            candidates.confirm(similarity)?.for_each_pair(false, |pair| {
                let (one, other) = (rows[pair.first as usize], rows[pair.second as usize]);
                // A distance is at most 64.
                let distance = pair.distance() as u8;
                pairs.push((one.min(other), one.max(other), distance, pair.similarity));
                Ok::<(), Failure>(())
            })?;
            pairs.sort_unstable_by_key(|&(first, second, ..)| (first, second));
            Ok(pairs)
        })?;
        let schema = schema_of([
            plain("first", DataType::UInt32),
            plain("second", DataType::UInt32),
            plain("distance", DataType::UInt8),
            plain("similarity", DataType::Float64),
        ]);
        let columns = [
            Some(array(UInt32Array::from_iter_values(pairs.iter().map(|of| of.0)))),
            Some(array(UInt32Array::from_iter_values(pairs.iter().map(|of| of.1)))),
            Some(array(UInt8Array::from_iter_values(pairs.iter().map(|of| of.2)))),
            Some(array(Float64Array::from_iter_values(pairs.iter().map(|of| of.3)))),
        ];
        let batch = batch_of(&schema, columns)?;
        Ok(Rows::new(schema, vec![batch]))
    }
}
