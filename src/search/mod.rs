//! Asking: probes, scans, and the searcher that joins the answers of all segments.

mod answer;
mod entry;
mod flips;
mod plan;
mod probe;
mod scan;
mod searcher;
#[cfg(feature = "build")]
mod walk;

pub(crate) use answer::Found;
pub use answer::{Answer, Hit, Ids, Match, Outcome, Work};
pub(crate) use plan::Choices;
pub use plan::{Plan, TablePlan};
pub use searcher::{Limits, Searcher};
#[cfg(feature = "build")]
pub(crate) use walk::Walker;
