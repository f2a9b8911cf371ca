//! Statistics of a store or of the records of an input: bits, duplicates, prefix groups, distances.
//!
//! [`profile()`] reads a store, a [`Collector`] takes the records of an input; both return
//! [`Statistics`], plain numbers. The crate `fpstore-report` names the problems that they show.
//! Nothing here changes a store.

mod accumulator;
mod by_chance;
mod collector;
mod nearest;
mod of_store;
mod pair_distances;
mod statistics;
mod table;

pub use crate::plan::profile::SizeClass;
pub use by_chance::random_matches;
pub use collector::Collector;
pub use nearest::NearestDistances;
pub use of_store::{profile, profile_with};
pub use pair_distances::pair_distances;
pub use statistics::{
    BitPair, BitStatistics, Counted, ExpectedMatches, HeavyFingerprint, Sampling, Statistics,
};
pub use table::{GapClass, PrefixGroup, TableStatistics};
