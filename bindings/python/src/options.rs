//! Options that many functions share: distances, limits, schemes, paths.

use std::path::PathBuf;
use std::sync::Arc;

use fpstore::join::JoinOptions;
use fpstore::options::{self, NumberOption};
use fpstore::{BuildOptions, Choice, Recipe, Resources, SchemeChoice, Store, Waiting, Width};
use fpstore_images::PictureRecipe;
use fpstore_text::TextRecipe;
use pyo3::prelude::*;

use crate::errors::{Failure, input_error, warn};
use crate::input::whole::{Bytes, Whole};
use crate::work::{Shared, cores};

/// Default memory budget of a task of `fpstore.tasks`, in bytes.
pub(crate) const TASK_MEMORY: i128 = 256 << 20;
/// Default memory budget of a small batch: querying the memory size would take longer.
const SMALL_MEMORY: u64 = 256 << 20;
/// Maximum number of queries in a small batch, whose budget is [`SMALL_MEMORY`].
const SMALL: usize = 1 << 16;

/// A distance from 0 to 64; by default the tuned distance of the store.
pub(crate) fn distance(py: Python<'_>, k: Option<Whole>, store: &Store) -> PyResult<u32> {
    match k {
        None => Ok(store.tuned_k()),
        Some(k) => distance_of(py, k),
    }
}

/// A distance from 0 to 64.
pub(crate) fn distance_of(py: Python<'_>, k: impl Into<Whole>) -> PyResult<u32> {
    Ok(u32::try_from(checked(py, &options::K, k)?)?)
}

/// The distance `k` for which a store is tuned, or of a join; by default the usual distance of
/// `recipe`. Warns if `k` is far from the usual distance.
pub(crate) fn tuned_distance(
    py: Python<'_>,
    k: Option<Whole>,
    recipe: Option<&Recipe>,
) -> PyResult<u32> {
    let width = recipe.map_or(Width::FULL, Recipe::width);
    let of_pictures = recipe.and_then(PictureRecipe::of_recipe);
    let recipe = recipe.and_then(|recipe| TextRecipe::from_recipe(recipe).ok());
    let usual = match (&recipe, of_pictures) {
        (Some(recipe), _) => recipe.usual_k(),
        (None, Some(pictures)) => pictures.hash.usual_k(),
        (None, None) => width.usual_k(),
    };
    let Some(k) = k else { return Ok(usual) };
    let k = distance_of(py, k)?;
    if recipe.is_some_and(|recipe| recipe.is_unusual_k(k)) {
        let finds = if k < usual { "misses most near-duplicates" } else { "finds others, too" };
        warn(
            py,
            "DistanceWarning",
            &format!(
                "k is {k}, which {finds}: {usual} is usual for this recipe, and the default \
                 without k"
            ),
        )?;
    }
    Ok(k)
}

/// The checked value of an option, if a value is given.
pub(crate) fn count(
    py: Python<'_>,
    option: &NumberOption,
    value: Option<impl Into<Whole>>,
) -> PyResult<Option<u64>> {
    value.map(|value| checked(py, option, value)).transpose()
}

/// The value of an option. Fails if it is outside the range of the option.
pub(crate) fn checked(
    py: Python<'_>,
    option: &NumberOption,
    value: impl Into<Whole>,
) -> PyResult<u64> {
    option.check(value.into()).map_err(|error| input_error(py, error))
}

/// The maximum number of matches of a query.
pub(crate) fn limit(py: Python<'_>, value: Option<Whole>) -> PyResult<Option<usize>> {
    Ok(count(py, &options::LIMIT, value)?.map(|most| most as usize))
}

/// The choice with the name `name`. An error names the argument `keyword`.
pub(crate) fn choice<T: Choice>(py: Python<'_>, keyword: &str, name: &str) -> PyResult<T> {
    T::named(name).map_err(|unknown| {
        input_error(py, format!("{keyword} is '{name}', expected {}", unknown.expected()))
    })
}

/// Seconds to wait for locks; `None` for no limit.
pub(crate) fn wait_of(py: Python<'_>, seconds: Option<f64>) -> PyResult<Waiting> {
    let Some(seconds) = seconds else { return Ok(Waiting::FOREVER) };
    Waiting::seconds(seconds).map_err(|_| {
        input_error(py, format!("wait is {seconds}, expected 0 or more seconds, or None"))
    })
}

/// The resources that a call may use. Their observer is set by [`Limits::given`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Limits {
    resources: Resources,
    max_pairs: Option<u64>,
}

impl Limits {
    pub(crate) fn new(
        py: Python<'_>,
        threads: Option<Whole>,
        memory: Option<Bytes>,
        temp_dir: Option<PathBuf>,
    ) -> PyResult<Self> {
        let threads = match count(py, &options::THREADS, threads)? {
            Some(threads) => Some(usize::try_from(threads)?),
            None => Some(cores()),
        };
        let memory = count(py, &options::MEMORY, memory)?;
        let resources = Resources { threads, memory, temp_dir, observer: None };
        Ok(Limits { resources, max_pairs: None })
    }

    /// Sets the maximum number of pairs of a join; more pairs are an error.
    pub(crate) fn max_pairs(self, py: Python<'_>, most: Option<Whole>) -> PyResult<Self> {
        Ok(Limits { max_pairs: count(py, &options::MAX_PAIRS, most)?, ..self })
    }

    /// The limits for a batch of `count` queries.
    pub(crate) fn for_queries(mut self, count: usize) -> Self {
        if self.resources.memory.is_none() && count <= SMALL {
            let least = BuildOptions::memory_min(self.threads());
            self.resources.memory = Some(least.max(SMALL_MEMORY));
        }
        self
    }

    pub(crate) fn threads(&self) -> usize {
        self.resources.threads.unwrap_or(1)
    }

    /// The resources of a call that `shared` can stop.
    pub(crate) fn given(&self, shared: &Arc<Shared>) -> Resources {
        Resources { observer: Some(shared.observer()), ..self.resources.clone() }
    }

    /// Options of a join within `k` bits.
    pub(crate) fn join(&self, k: u32, shared: &Arc<Shared>) -> JoinOptions {
        JoinOptions::new(k).resources(self.given(shared)).max_pairs(self.max_pairs)
    }
}

/// The tables of a new store, parsed by [`SchemeChoice::parse`]; by default `auto`.
pub(crate) fn scheme(
    k: u32,
    scheme: Option<&str>,
    budget: Option<&str>,
) -> Result<SchemeChoice, Failure> {
    let budget = budget.map(str::parse).transpose()?;
    Ok(SchemeChoice::parse(scheme.unwrap_or("auto"), k, budget)?)
}
