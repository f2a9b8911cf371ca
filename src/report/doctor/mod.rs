//! The doctor: statistics of a store or an input, the problems that they show, and remedies.
//!
//! [`profile()`] reads a store, a [`Collector`] takes the records of an input. Both give
//! [`Statistics`], whose [`findings`](Statistics::findings) name each cause in a plain sentence
//! with a remedy. [`page()`] draws all of it for a browser. Nothing here changes a store.

mod accumulator;
mod by_chance;
mod collector;
pub mod evaluate;
mod findings;
mod nearest;
mod page;
mod profile;
mod report;
mod statistics;
mod table;
mod words;

pub use crate::plan::profile::SizeClass;
pub use by_chance::random_matches;
pub use collector::Collector;
pub use findings::{Finding, FindingCode, Severity};
pub use nearest::NearestDistances;
pub use page::{PageOptions, page};
pub use profile::{profile, profile_with};
pub use statistics::{
    BitPair, BitStatistics, Counted, ExpectedMatches, HeavyFingerprint, Sampling, Statistics,
};
pub use table::{GapClass, PrefixGroup, TableStatistics};
