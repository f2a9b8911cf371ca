//! Cleaning the documents of a data frame with an engine such as Spark: describes each document,
//! and groups near documents.
//!
//! The decision on a document depends only on the documents of its group. So an engine collects each
//! group, and a task cleans it as a table.
//!
//! Input: the texts. Output: features and a merit (its rank by `keep`) for each document, then the
//! group of each document with a near one. Cost: one pass over the texts, and the comparison of a
//! cleaning. For example, the texts `a b c d`, `x y` and `a b c d` give one group, of the rows 0
//! and 2.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use arrow_array::builder::{BinaryBuilder, UInt64Builder};
use arrow_array::{Array, ArrayRef};
use fpstore::join::confirm::{FeatureSets, Likeness, feature_digest, lead_sets};
use fpstore::join::{JoinOptions, dedup};
use fpstore::{BuildOptions, Fingerprint, IdPolicy, IdRef, Resources, TemporaryBuilder};
use fpstore_base::IoError;
use fpstore_corpus::{Cleaner, DocumentSource, KeepRules};
use fpstore_disk::{ScratchFile, ScratchFolder};
use fpstore_documents::DocumentOptions;
use pyo3::prelude::*;

use super::groups::bytes_of;
use crate::capsule::arrays_of;
use crate::columns::{RowsBuilder, U64};
use crate::documents::{self, reasons_of, rules_of};
use crate::errors::{Failure, input_error};
use crate::input::arguments::{path_or_none, text, text_or_none};
use crate::input::column_named;
use crate::input::fingerprints::extend_by_arrow;
use crate::input::whole::{Whole, wide, wide_bytes};
use crate::options::{Limits, TASK_MEMORY, distance_of};
use crate::rows::Rows;
use crate::text::{Recipe, looked_at, of_all};
use crate::work::{Reporter, run};

/// The column names of descriptions of documents.
const NAMES: [&str; 3] = ["fingerprint", "features", "merit"];

/// Describes documents by fingerprint, features and merit, as the input of `group_documents`.
///
/// Parameters
/// ----------
/// documents : Arrow table or Documents
///     The table, or `Documents` with the table and the name of its column of texts.
/// recipe : Recipe
/// compared : bool, default False
///     Whether features will be compared, like in `clean` with `confirm`.
/// keep, source_field
///     The same as for `clean`.
#[doc = parameters!(task_threads)]
///
/// Returns
/// -------
/// Rows
///     For each document: `fingerprint`, null for a document without features; `features`, the
///     bytes of its ascending 64-bit feature hashes if `compared`; and `merit`. Of near documents,
///     the one with the largest `merit`, compared as bytes, is kept; among equal merits the first
///     document, or with `keep="last"` the last one.
///
/// Examples
/// --------
/// >>> import pyarrow as pa
/// >>> table = pa.table({"text": ["one two three", ""], "date": ["2026-11-23", None]})
/// >>> known = fpstore.tasks.describe_documents(table, fpstore.Recipe(), keep="newest:date")
/// >>> pa.table(known)["fingerprint"].null_count, known["merit"][0] > known["merit"][1]
/// (1, True)
#[pyfunction]
#[pyo3(signature = (
    documents, recipe, *, compared=false, keep="first", source_field=None, threads=1
))]
pub(crate) fn describe_documents(
    py: Python<'_>,
    documents: &Bound<'_, PyAny>,
    recipe: &Recipe,
    compared: bool,
    #[pyo3(from_py_with = text)] keep: &str,
    #[pyo3(from_py_with = text_or_none)] source_field: Option<String>,
    #[pyo3(from_py_with = wide)] threads: i128,
) -> PyResult<Rows> {
    recipe.check_takes_texts(py)?;
    let rules = rules_of(py, keep)?;
    let threads = Limits::new(py, Some(threads.into()), None, None)?.threads();
    let names = rules.field_names(source_field.as_deref(), None);
    let columns = (UInt64Builder::new(), BinaryBuilder::new(), BinaryBuilder::new());
    let mut rows = RowsBuilder::new(NAMES, columns);
    let mut before = 0;
    let documents = documents::Documents::of(documents)?;
    documents.get().each_arrow_part(py, names.clone(), |texts, values| {
        let merit = |row: usize| {
            let value = |name: &str| {
                let at = names.iter().position(|other| other == name)?;
                values[at][row].as_deref()
            };
            let text_len = texts.get(row).map_or(0, str::len) as u64;
            let merit = rules.merit(source_field.as_deref(), value, text_len);
            merit.map_err(|error| Failure::Input(format!("row {}: {error}", before + row)))
        };
        run(py, &Reporter::default(), |shared| {
            let known = of_all(recipe, texts, threads, shared, |hasher, _, text| match compared {
                true => looked_at(hasher, text),
                false => Some((hasher.fingerprint(text)?, Vec::new())),
            })?;
            for (row, known) in known.into_iter().enumerate() {
                let (fingerprint, features) = known.unzip();
                let fingerprint = fingerprint.map(Fingerprint::value);
                let features: Vec<u8> =
                    features.iter().flatten().flat_map(|hash| hash.to_le_bytes()).collect();
                rows.keep((fingerprint, features.as_slice(), merit(row)?.as_slice()))?;
            }
            Ok(())
        })?;
        before += texts.len();
        Ok(())
    })?;
    Ok(rows.finish()?)
}

