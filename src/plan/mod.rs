//! Plans: choosing the scheme of a new store, and choosing how a segment answers a query.
//!
//! A [`PlanRequest`] compares schemes for given data before a store is built. A [`Plan`] describes
//! how an existing segment answers queries for distance `k`: by probing tables within radii, or by
//! a scan. Both estimate the steps of a query ([`CostEstimate`]) and multiply each by its cost in
//! nanoseconds.
//!
//! The cost model imports its constants from the modules whose cost it estimates. It affects speed
//! and space only: radii are proven to cover the distance before they are used, so no error of the
//! model can lose a match.

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
