//! Plans: the best scheme for a store, and the way in which a segment answers a distance.
//!
//! A [`PlanRequest`] compares schemes for given data before a store is built. A [`Plan`] describes
//! how an existing segment answers a distance `k`: by probing tables within radii, or by a scan.
//! Both count the expected steps of a query ([`CostEstimate`]) and multiply them by their costs in
//! nanoseconds.
//!
//! The cost model imports its constants from the modules that it models. It affects speed and space
//! only: radii are proven to cover the distance before they are used, so no error of the model can
//! lose a match.

mod budget;
mod candidates;
pub(crate) mod cut;
mod density;
mod estimate;
mod frontier;
mod layout;
mod probe;
pub(crate) mod profile;
mod query;
mod radii;
mod request;
mod sample_model;
mod scheme_estimate;
#[cfg(feature = "serde")]
pub(crate) mod serialize;
mod syndromes;
mod table;
mod unit_costs;
mod walk;

pub use crate::plan::profile::Sample;
pub(crate) use crate::plan::profile::Sampler;
pub use crate::scheme::{FAMILIES, Family, Radius};
pub use budget::Budget;
pub(crate) use candidates::{depends_on_data, scheme_by_name};
pub use estimate::CostEstimate;
pub(crate) use query::PlanCache;
pub use query::{Plan, PlanPath, TablePlan};
pub(crate) use radii::{AccessPath, PathPlan};
pub use request::{PlanRequest, SchemePlan};
pub(crate) use sample_model::SampleModel;
pub use scheme_estimate::SchemeEstimate;
