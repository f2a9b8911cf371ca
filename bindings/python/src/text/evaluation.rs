//! The class `Evaluation` and the function `evaluate`: how well fingerprints find labelled
//! duplicates at each distance.

use std::sync::Arc;

use fpstore::Fingerprint;
use fpstore_documents::{Admission, hash_documents};
use fpstore_report::evaluate::{
    BadPair, Evaluation as Measured, Expected, Label, LabelledPairs, MeasuredDocuments, Point, svg,
};
use numpy::PyArrayMethods;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::recipe::hasher_of;
use crate::documents::{Documents, labels_of, of_row};
use crate::errors::{Failure, input_error};
use crate::input::fingerprints::many_or_null;
use crate::input::ids;
use crate::input::whole::Whole;
use crate::notebook::framed;
use crate::options::Limits;
use crate::store::if_store;
use crate::tuple_class::{FRAMES, answer};
use crate::work::{Reporter, run};

/// The results of an evaluation at each distance. A notebook shows their curves.
#[pyclass(frozen, module = "fpstore")]
pub(crate) struct Evaluation(Measured);

/// The whole numbers in an array. With `count` they are row numbers, which must be below it.
fn rows_of(object: &Bound<'_, PyAny>, count: Option<usize>, name: &str) -> PyResult<Vec<i64>> {
    let py = object.py();
    let array = py.import("numpy")?.call_method1("asarray", (object,))?;
    let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
    let size: usize = array.getattr("size")?.extract()?;
    if size > 0 && kind != "i" && kind != "u" {
        return Err(input_error(py, format!("{name} must be whole numbers")));
    }
    let dimensions: usize = array.getattr("ndim")?.extract()?;
    if dimensions != 1 {
        let message = format!("{name} must have one dimension, not {dimensions}");
        return Err(input_error(py, message));
    }
    let array = array.call_method1("astype", ("int64",))?;
    let array = array.cast_into::<numpy::PyArray1<i64>>().map_err(PyErr::from)?;
    let rows = array.try_readonly()?.as_array().to_vec();
    if kind == "u" && rows.iter().any(|row| *row < 0) {
        return Err(input_error(py, format!("{name} has numbers of 2**63 or more")));
    }
    if let Some(count) = count
        && let Some(row) = rows.iter().find(|row| **row < 0 || **row as usize >= count)
    {
        let message = format!("{name}: there is no row {row}, there are {count} rows");
        return Err(input_error(py, message));
    }
    Ok(rows)
}

