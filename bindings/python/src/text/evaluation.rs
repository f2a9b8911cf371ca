//! How well fingerprints find labelled duplicates, by distance.

use std::sync::atomic::{AtomicUsize, Ordering};

use fpstore::{Error, Fingerprint};
use fpstore_plot::{Chart, Label, Marks, Size};
use numpy::PyArrayMethods;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::errors::{Failure, input_error};
use crate::input::fingerprints::many_or_null;
use crate::work::{Reporter, Shared, cores, run};

/// The greatest distance of the curve. Of random fingerprints half of all pairs lie beyond it.
const K_MAX: usize = 32;
/// Rows that a thread compares with all later ones at a time.
const RANGE_LEN: usize = 64;

type Histogram = [u64; 65];

/// The labelled pairs that a distance finds.
#[derive(Clone, Copy)]
struct Point {
    k: usize,
    found: u64,
    wrong: u64,
    missed: u64,
    precision: f64,
    recall: f64,
    f1: f64,
}

/// How well fingerprints find labelled duplicates at each distance. A notebook shows the curves.
#[pyclass(frozen, module = "fpstore")]
pub(crate) struct Evaluation {
    points: Vec<Point>,
    duplicates: u64,
    others: u64,
}

fn points_of(duplicates: &Histogram, others: &Histogram, duplicate_count: u64) -> Vec<Point> {
    let (mut found, mut wrong) = (0, 0);
    let ratio = |part: u64, whole: u64| if whole == 0 { 1.0 } else { part as f64 / whole as f64 };
    (0..=K_MAX)
        .map(|k| {
            found += duplicates[k];
            wrong += others[k];
            let missed = duplicate_count - found;
            let precision = ratio(found, found + wrong);
            let recall = ratio(found, duplicate_count);
            let f1 = ratio(2 * found, 2 * found + wrong + missed);
            Point { k, found, wrong, missed, precision, recall, f1 }
        })
        .collect()
}

/// Counts all pairs of rows by distance.
fn all_distances(values: &[u64], shared: &Shared) -> Result<Histogram, Failure> {
    let next = AtomicUsize::new(0);
    let count_some = || {
        let mut counts = [0_u64; 65];
        loop {
            let start = next.fetch_add(RANGE_LEN, Ordering::Relaxed);
            if start >= values.len() || shared.is_stopped() {
                return counts;
            }
            for first in start..values.len().min(start + RANGE_LEN) {
                for other in &values[first + 1..] {
                    counts[(values[first] ^ other).count_ones() as usize] += 1;
                }
            }
        }
    };
    let mut sums = [0; 65];
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores()).map(|_| scope.spawn(count_some)).collect();
        for thread in threads {
            let counts =
                thread.join().map_err(|_| Failure::Panic("a thread ended early".into()))?;
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        if shared.is_stopped() { Err(Error::Interrupted.into()) } else { Ok(sums) }
    })
}

/// Row numbers below `count`, or any whole numbers.
fn rows_of(object: &Bound<'_, PyAny>, count: Option<usize>, name: &str) -> PyResult<Vec<i64>> {
    let py = object.py();
    let array = py.import("numpy")?.call_method1("asarray", (object,))?;
    let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
    let size: usize = array.getattr("size")?.extract()?;
    if size > 0 && kind != "i" && kind != "u" {
        return Err(input_error(py, format!("{name} are whole numbers")));
    }
    let dimensions: usize = array.getattr("ndim")?.extract()?;
    if dimensions != 1 {
        let message = format!("{name} have one dimension, these have {dimensions}");
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
        let message = format!("{name}: there is no row {row}, there are {count}");
        return Err(input_error(py, message));
    }
    Ok(rows)
}

