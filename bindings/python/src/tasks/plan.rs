//! Divided joins: the class `JoinPlan`, and `join_share` for one share of a join over a store.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::store::store_of;
use crate::errors::{Failure, input_error};
use crate::input::arguments::{path_or_none, text};
use crate::input::fingerprints;
use crate::input::whole::{Whole, wide, wide_bytes};
use crate::join::{PairRows, share_of};
use crate::options::{Limits, TASK_MEMORY, distance, tuned_distance};
use crate::recipes::recipe_of;
use crate::store::one_store;
use crate::stream::RowStream;
use crate::work::Reporter;

/// How a join is divided: into shares of a store, or into groups of fingerprints that an engine
/// collects. One process makes the plan and all tasks follow it. A plan can be pickled, and
/// `str(plan)` is its complete form in one line.
///
/// Parameters
/// ----------
/// k : int, optional
///     Maximum distance in bits; by default the usual distance of the recipe of `sample`, or 3.
/// groups : int, default 1
///     Number of groups, rounded up to a multiple of `k` + 1. A group takes 16 bytes for each
///     fingerprint and should fit into the memory of a task.
/// sample : array, list or Column, optional
///     A sample of the fingerprints, used to make groups of similar size. It never changes the
///     pairs found.
///
/// Examples
/// --------
/// >>> plan = fpstore.tasks.JoinPlan(3, groups=40)
/// >>> plan.group_count, plan.scheme
/// (40, 'blocks-4')
/// >>> fpstore.tasks.JoinPlan.parse(str(plan)) == plan
/// True
#[pyclass(frozen, module = "fpstore.tasks")]
pub(crate) struct JoinPlan(pub(super) fpstore::join::JoinPlan);

#[pymethods]
impl JoinPlan {
    #[new]
    #[pyo3(signature = (k=None, groups=1, *, sample=None))]
    fn new(
        py: Python<'_>,
        k: Option<Whole>,
        #[pyo3(from_py_with = wide)] groups: i128,
        sample: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let recipe = sample.map(recipe_of).transpose()?.flatten();
        let k = tuned_distance(py, k, recipe.as_ref())?;
        let groups = u32::try_from(groups).unwrap_or(u32::MAX);
        let sample = sample.map(fingerprints::many).transpose()?;
        let plan = match &sample {
            Some(sample) => fpstore::join::JoinPlan::for_sample(sample, k),
            None => fpstore::join::JoinPlan::new(k),
        };
        let plan = plan.and_then(|plan| plan.with_groups(groups)).map_err(Failure::from)?;
        Ok(JoinPlan(plan))
    }

    /// The plan of a join of a store with itself. Its shares read ranges (see `reads`) if the
    /// tables of the store allow it, such as the scheme `"blocks-4"` for `k` = 3.
    ///
    /// Parameters
    /// ----------
    /// store : Store
    #[doc = parameters!(k_store)]
    ///
    /// Returns
    /// -------
    /// JoinPlan
    ///
    /// Examples
    /// --------
    /// >>> fpstore.tasks.JoinPlan.of(store, 3).reads
    /// 'everything'
    #[staticmethod]
    #[pyo3(signature = (store, k=None))]
    fn of(
        py: Python<'_>,
        #[pyo3(from_py_with = one_store)] store: fpstore::Store,
        k: Option<Whole>,
    ) -> PyResult<Self> {
        let k = distance(py, k, &store)?;
        Ok(JoinPlan(fpstore::join::JoinPlan::of(&store, k).map_err(Failure::from)?))
    }

    /// Reads the text form of a plan.
    ///
    /// Parameters
    /// ----------
    /// text : str
    ///
    /// Returns
    /// -------
    /// JoinPlan
    #[staticmethod]
    fn parse(#[pyo3(from_py_with = text)] text: &str) -> PyResult<Self> {
        Ok(JoinPlan(text.parse().map_err(Failure::from)?))
    }

    /// The maximum distance in bits.
    #[getter]
    fn k(&self) -> u32 {
        self.0.k()
    }

    /// The part of the store that a share reads: `"ranges"` (all shares together cost about one
    /// join), or `"everything"` (each share costs a pass over the store).
    #[getter]
    fn reads(&self) -> String {
        self.0.reads().to_string()
    }

    /// The number of groups, which are numbered from 0.
    #[getter]
    fn group_count(&self) -> u32 {
        self.0.group_count()
    }

    /// The scheme that all segments of a store need for shares that read ranges.
    #[getter]
    fn scheme(&self) -> String {
        self.0.scheme()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<fpstore.tasks.JoinPlan '{}'>", self.0)
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.0.to_string().hash(&mut hasher);
        hasher.finish()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let plan_of = py.import("fpstore._fpstore")?.getattr("_plan_of")?;
        (plan_of, (self.0.to_string(),)).into_pyobject(py)
    }
}

/// Reads the text form of a plan, for pickle.
#[pyfunction]
pub(crate) fn _plan_of(#[pyo3(from_py_with = text)] text: &str) -> PyResult<JoinPlan> {
    JoinPlan::parse(text)
}

/// A share of the join of a store with itself. All shares together find each pair once, also if
/// their threads and memory differ. All must read the same generation.
///
/// Parameters
/// ----------
/// store : Store or path
/// plan : JoinPlan
/// number, count : int
///     The number of the share, from 0, and the number of shares.
/// generation : int, optional
///     The expected generation of the store at a path; another one is refused. A pickled store
///     contains its generation.
#[doc = parameters!(max_pairs task_threads task_memory temp_dir)]
///
/// Returns
/// -------
/// RowStream
///     Rows of `first`, `second` and `distance`.
///
/// Examples
/// --------
/// >>> plan = fpstore.tasks.JoinPlan.of(store, 3)
/// >>> [len(fpstore.tasks.join_share(store, plan, number, 2).read_all()) for number in range(2)]
/// [1, 0]
#[pyfunction]
#[pyo3(signature = (
    store, plan, number, count, *, generation=None, max_pairs=None, threads=1, memory=TASK_MEMORY,
    temp_dir=None
))]
pub(crate) fn join_share(
    py: Python<'_>,
    store: &Bound<'_, PyAny>,
    plan: &JoinPlan,
    #[pyo3(from_py_with = wide)] number: i128,
    #[pyo3(from_py_with = wide)] count: i128,
    generation: Option<u64>,
    max_pairs: Option<Whole>,
    #[pyo3(from_py_with = wide)] threads: i128,
    #[pyo3(from_py_with = wide_bytes)] memory: i128,
    #[pyo3(from_py_with = path_or_none)] temp_dir: Option<PathBuf>,
) -> PyResult<RowStream> {
    let store = store_of(store, generation)?;
    let limits = Limits::new(py, Some(threads.into()), Some(memory.into()), temp_dir)?
        .max_pairs(py, max_pairs)?;
    let share = share_of(py, Some((number.into(), count.into())))?;
    if share.number >= share.count {
        let message = format!("share {number} of {count}, expected a number below the count");
        return Err(input_error(py, message));
    }
    let plan = plan.0.clone();
    let rows = PairRows::new();
    RowStream::start(rows.schema(), Reporter::default(), move |shared, sink| {
        let options = limits.join(plan.k(), shared).share(share);
        rows.collect(sink, |each| plan.pairs_of_share(&store, &options, each))
    })
}