/// How the rules `keep` rank documents: the columns that they need besides texts, whether the last
/// of equal documents is kept, the number of rules in a `merit`, and the number of bytes of each
/// rule.
#[pyfunction]
pub(crate) fn _keep_order(
    py: Python<'_>,
    #[pyo3(from_py_with = text)] keep: &str,
    #[pyo3(from_py_with = text_or_none)] source_field: Option<&str>,
) -> PyResult<(Vec<String>, bool, usize, usize)> {
    let rules = rules_of(py, keep)?;
    let count = rules.merit(source_field, |_| None, 0).map_err(Failure::from)?.len();
    let fields = rules.field_names(source_field, None);
    let len = KeepRules::MERIT_LEN;
    Ok((fields, rules.keeps_last(), count / len, len))
}

/// The criterion for near texts in a cleaning with these settings: the minimum similarity if
/// features decide, else `None`, and the maximum distance.
#[pyfunction]
pub(crate) fn _near_rule(
    py: Python<'_>,
    recipe: &Recipe,
    confirm: Option<f64>,
    confirm_contains: Option<f64>,
    k: Option<Whole>,
    #[pyo3(from_py_with = text_or_none)] judge: Option<&str>,
) -> PyResult<(Option<f64>, u32)> {
    let k = k.map(|k| distance_of(py, k)).transpose()?;
    let source = DocumentSource::of_texts(recipe.hasher()?, DocumentOptions::default());
    let judge = reasons_of(py, judge)?;
    let cleaner = Cleaner { confirm, confirm_contains, k, judge, ..Cleaner::new(source, [""; 0]) };
    Ok(cleaner.near().map_err(Failure::from)?)
}

/// Refuses rules whose field no document has. `found` contains, for each part of a `merit`, whether
/// the part is set in any document.
#[pyfunction]
pub(crate) fn _check_merits(
    py: Python<'_>,
    #[pyo3(from_py_with = text)] keep: &str,
    found: Vec<bool>,
) -> PyResult<()> {
    let rules = rules_of(py, keep)?;
    let is_found = |at: usize| found.get(at).copied().unwrap_or_default();
    Ok(rules.check_found(is_found).map_err(Failure::from)?)
}

