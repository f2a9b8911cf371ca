//! Many against many: pairs, groups, clusters, deduplication.

mod clusters;
mod documents;
mod groups;
mod pairs;

pub(crate) use documents::dedup;
pub(crate) use groups::{components, group};
pub(crate) use pairs::near_pairs;
