//! Comparisons of many fingerprints with many: pairs, groups, clusters and deduplication.

mod clusters;
mod documents;
mod groups;
mod pages;
mod pairs;
pub(crate) mod positions;

pub(crate) use documents::dedup;
pub(crate) use groups::{components, group};
pub(crate) use pairs::{PairRows, near_pairs, share_of};