/// Groups near documents. A group is a document that a cleaning keeps, with its near documents; a
/// document near several kept documents is in the group of the best one. Cleaning each group by
/// itself, with its documents in this order, gives the same result as cleaning all documents
/// together; several groups may be cleaned together, too.
///
/// With a similarity, features are written to a temporary file, and each document takes 70 bytes of
/// memory; without a similarity, 60 bytes. The comparison takes `memory` in addition.
///
/// Parameters
/// ----------
/// described : Rows, Arrow table, or iterator over these
///     All rows of `describe_documents`, sorted by descending `merit`, equal merits in the order of
///     the documents in the cleaning.
/// k : int, default 0
///     Maximum distance of near documents, if no similarity is given.
/// confirm : float, optional
///     Minimum similarity; give 0 to require only `confirm_contains`.
/// confirm_contains : float, optional
///     The same as for `clean`.
#[doc = parameters!(task_threads task_memory temp_dir)]
///
/// Returns
/// -------
/// Rows
///     Rows of `row`, the number of a document, and `group`, the number of the best document of its
///     group. Documents without neighbours are omitted.
///
/// Examples
/// --------
/// >>> import pyarrow as pa
/// >>> texts = ["one two three four", "some other text", "one two three four"]
/// >>> known = fpstore.tasks.describe_documents(pa.table({"text": texts}), fpstore.Recipe())
/// >>> fpstore.tasks.group_documents(known, 3).to_pylist()
/// [(0, 0), (2, 0)]
#[pyfunction]
#[pyo3(signature = (
    described, k=None, confirm=None, confirm_contains=None, *, threads=1, memory=TASK_MEMORY,
    temp_dir=None
))]
pub(crate) fn group_documents(
    py: Python<'_>,
    described: &Bound<'_, PyAny>,
    k: Option<Whole>,
    confirm: Option<f64>,
    confirm_contains: Option<f64>,
    #[pyo3(from_py_with = wide)] threads: i128,
    #[pyo3(from_py_with = wide_bytes)] memory: i128,
    #[pyo3(from_py_with = path_or_none)] temp_dir: Option<PathBuf>,
) -> PyResult<Rows> {
    let k = k.map_or(Ok(0), |k| distance_of(py, k))?;
    let limits = Limits::new(py, Some(threads.into()), Some(memory.into()), temp_dir.clone())?;
    let folder = temp_dir.unwrap_or_else(std::env::temp_dir);
    let likeness = confirm.map(|least| Likeness::from(least).contained(confirm_contains));
    let compared = likeness.map(|_| FeatureFile::create(&folder)).transpose().map_err(failed)?;
    let mut given = Given { compared, values: Vec::new(), rows: Vec::new(), row_count: 0 };
    add_all(described, &mut given)?;
    run(py, &Reporter::default(), move |shared| {
        let options = limits.join(k, shared);
        let leaders = match (likeness, &given.compared) {
            (Some(likeness), Some(file)) => file.leaders(likeness, &options)?,
            _ => near_leaders(&given.values, &folder, limits.given(shared), &options)?,
        };
        let mut has_led = vec![false; leaders.len()];
        let of_others = (0_u32..).zip(&leaders).filter(|(at, leader)| at != *leader);
        of_others.for_each(|(_, &leader)| has_led[leader as usize] = true);
        let grouped =
            (0..).zip(&leaders).filter(|&(at, &leader)| at != leader || has_led[at as usize]);
        let rows =
            grouped.map(|(at, &leader)| (given.rows[at as usize], given.rows[leader as usize]));
        RowsBuilder::of(["row", "group"], (U64::default(), U64::default()), rows)
    })
}

/// For each fingerprint, the position of the kept fingerprint that represents it, possibly its own.
fn near_leaders(
    values: &[u64],
    folder: &Path,
    resources: Resources,
    options: &JoinOptions,
) -> Result<Vec<u32>, Failure> {
    let build = BuildOptions::default().ids(IdPolicy::U64).resources(resources);
    let mut store = TemporaryBuilder::create(folder, build)?;
    for (&value, at) in values.iter().zip(0_u64..) {
        store.builder().push(Fingerprint::new(value), at)?;
    }
    let store = store.finish()?;
    let mut leaders: Vec<u32> = (0..values.len() as u32).collect();
    let position = |id: Option<IdRef<'_>>| match id {
        Some(IdRef::U64(at)) => at as u32,
        _ => unreachable!("ids are positions"),
    };
    dedup(store.store(), None, true, options)?.for_each_dropped(|dropped| {
        leaders[position(dropped.id) as usize] = position(dropped.other_id);
        Ok::<(), fpstore::Error>(())
    })?;
    Ok(leaders)
}

/// The distinct feature sets of documents, in a temporary file.
struct FeatureFile {
    file: ScratchFile,
    /// The end of each feature set in the file, counted in features.
    ends: Vec<u64>,
    /// The first document of each feature set; `of_documents` is the set of each document.
    firsts: Vec<u32>,
    of_documents: Vec<u32>,
    /// The number of each feature set, by the digest of its features.
    sets: HashMap<u64, u32>,
}

impl FeatureFile {
    fn create(folder: &Path) -> Result<Self, IoError> {
        let file = ScratchFile::create(&ScratchFolder::new(folder.into()))?;
        let (ends, firsts, of_documents) = (Vec::new(), Vec::new(), Vec::new());
        Ok(FeatureFile { file, ends, firsts, of_documents, sets: HashMap::new() })
    }

