//! Cleaning documents of a data frame with an engine: a description of each document, and the
//! groups that one process must compare.
//!
//! The decision on a document depends only on documents that are connected with it by candidate
//! pairs. So an engine collects each such group, and a task cleans it as a table.
//!
//! Input: the texts. Output: a digest, an outline and a merit for each document, then the group of
//! each document with a candidate pair. Cost: one pass over the texts, and one join of the
//! fingerprints. For example, the texts `a b c d`, `x y` and `a b c d` give one group, of the rows
//! 0 and 2.

use std::path::PathBuf;

use arrow_array::builder::{BinaryBuilder, UInt64Builder};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use fpstore::Fingerprint;
use fpstore::join::confirm::{Confirmer, Documents, OUTLINE_LEN, Outline, feature_digest};
use fpstore_corpus::{Cleaner, DocumentSource, KeepRules};
use fpstore_documents::DocumentOptions;
use fpstore_text::TextHasher;
use pyo3::prelude::*;

use crate::capsule::arrays_of;
use crate::columns::{I64, RowsBuilder, U64};
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

/// The columns of descriptions.
const NAMES: [&str; 4] = ["fingerprint", "digest", "outline", "merit"];

/// The features of a document: digest and outline.
type Known = (u64, Option<Outline>);

/// The fingerprint of a text, with digest and outline if features will be compared.
fn known_of(hasher: &mut TextHasher, text: &str, compared: bool) -> Option<(Fingerprint, Known)> {
    if !compared {
        return Some((hasher.fingerprint(text)?, (0, None)));
    }
    let (fingerprint, features) = looked_at(hasher, text)?;
    Some((fingerprint, (feature_digest(&features), Outline::of(&features))))
}

/// Describes documents, to find out which ones a cleaning must compare.
///
/// Parameters
/// ----------
/// documents : Arrow table or Documents
///     The table, or `Documents` with it and the name of the column of texts.
/// recipe : Recipe
/// compared : bool, default False
///     Whether features will be compared, as in `clean` with `confirm`.
/// keep, source_field
///     As for `clean`.
#[doc = parameters!(task_threads)]
///
/// Returns
/// -------
/// Rows
///     For each document `fingerprint`, which is null without features, `digest` and `outline` of
///     the features, and `merit`. Of near documents the one with the largest `merit`, compared as
///     bytes, is kept; among equal merits the first one, or with `keep="last"` the last one.
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
    let columns =
        (UInt64Builder::new(), U64::default(), BinaryBuilder::new(), BinaryBuilder::new());
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
            let known = of_all(recipe, texts, threads, shared, |hasher, _, text| {
                known_of(hasher, text, compared)
            })?;
            for (row, known) in known.into_iter().enumerate() {
                let (fingerprint, (digest, outline)) = match known {
                    Some((fingerprint, known)) => (Some(fingerprint.value()), known),
                    None => (None, (0, None)),
                };
                let outline = outline.map(|outline| outline.to_bytes());
                let outline = outline.as_ref().map_or(&[][..], |bytes| bytes);
                rows.keep((fingerprint, digest, outline, merit(row)?.as_slice()))?;
            }
            Ok(())
        })?;
        before += texts.len();
        Ok(())
    })?;
    Ok(rows.finish()?)
}

/// The order in which a cleaning keeps documents by the rules `keep`: the columns that it needs
/// besides texts, whether the last of equal documents is kept, the number of rules in a `merit`,
/// and the number of bytes for each rule.
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

/// The similarity that near texts need, if features decide, and the distance within which they are
/// compared, for a cleaning of new texts with these settings.
#[pyfunction]
pub(crate) fn _near_rule(
    py: Python<'_>,
    recipe: &Recipe,
    confirm: Option<f64>,
    k: Option<Whole>,
    #[pyo3(from_py_with = text_or_none)] judge: Option<&str>,
) -> PyResult<(Option<f64>, u32)> {
    let k = k.map(|k| distance_of(py, k)).transpose()?;
    let source = DocumentSource::of_texts(recipe.hasher()?, DocumentOptions::default());
    let judge = reasons_of(py, judge)?;
    let cleaner = Cleaner { confirm, k, judge, ..Cleaner::new(source, [""; 0]) };
    Ok(cleaner.near().map_err(Failure::from)?)
}

/// Refuses rules whose field no document has. `found` is, for each part of a `merit`, whether it is
/// set in any document.
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

