//! The function `plan`: compares table schemes for a store before it is built.

use fpstore::plan::{PlanRequest, Sample, SchemeEstimate};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::errors::{Failure, input_error};
use crate::input::fingerprints;
use crate::input::whole::{Whole, budget_or_none};
use crate::options::tuned_distance;
use crate::recipes::recipe_of;
use crate::text::recipe_text_of;
use crate::tuple_class::{TYPES, answer};
use crate::work::{Reporter, run};

/// The table schemes that a store could have, with the space and time of each, and the scheme that
/// `build` would choose. Times are estimates for one thread, from unit costs in the package.
///
/// Parameters
/// ----------
/// n : int, optional
///     Number of fingerprints; by default the number of distinct fingerprints in `sample`.
#[doc = parameters!(k_recipe)]
/// budget : int or str, optional
///     Maximum size of the tables, such as `"12GB"` or `"16B/fp"`.
/// sample : array, list or Column, optional
///     A sample of the fingerprints, which shows how evenly they are spread. By default the plan
///     assumes random bits.
/// recipe : Recipe or str, optional
/// all : bool, default False
///     Whether all schemes are listed. By default the list contains the chosen scheme and the
///     schemes that no other scheme beats in both space and time.
///
/// Returns
/// -------
/// fpstore.types.Plan
///
/// Examples
/// --------
/// >>> plan = fpstore.plan(10**9, budget="16B/fp")
/// >>> plan.chosen.name, plan.chosen.bytes_per_fingerprint <= 16
/// ('halves', True)
#[pyfunction]
#[pyo3(signature = (n=None, k=None, *, budget=None, sample=None, recipe=None, all=false))]
pub(crate) fn plan<'py>(
    py: Python<'py>,
    n: Option<Whole>,
    k: Option<Whole>,
    #[pyo3(from_py_with = budget_or_none)] budget: Option<String>,
    sample: Option<&Bound<'py, PyAny>>,
    recipe: Option<&Bound<'py, PyAny>>,
    all: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let recipe = match recipe {
        Some(recipe) => Some(recipe_text_of(recipe)?),
        None => sample.map(recipe_of).transpose()?.flatten(),
    };
    let k = tuned_distance(py, k, recipe.as_ref())?;
    let budget = budget.as_deref().map(str::parse).transpose().map_err(Failure::from)?;
    let values = sample.map(fingerprints::many).transpose()?;
    let count = match (n, &values) {
        (Some(n), _) => {
            let expected = |_| input_error(py, format!("n is {n}, expected 1 to 2**40"));
            Some(u64::try_from(n).map_err(expected)?)
        }
        (None, Some(_)) => None,
        (None, None) => {
            return Err(input_error(
                py,
                "the number of fingerprints is missing; give n, or a sample",
            ));
        }
    };
    let (request, plan) = run(py, &Reporter::default(), move |_| {
        let mut distinct = 0;
        let sample = match values {
            Some(mut values) => {
                values.sort_unstable();
                values.dedup();
                distinct = values.len() as u64;
                Some(Sample::of_kind(values)?)
            }
            None => None,
        };
        let request = PlanRequest::new(count.unwrap_or(distinct), k).sample(sample);
        let request = request.budget(budget.unwrap_or_default());
        let plan = request.plan()?;
        Ok((request, plan))
    })?;
    let shown = plan.estimates.iter().filter(|it| all || it.on_frontier || it.chosen);
    let schemes: PyResult<Vec<_>> = shown.map(|scheme| estimate_of(py, scheme)).collect();
    answer!(
        py,
        "Plan",
        request.fingerprint_count(),
        request.k(),
        plan.budget_len.floor(),
        PyList::new(py, schemes?)?
    )
}

/// Converts an estimate to the Python class `SchemeEstimate`, whose fields are those of the JSON
/// output.
fn estimate_of<'py>(py: Python<'py>, scheme: &SchemeEstimate) -> PyResult<Bound<'py, PyAny>> {
    let json = serde_json::to_string(scheme);
    let json = json.map_err(|error| Failure::Panic(error.to_string()))?;
    let fields = py.import("json")?.call_method1("loads", (json,))?.cast_into::<PyDict>()?;
    fields.set_item("masks", scheme.scheme.masks().to_vec())?;
    py.import(TYPES)?.getattr("SchemeEstimate")?.call((), Some(&fields))
}