    /// Adds the features of the next document.
    fn push(&mut self, features: &[u64]) -> fpstore::Result<()> {
        let next = self.firsts.len() as u32;
        let set = *self.sets.entry(feature_digest(features)).or_insert(next);
        if set == next {
            self.firsts.push(self.of_documents.len() as u32);
            self.file.append(bytemuck::cast_slice(features))?;
            self.ends.push(self.file.len() / 8);
        }
        self.of_documents.push(set);
        Ok(())
    }

    /// For each document, the position of the kept document that represents it, possibly its own.
    fn leaders(&self, likeness: Likeness, options: &JoinOptions) -> fpstore::Result<Vec<u32>> {
        let mut leaders: Vec<u32> = (0..self.count()).collect();
        let (led, _) = lead_sets(self, likeness, options, |_| ())?;
        led.iter().for_each(|led| leaders[led.set as usize] = led.leader);
        let first = |&set: &u32| self.firsts[leaders[set as usize] as usize];
        Ok(self.of_documents.iter().map(first).collect())
    }
}

impl FeatureSets for FeatureFile {
    fn count(&self) -> u32 {
        self.ends.len() as u32
    }

    fn range_of(&self, set: u32) -> Range<u64> {
        let start = set.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        start..self.ends[set as usize]
    }

    fn read_at(&self, start: u64, features: &mut [u64]) -> fpstore::Result<()> {
        Ok(self.file.read_at(bytemuck::cast_slice_mut(features), 8 * start)?)
    }
}

/// The described documents added so far.
struct Given {
    /// The features, if a similarity is given; otherwise `values` contains the fingerprints.
    compared: Option<FeatureFile>,
    values: Vec<u64>,
    /// The numbers of the rows with a fingerprint.
    rows: Vec<u64>,
    row_count: u64,
}

fn add_all(described: &Bound<'_, PyAny>, given: &mut Given) -> PyResult<()> {
    let py = described.py();
    if let Some(arrays) = arrays_of(described, "described documents")? {
        for table in arrays {
            add(py, &table?, given)?;
            py.check_signals()?;
        }
        return Ok(());
    }
    for part in described.try_iter()? {
        add_all(&part?, given)?;
    }
    Ok(())
}

fn add(py: Python<'_>, table: &ArrayRef, given: &mut Given) -> PyResult<()> {
    let column = |name: &str| -> PyResult<&ArrayRef> {
        column_named(py, table, name)?.ok_or_else(|| {
            let message = format!("described documents need the columns {}", NAMES.join(", "));
            input_error(py, format!("there is no '{name}': {message}"))
        })
    };
    let (known, all_features) = (column("fingerprint")?, column("features")?);
    let mut values = Vec::new();
    // Values of rows without a fingerprint are arbitrary.
    let nulls = known.logical_nulls();
    if nulls.as_ref().is_none_or(|nulls| nulls.null_count() < known.len()) {
        extend_by_arrow(py, known, &mut values)?;
    }
    let mut features: Vec<u64> = Vec::new();
    for (row, value) in values.iter().enumerate() {
        if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            continue;
        }
        given.rows.push(given.row_count + row as u64);
        let Some(compared) = &mut given.compared else {
            given.values.push(value.value());
            continue;
        };
        let bytes = bytes_of(all_features, row).ok_or_else(|| {
            input_error(py, format!("features must be binary, not {}", all_features.data_type()))
        })?;
        let (numbers, rest) = bytes.as_chunks();
        features.clear();
        features.extend(numbers.iter().map(|number| u64::from_le_bytes(*number)));
        if !rest.is_empty() || features.is_empty() || !features.is_sorted_by(|a, b| a < b) {
            let message = format!(
                "row {}: the features are not those of describe_documents with compared=True",
                given.row_count + row as u64
            );
            return Err(input_error(py, message));
        }
        compared.push(&features).map_err(failed)?;
    }
    if given.rows.len() > u32::MAX as usize {
        return Err(input_error(py, "there are more than 2**32 - 1 documents"));
    }
    given.row_count += known.len() as u64;
    Ok(())
}

fn failed(error: impl Into<fpstore::Error>) -> PyErr {
    Failure::from(error.into()).into()
}