/// Measures how well fingerprints find labelled duplicates. `first` and `second` are numbers of
/// rows, `labels` 1 for duplicates (the default), 0 for others, -1 for pairs to leave out. With
/// `unlisted_differ` every pair that is not listed counts as different.
///
/// >>> found = fpstore.evaluate([0, 1, 255], [0, 0], [1, 2], [1, 0])
/// >>> found.best.k, found.best.f1
/// (1, 1.0)
#[pyfunction]
#[pyo3(signature = (fingerprints, first, second, labels=None, *, unlisted_differ=false))]
pub(crate) fn evaluate(
    py: Python<'_>,
    fingerprints: &Bound<'_, PyAny>,
    first: &Bound<'_, PyAny>,
    second: &Bound<'_, PyAny>,
    labels: Option<&Bound<'_, PyAny>>,
    unlisted_differ: bool,
) -> PyResult<Evaluation> {
    let values = many_or_null(fingerprints)?;
    let (first, second) = (
        rows_of(first, Some(values.len()), "first")?,
        rows_of(second, Some(values.len()), "second")?,
    );
    let labels = match labels {
        Some(labels) => rows_of(labels, None, "labels")?,
        None => vec![1; first.len()],
    };
    if first.len() != second.len() || first.len() != labels.len() {
        let message = format!(
            "{} first rows, {} second rows, {} labels",
            first.len(),
            second.len(),
            labels.len()
        );
        return Err(input_error(py, message));
    }
    if let Some(label) = labels.iter().find(|label| !(-1..=1).contains(*label)) {
        let message =
            format!("label {label}, expected 1 for duplicates, 0 for others, -1 for neither");
        return Err(input_error(py, message));
    }
    let mut pairs: Vec<(i64, i64, i64)> = Vec::with_capacity(first.len());
    for ((&one, &other), &label) in first.iter().zip(&second).zip(&labels) {
        if one == other {
            return Err(input_error(py, format!("row {one} is paired with itself")));
        }
        pairs.push((one.min(other), one.max(other), label));
    }
    pairs.sort_unstable();
    pairs.dedup();
    if let Some(both) = pairs.windows(2).find(|two| (two[0].0, two[0].1) == (two[1].0, two[1].1)) {
        let message = format!("rows {} and {} have two labels", both[0].0, both[0].1);
        return Err(input_error(py, message));
    }
    run(py, &Reporter::default(), |shared| {
        let (mut duplicates, mut others) = ([0; 65], [0; 65]);
        let (mut duplicate_count, mut other_count) = (0, 0);
        if unlisted_differ {
            let known: Vec<u64> = values.known().map(|value| value.value()).collect();
            others = all_distances(&known, shared)?;
        }
        for &(one, other, label) in &pairs {
            let of = |row: i64| values.get(row as usize);
            let distance = of(one).zip(of(other)).map(|(a, b): (Fingerprint, _)| a.distance(b));
            duplicate_count += u64::from(label == 1);
            other_count += u64::from(label == 0);
            let Some(distance) = distance else { continue };
            if unlisted_differ {
                // It was counted with all pairs.
                others[distance as usize] -= 1;
            }
            match label {
                1 => duplicates[distance as usize] += 1,
                0 => others[distance as usize] += 1,
                _ => {}
            }
        }
        let points = points_of(&duplicates, &others, duplicate_count);
        // Pairs that are labelled count without a fingerprint, too: they are not found.
        let others = if unlisted_differ { others.iter().sum() } else { other_count };
        Ok(Evaluation { points, duplicates: duplicate_count, others })
    })
}

impl Evaluation {
    /// The point with the greatest F1; of equal ones the first.
    fn best_point(&self) -> Option<&Point> {
        self.points.iter().rev().max_by(|a, b| a.f1.total_cmp(&b.f1))
    }
}

fn python_of<'py>(py: Python<'py>, of: &Point) -> PyResult<Bound<'py, PyAny>> {
    let class = py.import("fpstore._types")?.getattr("Point")?;
    class.call1((of.k, of.found, of.wrong, of.missed, of.precision, of.recall, of.f1))
}

#[pymethods]
impl Evaluation {
    /// For each k from 0 to 32 what it finds.
    #[getter]
    fn points<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let points: PyResult<Vec<_>> = self.points.iter().map(|of| python_of(py, of)).collect();
        PyList::new(py, points?)
    }

    /// The point with the greatest F1.
    #[getter]
    fn best<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.best_point() {
            Some(point) => python_of(py, point),
            None => Ok(py.None().into_bound(py)),
        }
    }

    /// Labelled pairs of duplicates.
    #[getter]
    fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Pairs that are labelled, or taken, as different.
    #[getter]
    fn others(&self) -> u64 {
        self.others
    }

    /// Precision, recall and F1 over the distance, as a picture.
    fn svg(&self) -> String {
        type Share = fn(&Point) -> f64;
        let series: [(&str, &str, Share); 3] = [
            ("precision", "first", |point| point.precision),
            ("recall", "second", |point| point.recall),
            ("F1", "third", |point| point.f1),
        ];
        let mut marks = Marks::new(Size::SHEET);
        let x = |k: usize| k as f64 / K_MAX as f64;
        let mut labels = Vec::new();
        for (name, class, share) in series {
            let line: Vec<(f64, f64)> =
                self.points.iter().map(|point| (x(point.k), share(point))).collect();
            marks.line(&line, &format!("line {class}"));
            for (point, &at) in self.points.iter().zip(&line) {
                let text = format!("{name} at k = {}: {:.3}", point.k, share(point));
                marks.dot(at, 3.0, &format!("dot {class}"), &text);
            }
            let end = line.last().map_or(0.0, |at| at.1);
            labels.push((name, format!("label {class}"), end));
        }
        labels.sort_by(|a, b| a.2.total_cmp(&b.2));
        let labels: Vec<Label<'_>> = labels
            .iter()
            .map(|(name, class, end)| Label { at: (1.0, *end), text: name, class })
            .collect();
        marks.labels(&labels);
        let tick = |tenth: u32| {
            let share = f64::from(tenth) / 10.0;
            (share, format!("{share:.1}"))
        };
        let best = self.best_point().map_or((0.0, 0), |point| (point.f1, point.k));
        let chart = Chart {
            id: "curve",
            title: &format!(
                "{} pairs of duplicates: best F1 {:.3} at k = {}",
                self.duplicates, best.0, best.1
            ),
            description: "Precision, recall and F1 of the pairs within each distance.",
            x_label: "Hamming distance k",
            y_label: "share of pairs",
            x_ticks: (0..=K_MAX).step_by(2).map(|k| (x(k), k.to_string())).collect(),
            y_ticks: (0..=10).map(tick).collect(),
        };
        chart.to_file(&marks)
    }

    fn _repr_html_(&self) -> String {
        self.svg()
    }

    fn __repr__(&self) -> String {
        match self.best_point() {
            Some(point) => format!(
                "<fpstore.Evaluation of {} duplicates: best F1 {:.3} at k = {}>",
                self.duplicates, point.f1, point.k
            ),
            None => "<fpstore.Evaluation>".to_owned(),
        }
    }
}
