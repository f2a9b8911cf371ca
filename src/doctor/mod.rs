//! The doctor: what a store or an input looks like, what is wrong with it, and what to do.
//!
//! [`examine`] reads a store, a [`Gatherer`] takes the records of an input; both give
//! [`Statistics`], whose [`findings`](Statistics::findings) name each cause in a plain sentence
//! with a remedy. [`page()`] draws all of it for a browser.

mod bits;
mod chance;
mod examine;
mod findings;
mod gather;
mod page;
mod report;
mod sample;
mod size_class;
mod statistics;
mod table;
mod tally;
mod words;

pub use chance::random_matches;
pub use examine::examine;
pub use findings::{Finding, FindingCode, Severity};
pub use gather::Gatherer;
pub use page::{PageOptions, page};
pub use size_class::SizeClass;
pub use statistics::{
    BitPair, BitStatistics, ChanceMatches, Counted, HeavyFingerprint, Sampling, Statistics,
};
pub use table::{GapClass, PrefixGroup, TableStatistics};