/// Groups the documents that a cleaning compares. All documents of a group must be cleaned
/// together, in their order; several groups may be cleaned together. Takes 110 bytes of memory for
/// each document, in addition to the join.
///
/// Parameters
/// ----------
/// described : Rows, Arrow table, or iterator over these
///     All rows of `describe_documents`.
/// k : int
///     Distance of candidates.
/// confirm : float, optional
///     Minimum similarity.
#[doc = parameters!(task_threads task_memory temp_dir)]
///
/// Returns
/// -------
/// Rows
///     `row`, the number of the document, and `group`, the smallest fingerprint of the group as a
///     signed number. The order of documents does not affect it. Documents without neighbours are
///     omitted.
///
/// Examples
/// --------
/// >>> import pyarrow as pa
/// >>> texts = ["one two three four", "some other text", "one two three four"]
/// >>> known = fpstore.tasks.describe_documents(pa.table({"text": texts}), fpstore.Recipe())
/// >>> fpstore.tasks.group_documents(known, 3)["row"]
/// array([0, 2], dtype=uint64)
#[pyfunction]
#[pyo3(signature = (
    described, k, confirm=None, *, threads=1, memory=TASK_MEMORY, temp_dir=None
))]
pub(crate) fn group_documents(
    py: Python<'_>,
    described: &Bound<'_, PyAny>,
    k: Whole,
    confirm: Option<f64>,
    #[pyo3(from_py_with = wide)] threads: i128,
    #[pyo3(from_py_with = wide_bytes)] memory: i128,
    #[pyo3(from_py_with = path_or_none)] temp_dir: Option<PathBuf>,
) -> PyResult<Rows> {
    let k = distance_of(py, k)?;
    let limits = Limits::new(py, Some(threads.into()), Some(memory.into()), temp_dir)?;
    if let Some(similarity) = confirm {
        // The range is checked there.
        let options = limits.join(k, &Default::default());
        Confirmer::new(similarity, options).map_err(Failure::from)?;
    }
    let list = confirm.map_or_else(Documents::new, Documents::outlined);
    let mut given = Given { list, ..Given::default() };
    add_all(described, &mut given)?;
    let Given { list, values, rows, .. } = given;
    run(py, &Reporter::default(), move |shared| {
        let found = list.groups(&limits.join(k, shared))?;
        // The documents and the smallest fingerprint of each group, by group number.
        let mut groups = vec![(0_u32, u64::MAX); values.len()];
        let group_of = |at: usize| found.of(at as u32).unwrap_or_default() as usize;
        for (at, &value) in values.iter().enumerate() {
            let (count, least) = &mut groups[group_of(at)];
            (*count, *least) = (*count + 1, value.min(*least));
        }
        let grouped = rows.iter().enumerate().filter_map(|(at, &row)| {
            let (count, least) = groups[group_of(at)];
            (count > 1).then_some((row, least.cast_signed()))
        });
        RowsBuilder::of(["row", "group"], (U64::default(), I64::default()), grouped)
    })
}

/// The documents so far.
#[derive(Default)]
struct Given {
    list: Documents,
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
        let found = match table.data_type() {
            DataType::Struct(_) => column_named(py, table.as_struct(), name)?,
            _ => None,
        };
        found.ok_or_else(|| {
            let message = format!("described documents need the columns {}", NAMES.join(", "));
            input_error(py, format!("there is no '{name}': {message}"))
        })
    };
    let (known, outlines) = (column("fingerprint")?, column("outline")?);
    let (mut values, mut digests) = (Vec::new(), Vec::new());
    // Values of rows without a fingerprint are arbitrary.
    let nulls = known.logical_nulls();
    if nulls.as_ref().is_none_or(|nulls| nulls.null_count() < known.len()) {
        extend_by_arrow(py, known, &mut values)?;
        extend_by_arrow(py, column("digest")?, &mut digests)?;
    }
    for (row, (&value, digest)) in values.iter().zip(&digests).enumerate() {
        if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            continue;
        }
        let bytes = bytes_of(outlines, row).ok_or_else(|| {
            input_error(py, format!("outlines are binary, these are {}", outlines.data_type()))
        })?;
        let outline = Outline::from_bytes(bytes);
        if outline.is_none() && !bytes.is_empty() {
            let len = bytes.len();
            let message = format!(
                "an outline has {OUTLINE_LEN} bytes, these {len} bytes are not a valid \
                         outline"
            );
            return Err(input_error(py, message));
        }
        given.list.push_outlined(value, digest.value(), outline);
        given.values.push(value.value());
        given.rows.push(given.row_count + row as u64);
    }
    given.row_count += known.len() as u64;
    Ok(())
}

/// The bytes of a row of a binary column; `None` for another column.
fn bytes_of(column: &ArrayRef, row: usize) -> Option<&[u8]> {
    Some(match column.data_type() {
        DataType::Binary => column.as_binary::<i32>().value(row),
        DataType::LargeBinary => column.as_binary::<i64>().value(row),
        DataType::BinaryView => column.as_binary_view().value(row),
        _ => return None,
    })
}