/// Evaluates how well fingerprints find labelled duplicates, given by row numbers or by ids.
///
/// Parameters
/// ----------
/// fingerprints : array, list, Column, Store or Documents
/// first, second : array or list of int, optional
///     The row numbers of the two fingerprints of each pair.
/// labels : array or list of int or bool, optional
///     1 for duplicates (the default), 0 for pairs that are no duplicates, -1 for pairs to skip.
/// pairs : path or table, optional
///     Labelled pairs of ids, given instead of row numbers: a file with two ids and a label on each
///     line, separated by tabs, or as CSV, or a table with these columns.
/// ids : array or list, optional
///     The ids of the fingerprints; a store and `Documents` contain their ids.
/// recipe : Recipe or str, optional
///     The recipe that makes the fingerprints of `Documents`.
/// unlisted_differ : bool, default False
///     Whether every pair that is not listed counts as different.
#[doc = parameters!(threads progress)]
///
/// Returns
/// -------
/// fpstore.types.Evaluation
///
/// Examples
/// --------
/// >>> found = fpstore.evaluate([0, 1, 255], [0, 0], [1, 2], [1, 0])
/// >>> found.best.k, found.best.f1
/// (1, 1.0)
/// >>> labels = folder / "labels.tsv"
/// >>> _ = labels.write_text("a.html\tb.html\t1\na.html\tc.html\t0\n")
/// >>> fpstore.evaluate(store, pairs=labels).best.k
/// 1
#[pyfunction]
#[pyo3(signature = (
    fingerprints, first=None, second=None, labels=None, *, pairs=None, ids=None, recipe=None,
    unlisted_differ=false, threads=None, progress=None
))]
pub(crate) fn evaluate(
    py: Python<'_>,
    fingerprints: &Bound<'_, PyAny>,
    first: Option<&Bound<'_, PyAny>>,
    second: Option<&Bound<'_, PyAny>>,
    labels: Option<&Bound<'_, PyAny>>,
    pairs: Option<&Bound<'_, PyAny>>,
    ids: Option<&Bound<'_, PyAny>>,
    recipe: Option<&Bound<'_, PyAny>>,
    unlisted_differ: bool,
    threads: Option<Whole>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Evaluation> {
    let is_given = [
        ("first", first.is_some()),
        ("second", second.is_some()),
        ("labels", labels.is_some()),
        ("ids", ids.is_some()),
        ("recipe", recipe.is_some()),
        ("threads", threads.is_some()),
        ("progress", progress.is_some()),
    ];
    if let Some(pairs) = pairs {
        if let Some((name, _)) = is_given[..3].iter().find(|(_, is_given)| *is_given) {
            let message = format!("pairs names the documents and has the labels; leave {name} out");
            return Err(input_error(py, message));
        }
        let labels = labels_of(pairs)?;
        let reporter = Reporter::new(progress)?.phases(2);
        let found = measured(fingerprints, ids, recipe, threads, &reporter)?;
        let numbered = found.pairs(&labels);
        let numbered = numbered.map_err(|fault| input_error(py, format!("{pairs}: {fault}")))?;
        return run(py, &reporter, |shared| {
            let observer = Some(shared.observer());
            Ok(Evaluation(found.evaluate(&numbered, unlisted_differ, observer)?))
        });
    }
    if let Some((name, _)) = is_given[3..].iter().find(|(_, is_given)| *is_given) {
        let message = format!("{name} has no meaning without pairs, a file of labels by id");
        return Err(input_error(py, message));
    }
    let (Some(first), Some(second)) = (first, second) else {
        let message = "give the rows of labelled pairs as first and second, or a file as pairs";
        return Err(input_error(py, message));
    };
    let values = many_or_null(fingerprints)?;
    let (first, second) = (
        rows_of(first, Some(values.len()), "first")?,
        rows_of(second, Some(values.len()), "second")?,
    );
    let labels = match labels {
        Some(labels) => {
            let whole = py.import(FRAMES)?.call_method1("whole_labels", (labels,))?;
            rows_of(&whole, None, "labels")?
        }
        None => vec![1; first.len()],
    };
    if first.len() != second.len() || first.len() != labels.len() {
        let message = format!(
            "{} first rows, {} second rows and {} labels, expected as many of each",
            first.len(),
            second.len(),
            labels.len()
        );
        return Err(input_error(py, message));
    }
    let mut pairs = LabelledPairs::default();
    for ((&one, &other), &label) in first.iter().zip(&second).zip(&labels) {
        let label = match label {
            1 => Label::Duplicate,
            0 => Label::Different,
            -1 => Label::Ignored,
            _ => {
                let expected = "expected 1 for duplicates, 0 for others, -1 for neither";
                return Err(input_error(py, format!("label {label}, {expected}")));
            }
        };
        let inserted = pairs.insert(one as usize, other as usize, label);
        inserted.map_err(|fault| match fault {
            BadPair::OneDocument => input_error(py, format!("row {one} is paired with itself")),
            BadPair::TwoLabels => {
                input_error(py, format!("the pair of rows {one} and {other} has two labels"))
            }
        })?;
    }
    run(py, &Reporter::default(), |shared| {
        let values: Vec<Option<Fingerprint>> =
            (0..values.len()).map(|row| values.get(row)).collect();
        let observer = Some(shared.observer());
        Ok(Evaluation(Measured::of(&pairs, &values, unlisted_differ, observer)?))
    })
}

/// The documents whose ids occur in labelled pairs, with their fingerprints.
fn measured(
    fingerprints: &Bound<'_, PyAny>,
    ids: Option<&Bound<'_, PyAny>>,
    recipe: Option<&Bound<'_, PyAny>>,
    threads: Option<Whole>,
    reporter: &Reporter,
) -> PyResult<MeasuredDocuments> {
    let py = fingerprints.py();
    if let Some(store) = if_store(fingerprints, "fingerprints")? {
        refuse("ids", ids, "the ids come from the store")?;
        refuse("recipe", recipe, "the recipe comes from the store")?;
        return run(py, reporter, |_| {
            let mut found = MeasuredDocuments::default();
            found.push_store(&store)?;
            Ok(found)
        });
    }
    if let Ok(documents) = fingerprints.cast::<Documents>() {
        refuse("ids", ids, "the ids come from the documents, see id_field")?;
        let hasher = hasher_of(recipe, None)?;
        let limits = Limits::new(py, threads, None, None)?;
        let documents = documents.get().readable(py, &limits.given(&Arc::default()))?;
        return run(py, reporter, |shared| {
            let mut found = MeasuredDocuments::default();
            let options = documents.options.clone().observer(shared.observer());
            let read = hash_documents(&documents.paths, &hasher, &options, |document| {
                found.push(document.id.to_string(), document.fingerprint)?;
                Ok::<_, fpstore_corpus::Error>(Admission::Taken)
            });
            read.map_err(|error| of_row(Failure::Corpus(error), &documents))?;
            Ok(found)
        });
    }
    refuse("recipe", recipe, "the fingerprints are ready-made; it is for Documents")?;
    let Some(ids) = ids else {
        let message = "pairs identify documents by id: give ids, a store or Documents";
        return Err(input_error(py, message));
    };
    let (values, ids) = (many_or_null(fingerprints)?, ids::many(ids)?);
    if values.len() != ids.len() {
        let (values, ids) = (values.len(), ids.len());
        let message = format!("{values} fingerprints and {ids} ids, expected one id for each");
        return Err(input_error(py, message));
    }
    let mut found = MeasuredDocuments::default();
    for (at, id) in ids.iter().enumerate() {
        found.push(id.to_string(), values.get(at)).map_err(Failure::from)?;
    }
    Ok(found)
}

/// Refuses an argument that has no meaning beside the other arguments.
fn refuse(name: &str, given: Option<&Bound<'_, PyAny>>, why: &str) -> PyResult<()> {
    match given {
        Some(given) => Err(input_error(given.py(), format!("leave {name} out: {why}"))),
        None => Ok(()),
    }
}

fn python_of<'py>(py: Python<'py>, of: &Point) -> PyResult<Bound<'py, PyAny>> {
    let Point { k, found, wrong, missed, precision, recall, f1 } = *of;
    answer!(py, "Point", k, found, wrong, missed, precision, recall, f1)
}

fn expected_of<'py>(py: Python<'py>, of: &Expected) -> PyResult<Bound<'py, PyAny>> {
    let Expected { k, found, wrong, by_chance, precision, recall, f1 } = *of;
    answer!(py, "Expected", k, found, wrong, by_chance, precision, recall, f1)
}

#[pymethods]
impl Evaluation {
    /// The results for each `k` from 0 to 32.
    #[getter]
    fn points<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let points: PyResult<Vec<_>> = self.0.points().iter().map(|of| python_of(py, of)).collect();
        PyList::new(py, points?)
    }

    /// The point with the greatest F1.
    #[getter]
    fn best<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        python_of(py, &self.0.best())
    }

    /// The area under the curve of precision over recall.
    #[getter]
    fn area(&self) -> f64 {
        self.0.area()
    }

    /// The number of pairs labelled as duplicates.
    #[getter]
    fn duplicates(&self) -> u64 {
        self.0.duplicate_count()
    }

    /// The number of pairs labelled, or counted, as different.
    #[getter]
    fn others(&self) -> u64 {
        self.0.other_count()
    }

    /// The expected results for each `k` in a larger collection of similar documents. They are
    /// valid only if all pairs were measured, with `unlisted_differ`.
    ///
    /// Parameters
    /// ----------
    /// collection_size : int
    ///     The number of documents in the collection.
    ///
    /// Returns
    /// -------
    /// fpstore.types.Forecast
    ///
    /// Examples
    /// --------
    /// >>> found = fpstore.evaluate([0, 1, 255], [0], [1], unlisted_differ=True)
    /// >>> found.forecast(10_000).recommended_k
    /// 1
    #[pyo3(signature = (collection_size, /))]
    fn forecast<'py>(&self, py: Python<'py>, collection_size: u64) -> PyResult<Bound<'py, PyAny>> {
        let forecast = self.0.forecast(collection_size);
        let points: PyResult<Vec<_>> =
            forecast.points.iter().map(|of| expected_of(py, of)).collect();
        answer!(py, "Forecast", collection_size, forecast.recommended_k, points?)
    }

    /// An SVG picture of precision, recall and F1 over the distance.
    fn svg(&self) -> String {
        svg(&[("fingerprints", &self.0)])
    }

    /// The SVG picture in a frame.
    fn _repr_html_(&self) -> String {
        // Limits the height of the picture, so that it also fits into a wide frame.
        let style = "body{margin:0}svg{display:block;max-height:100vh}";
        let head = format!("<!doctype html><meta charset=\"utf-8\"><style>{style}</style>");
        let page = format!("{head}<body>{}</body>", self.svg());
        framed(&page, "32em", "")
    }

    fn __reduce__(&self) -> PyResult<()> {
        let message = "an evaluation cannot be pickled; pickle points or svg()";
        Err(PyTypeError::new_err(message))
    }

    fn __repr__(&self) -> String {
        let Point { k, f1, .. } = self.0.best();
        let duplicates = self.duplicates();
        format!("<fpstore.Evaluation of {duplicates} duplicates: best F1 {f1:.3} at k = {k}>")
    }
}
